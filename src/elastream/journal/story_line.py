"""One line about a recorded run: plain data, and its text."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal, NamedTuple

What = Literal["start", "asked", "change", "keep", "hold", "blind"]
"""start: a run begins. asked: somebody asked something of the loop. change: the target changes. keep, hold: it stays,
being right or for lack of knowledge. blind: the application could not be looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardHold:
    """What one guard did to one pool, over the ticks of a line."""

    guard: str
    pool: str
    asked: tuple[int, int]
    """Smallest and largest size without the guard."""
    after: int
    reason: str


EffectUnit = Literal["s a batch", "records/s"]


class Effect(NamedTuple):
    """What a policy expected of a new size, beside what it then measured."""

    query: str
    unit: EffectUnit
    expected: float
    real: float

    def sentence(self) -> str:
        """Both."""
        return f"{self.query} was expected to do {self.expected:,.3g} {self.unit}, and did {self.real:,.3g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that happened, and for how long it stayed so."""

    what: What
    number: int
    at_s: float
    utc_s: float
    sizes: dict[str, int]
    """Pool -> target, with the change of this line."""
    changes: dict[str, tuple[int, int]]
    reason: str
    held: tuple[GuardHold, ...] = ()
    troubles: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    """What keeps queries back that executors cannot help, where no guard says so already."""
    ticks: int = 1
    lasted_s: float = 0.0
    ready_after_s: float | None = None
    """From the decision until all workers were there, or gone. None: not seen."""
    overtaken: bool = False
    """The next change came before this one was done."""
    effects: tuple[Effect, ...] = ()
    """What came of a change, where the policy says what it expected."""

    @property
    def clock(self) -> str:
        """UTC, as it stands before the text."""
        return f"{datetime.fromtimestamp(self.utc_s, UTC):%H:%M:%S}"

    def text(self) -> str:
        """The line."""
        told = "; ".join([f"{self._head()}: {self.reason.rstrip('.')}", *_guards_told(self.held)]) + "."
        told += "".join(f" Failed: {trouble.rstrip('.')}." for trouble in self.troubles if trouble != self.reason)
        told += "".join(f" Limited: {limit.rstrip('.')}." for limit in self.limits)
        return f"{self.clock}  {told}{self._tail()}"

    def _head(self) -> str:
        sizes = ", ".join(f"{pool} {size}" for pool, size in self.sizes.items())
        match self.what:
            case "start":
                return f"{datetime.fromtimestamp(self.utc_s, UTC):%Y-%m-%d} a run begins"
            case "asked":
                return "asked"
            case "change":
                return ", ".join(f"{pool} {before} -> {after}" for pool, (before, after) in self.changes.items())
            case "keep":
                return f"{sizes} kept"
            case "hold":
                return f"{sizes} held"
            case "blind":
                return "nothing was seen" + (f", {sizes} held" if sizes else "")

    def _tail(self) -> str:
        repeated = f" {self.ticks} ticks, {_duration(self.lasted_s)}." if self.ticks > 1 else ""
        if self.what != "change":
            return repeated
        if self.ready_after_s is not None:
            effects = "".join(f" {effect.sentence()}." for effect in self.effects)
            return f"{repeated} Ready after {_duration(self.ready_after_s)}.{effects}"
        return f"{repeated} {'Not ready before the next change' if self.overtaken else 'Not seen to be ready'}."


def _guards_told(held: tuple[GuardHold, ...]) -> Iterator[str]:
    """One clause per guard and reason: `step-limit: one step is at most +3, -any (asked 9)`."""
    pools = {one.pool for one in held}
    clauses: dict[tuple[str, str], list[str]] = {}
    for one in held:
        low, high = one.asked
        asked = str(low) if low == high else f"{low} to {high}"
        clauses.setdefault((one.guard, one.reason), []).append(asked if len(pools) == 1 else f"{one.pool} {asked}")
    for (guard, reason), asked_for in clauses.items():
        yield f"{guard}: {reason} (asked {', '.join(asked_for)})"


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.0f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
