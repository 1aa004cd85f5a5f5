"""What people have asked of a running loop: all of it as it stands, and each asking by itself.

What stands is part of every look, so that whoever plans a recorded look again plans it under the same.
"""

import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from elastream.core.bounds import spell_bounds
from elastream.core.errors import BadInput

Mode = Literal["running", "paused", "dry-run"]
Asked = Literal["pause", "dry-run", "resume", "bounds", "configured bounds", "size", "no size"]

MOST_WORKERS = 10_000
"""More than anybody means; a slip of a finger must not ask for more."""
LONGEST_S = 7 * 86400.0
"""For so long a size can be held; who wants it for good sets the bounds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldSize:
    """A size for a while."""

    workers: int
    until_utc_s: float
    """In UTC, for it holds across a restart of the driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """One thing that somebody has asked."""

    asked: Asked
    who: str
    utc_s: float
    bounds: tuple[int, int] | None = None
    size: HeldSize | None = None

    def check(self) -> None:
        """Raise BadInput if it cannot be asked."""
        if (self.asked == "bounds") != (self.bounds is not None) or (self.asked == "size") != (self.size is not None):
            raise BadInput(f"control: {self.asked}: it lacks its numbers, or has others")
        if self.bounds is not None:
            check_bounds(self.bounds)
        if self.size is not None:
            check_size(self.size)
            if not 0 < self.size.until_utc_s - self.utc_s <= LONGEST_S:
                raise BadInput(f"control: a size is held for more than 0 s and at most {LONGEST_S / 86400:g} days")

    def sentence(self) -> str:
        """What was asked, and by whom."""
        match self.asked:
            case "bounds":
                assert self.bounds is not None
                what = f"bounds {spell_bounds(*self.bounds)}"
            case "size":
                assert self.size is not None
                what = f"{self.size.workers} executors until {_clock(self.size.until_utc_s)} UTC"
            case "pause" | "dry-run" | "resume" | "configured bounds":
                what = self.asked.replace("-", " ")
            case "no size":
                what = "no size of its own any more"
        return f"{self.who} asks: {what}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """All that stands. None: as configured."""

    mode: Mode | None = None
    bounds: tuple[int, int] | None = None
    size: HeldSize | None = None

    def after(self, one: Intervention) -> "Control":
        """With one thing more."""
        match one.asked:
            case "pause":
                return replace(self, mode="paused")
            case "dry-run":
                return replace(self, mode="dry-run")
            case "resume":
                return replace(self, mode="running")
            case "bounds" | "configured bounds":
                return replace(self, bounds=one.bounds)
            case "size" | "no size":
                return replace(self, size=one.size)

    def at(self, utc_s: float) -> "Control":
        """Without a size whose time is over."""
        return self if self.size is None or utc_s < self.size.until_utc_s else replace(self, size=None)

    @property
    def limits(self) -> tuple[int, int] | None:
        """The bounds that hold now, where anybody has asked for some: a size for a while is both."""
        return self.bounds if self.size is None else (self.size.workers, self.size.workers)

    def sentence(self) -> str:
        """What stands; empty if all is as configured."""
        told = [] if self.mode is None else [self.mode.replace("-", " ")]
        told += [] if self.bounds is None else [f"bounds {spell_bounds(*self.bounds)}"]
        if self.size is not None:
            told.append(f"{self.size.workers} executors until {_clock(self.size.until_utc_s)} UTC")
        return ", ".join(told)

    def check(self) -> None:
        """Raise BadInput if it cannot be, as a journal of others may tell."""
        if self.bounds is not None:
            check_bounds(self.bounds)
        if self.size is not None:
            check_size(self.size)


def check_bounds(bounds: tuple[int, int]) -> None:
    """Raise BadInput if nobody can have asked for them."""
    low, high = bounds
    if not 1 <= low <= high <= MOST_WORKERS:
        raise BadInput(f"control: bounds {spell_bounds(low, high)}: they must be 1 <= min <= max <= {MOST_WORKERS:,}")


def check_size(size: HeldSize) -> None:
    """Raise BadInput if nobody can have asked for it."""
    if not 1 <= size.workers <= MOST_WORKERS:
        raise BadInput(f"control: size {size.workers}: it must be between 1 and {MOST_WORKERS:,}")
    # The end of the year 9999, where calendars end.
    if not (math.isfinite(size.until_utc_s) and 0 <= size.until_utc_s <= 253402300799.0):
        raise BadInput("control: a size is held until a time that no calendar has")


def _clock(utc_s: float) -> str:
    return f"{datetime.fromtimestamp(utc_s, UTC):%H:%M}"
