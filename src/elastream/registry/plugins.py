"""What installed packages announce by entry points.

    [project.entry-points."elastream.policies"]
    mine = "my_package.policies:Mine"

Metadata is read when a name is asked for that is not ours, and a class is imported when it is used or listed, once. One
that cannot be loaded is told in one line and left out; a name of ours is never given to somebody else's class.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points

from elastream.core.callform import NAME
from elastream.core.errors import BadInput
from elastream.core.log import log
from elastream.registry.foreign import import_class

Check = Callable[[type, str], None]
"""Raises BadInput, in a line that begins with the text given, if a class is not what it should be."""


@dataclass
class Plugins:
    """What others announce of one kind, by name."""

    kind: str
    group: str
    check: Check
    is_ours: Callable[[str], bool]
    """Whether a name is taken."""
    spell: Callable[[str], str] = str
    """How names of this kind are spelt."""
    pattern: str = NAME
    _announced: dict[str, EntryPoint] | None = field(default=None, init=False)
    _loaded: dict[str, type | BadInput] = field(default_factory=dict, init=False)

    def announced(self) -> dict[str, EntryPoint]:
        """Names that packages announce; nothing is imported."""
        if self._announced is None:
            self._announced = self._discover()
        return self._announced

    def load(self, name: str) -> type:
        """The class that is announced under a name, or BadInput."""
        if name not in self._loaded:
            entry = self.announced()[name]
            try:
                found = import_class(entry.value.strip(), f"{self.kind} {name} of package {_package(entry)}")
                self.check(found, f"{self.kind} {name} of package {_package(entry)}")
                self._loaded[name] = found
            except BadInput as wrong:
                self._loaded[name] = wrong
                log.warning("left out: %s", wrong)
        loaded = self._loaded[name]
        if isinstance(loaded, BadInput):
            raise loaded
        return loaded

    def load_all(self) -> dict[str, type]:
        """All that can be loaded."""
        return {name: found for name in self.announced() if (found := self._try(name)) is not None}

    def loaded(self) -> dict[str, type]:
        """All that was loaded so far."""
        return {name: found for name, found in self._loaded.items() if isinstance(found, type)}

    def _try(self, name: str) -> type | None:
        try:
            return self.load(name)
        except BadInput:
            return None

    def _discover(self) -> dict[str, EntryPoint]:
        found: dict[str, EntryPoint] = {}
        for entry in sorted(entry_points(group=self.group), key=lambda entry: (_package(entry), entry.name)):
            name = self.spell(entry.name)
            if why := self._refusal(name, entry, found.get(name)):
                log.warning("left out: package %s announces the %s %s, %s", _package(entry), self.kind, name, why)
            else:
                found.setdefault(name, entry)
        return found

    def _refusal(self, name: str, entry: EntryPoint, first: EntryPoint | None) -> str | None:
        if self.is_ours(name):
            return "a name of ours"
        if first is not None and first.value != entry.value:
            return f"as package {_package(first)} does"
        if re.fullmatch(self.pattern, name, re.ASCII) is None:
            return "which cannot be written as a name"
        return None


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "unknown"
