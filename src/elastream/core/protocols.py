"""The seams. Read this first.

    Platform.observe() -> Observation -> Policy -> Decision -> guards -> Decision -> Platform.apply()
                              |             ^                               |
                              +-> Knowledge +                               +-> Journals

A policy is pure: no input or output, no clock, no randomness, no logging. Time arrives inside the observation, and
what it learns is an explicit memory M: a plain, bounded value that survives `json.loads(json.dumps(m))`. So one
object, unchanged, serves the live cluster, the simulator, a dry run and replay, and a restarted loop goes on where it
stopped. Guards have the same shape.
"""

from typing import Protocol, TypeVar

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.signals import Signal
from elastream.core.tick import Tick

M = TypeVar("M")


class Policy(Protocol[M]):
    """Decides how many workers each pool needs."""

    @property
    def interval_s(self) -> float:
        """How often to decide. The loop looks more often than that, and lets the policy learn every time."""

    @property
    def needs(self) -> tuple[Need, ...]:
        """Signals without which it holds."""

    def start(self) -> M:
        """The memory of a policy that has seen nothing."""

    def learn(self, memory: M, now: Observation, last: Decision | None) -> M:
        """The memory after one more look. `last` is what was decided, guards included, on the look before.

        What `decide` wants remembered it puts into the decision's `note`: it cannot change the memory.
        """

    def decide(self, now: Observation, known: Knowledge, memory: M) -> Decision:
        """The whole target, with a reason."""


class Guard(Protocol[M]):
    """Stands between a policy and the platform, and changes a decision or lets it pass."""

    def start(self) -> M:
        """The memory of a guard that has seen nothing."""

    def learn(self, memory: M, now: Observation, last: Decision | None) -> M:
        """The memory after one more look."""

    def silences(self, now: Observation, memory: M) -> str | None:
        """Why the policy should not even be asked, or None."""

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: M) -> Decision:
        """The decision, changed or not."""


class Platform(Protocol):
    """The world: a live Spark application, a simulator, a recording."""

    @property
    def name(self) -> str:
        """What to call it in messages."""

    @property
    def provides(self) -> frozenset[Signal]:
        """Signals it can fill."""

    def observe(self) -> Observation:
        """Look once. Raises ObservationFailed; the loop then holds."""

    def apply(self, decision: Decision) -> None:
        """Make it so, or begin to. Called on every tick with the whole target; never blocks."""

    def has_ended(self) -> bool:
        """Whether the application is over, for good: the loop then ends too."""


class Clock(Protocol):
    """Two clocks: a monotonic one for everything, and UTC for people."""

    def now_s(self) -> float:
        """Monotonic seconds."""

    def utc_s(self) -> float:
        """Seconds since 1970, UTC."""

    def sleep_until(self, at_s: float) -> None:
        """Return when the monotonic clock has reached a time. In virtual time: make it so."""


class Journal(Protocol):
    """Wants to know of every tick: the recorder, the why-log, metrics, the live page."""

    def write(self, tick: Tick) -> None:
        """Take in one tick. An error here never stops the loop."""

    def close(self) -> None:
        """No more ticks will come."""


class LetsThePolicySpeak:
    """For guards that never keep the loop from asking the policy."""

    def silences(self, now: Observation, memory: object) -> str | None:
        """No reason not to ask it."""
        return None


class Forgetful:
    """For policies and guards that learn nothing: their memory is None."""

    def start(self) -> None:
        """Nothing to remember."""

    def learn(self, memory: None, now: Observation, last: Decision | None) -> None:
        """Nothing is learned."""
