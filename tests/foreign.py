"""Somebody else's code, written to a folder: modules, and packages that announce classes."""

from collections.abc import Mapping
from pathlib import Path

POLICY = '''"""Somebody's policy."""

from dataclasses import dataclass, field

from elastream.core.decision import Decision
from elastream.core.protocols import Forgetful


@dataclass(frozen=True, kw_only=True)
class Mine(Forgetful):
    """Wants what it was told."""

    needs = ()
    workers: int = 3
    interval_s: float = 30.0

    def __post_init__(self):
        if self.workers > 90:
            raise ValueError("that is too many")

    def decide(self, now, known, memory):
        return Decision(allocation={pool.name: self.workers for pool in now.pools}, reason="told so")


class NoPolicy:
    """Has nothing."""


class Plain(Forgetful):
    """Has settings that nobody finds."""

    needs = ()
    interval_s = 30.0
    decide = Mine.decide


@dataclass
class Thawed(Plain):
    """Can be changed."""


@dataclass(frozen=True)
class Unreadable(Plain):
    """Has a setting of a type that is not there."""

    target: "Nowhere" = field(default=1)


@dataclass(frozen=True, kw_only=True)
class Moody(Mine):
    """Does not know what it needs."""

    @property
    def needs(self):
        raise RuntimeError("not today")


@dataclass(frozen=True, kw_only=True)
class Cap(Forgetful):
    """A guard that lets no more pass."""

    workers: int = 2

    def silences(self, now, memory):
        return None

    def adjust(self, decision, now, known, memory):
        allocation = {pool: min(size, self.workers) for pool, size in decision.allocation.items()}
        return decision.adjusted("cap", allocation, "no more than that")


helper = len
'''

WORKLOAD = '''"""Somebody's workload."""

from dataclasses import dataclass
from typing import ClassVar

from elastream.workloads import Pattern, RateSeries


@dataclass(frozen=True, kw_only=True)
class Flat(Pattern):
    """The same all the time."""

    positional: ClassVar[tuple[str, ...]] = ("rps",)
    rps: float = 100.0

    def draw(self, *, duration_s, streams):
        return RateSeries.steps([self.rps], step_s=duration_s, duration_s=duration_s)


@dataclass(frozen=True)
class Undrawn(Pattern):
    """Does not say how it goes."""


@dataclass(frozen=True)
class Unrelated:
    """Is something else."""
'''

JOB = '''"""Somebody's job."""

from dataclasses import dataclass

from elastream.jobs.job import Result, Stream


@dataclass(frozen=True, kw_only=True)
class Pass:
    """Gives out every key."""

    keys: int = 10

    @property
    def streams(self):
        return (Stream(name="events", generator="keyed", options={"keys": str(self.keys)}),)

    @property
    def result(self):
        return Result()

    def query(self, streams):
        return streams["events"].select("key")

    @property
    def answer(self):
        return "SELECT key, event_time AS first_time, event_time AS last_time FROM events"


@dataclass(frozen=True, kw_only=True)
class Fussy(Pass):
    """Wants to be told."""

    column: str
'''


def write_module(folder: Path, name: str, text: str) -> None:
    """A module that can be imported once the folder is on the path."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")


def install(folder: Path, package: str, announced: Mapping[str, Mapping[str, str]]) -> None:
    """What an installer leaves in a folder: the package's metadata, with group -> name -> class."""
    info = folder / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {path}\n" for name, path in entries.items())
        for group, entries in announced.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
