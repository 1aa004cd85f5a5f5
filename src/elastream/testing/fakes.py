"""A clock, a platform and a journal that do what a test says."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.core.signals import Signal
from elastream.core.tick import Tick
from elastream.loop.clock import VirtualClock
from elastream.testing.observations import observation, size


class ManualClock(VirtualClock):
    """Time that passes when a test says so."""

    def advance(self, by_s: float) -> float:
        """Let time pass; the time it is then."""
        self.sleep_until(self.now_s() + by_s)
        return self.now_s()


@dataclass
class FakePlatform:
    """A platform whose workers come at once, and that fails when told to."""

    clock: VirtualClock
    wanted: int = 3
    name: str = "fake"
    provides: frozenset[Signal] = frozenset({Signal.ARRIVED})
    applied: list[Decision] = field(default_factory=list)
    """All that was asked of it."""
    blind: Exception | None = None
    """Raised by every look while it is set."""
    deaf: Exception | None = None
    """Raised by every change while it is set."""
    look: Callable[[], Observation] | None = None
    """What is seen; without it, a calm look with as many workers as are wanted."""
    mute: Exception | None = None
    """Raised when it is asked whether its application has ended."""
    ends_s: float = math.inf
    """When its application ends."""

    def observe(self) -> Observation:
        """Look once. Implements Platform."""
        if self.blind is not None:
            raise self.blind
        if self.look is not None:
            return self.look()
        return observation(self.clock.now_s(), ready=self.wanted)

    def apply(self, decision: Decision) -> None:
        """Make it so. Implements Platform."""
        if self.deaf is not None:
            raise self.deaf
        self.applied.append(decision)
        self.wanted = size(decision)

    def has_ended(self) -> bool:
        """Whether there is nothing left to look at. Implements Platform."""
        if self.mute is not None:
            raise self.mute
        return self.clock.now_s() >= self.ends_s


@dataclass
class FakeJournal:
    """Keeps every tick, or fails."""

    ticks: list[Tick] = field(default_factory=list)
    fails: bool = False
    closed: bool = False

    def write(self, tick: Tick) -> None:
        """Keep a tick. Implements Journal."""
        if self.fails:
            raise OSError(f"no space left for tick {tick.number}")
        self.ticks.append(tick)

    def close(self) -> None:
        """No more ticks will come. Implements Journal."""
        if self.fails:
            raise OSError("no space left")
        self.closed = True
