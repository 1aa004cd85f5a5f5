"""Who knows the lag of which source: ours, those that a user names, and those that installed packages announce.

    [project.entry-points."elastream.probes"]
    "com.example.QueueMicroBatchStream" = "my_package.probes:QueueProbe"

A probe is entered under the class of the stream, by its simple or its full name, or under the format of a source that
is written in Python. One of others that fails is told once; of its source is then known what Spark reports.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from elastream.core.errors import BadInput, spell_error
from elastream.core.log import log
from elastream.registry.foreign import check_members, import_class
from elastream.registry.plugins import Plugins
from elastream.spark.jvm.snapshot import SourceSeen

if TYPE_CHECKING:
    from elastream.spark.observe.probes import Probe

STREAM = r"[A-Za-z_$][\w$.-]*"


class ProbeRegister:
    """Probes by the stream that they know."""

    def __init__(self, ours: Mapping[str, Callable[[SourceSeen], Probe]], shape: type) -> None:
        self._ours = ours
        self._shape = shape
        self._named: dict[str, Callable[[SourceSeen], Probe]] = {}
        self._plugins = Plugins(
            kind="probe", group="elastream.probes", check=self._check, is_ours=ours.__contains__, pattern=STREAM
        )

    def use(self, stream: str, path: str) -> None:
        """Ask the class `package.module:Class` about such streams from now on: the user's word goes before ours."""
        label = f"probes.{stream}: probe {path}"
        found = import_class(path, label)
        self._check(found, label)
        self.register(stream, found)

    def register(self, stream: str, probe: Callable[[SourceSeen], Probe]) -> None:
        """The same for a class at hand."""
        self._named[stream] = probe

    def find(self, names: Sequence[str], source: SourceSeen) -> Probe | None:
        """Who knows a source that is entered under one of these names."""
        for known in (self._named, self._ours):
            for name in names:
                if name in known:
                    return known[name](source) if known is self._ours else self._made(name, known[name], source)
        for name in names:
            if name in self._plugins.announced():
                try:
                    return self._made(name, cast("Callable[[SourceSeen], Probe]", self._plugins.load(name)), source)
                except BadInput:
                    return None  # told when it was loaded
        return None

    def _made(self, name: str, probe: Callable[[SourceSeen], Probe], source: SourceSeen) -> Probe | None:
        try:
            return cast("Probe", Watched(probe(source), name))
        except Exception as wrong:
            log.warning("the probe of %s is left out: %s", name, spell_error(wrong))
            return None

    def _check(self, cls: type, label: str) -> None:
        check_members(cls, self._shape, "probe", label)


class Watched:
    """A probe of others: what it fails to say is unknown, and a look goes on without it."""

    def __init__(self, probe: Probe, name: str) -> None:
        self._probe = probe
        self._name = name
        self._failure: str | None = None

    @property
    def source(self) -> SourceSeen:
        return self._probe.source

    @source.setter
    def source(self, seen: SourceSeen) -> None:
        self._probe.source = seen

    @property
    def problem(self) -> str | None:
        return self._failure or self._probe.problem

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._probe, name)
        return self._caught(found) if callable(found) else found

    def _caught(self, asked: Callable[..., Any]) -> Callable[..., Any]:
        def ask(*arguments: Any) -> Any:
            try:
                answer = asked(*arguments)
                # What comes bit by bit fails bit by bit.
                answer = list(answer) if asked.__name__ == "past" else answer
            except Exception as wrong:
                failure = f"its probe failed: {spell_error(wrong)}"
                if failure != self._failure:
                    log.warning("the probe of %s failed: %s", self._name, spell_error(wrong))
                self._failure = failure
                return [] if asked.__name__ == "past" else None
            self._failure = None if asked.__name__ == "newest" else self._failure
            return answer

        return ask
