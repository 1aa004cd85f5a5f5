"""Compressed time: what passes faster, what does not, and which factors would show a loop that does not exist."""

from dataclasses import dataclass

from elastream.core.errors import BadInput
from elastream.core.quantity import spell_number

# Measured with Spark 4.2 on two shared cores, the upper end of each: what stays as it is when time is compressed.
BATCH_S = 0.25
"""A batch without work: 0.19 s with a Python source, of which half are writes to the checkpoint."""
EXECUTOR_START_S = 5.0
"""From asking for an executor to its first task, on an idle machine."""

# Less than this, and the fixed cost of a batch, which does not shrink, is no longer a small part of it.
TRIGGER_OVER_BATCH = 5.0
# A look takes milliseconds, but the numbers behind it come from batches and heartbeats.
LEAST_TICK_S = 1.0


@dataclass(frozen=True, kw_only=True)
class TimeScale:
    """The workload's time passes `factor` times faster than the wall's.

    Rates stay what the workload's text says: a compressed hour is shorter, and brings fewer records.
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        if not 1.0 <= self.factor < float("inf"):
            raise BadInput(f"time scale: a factor of {self.factor:g}; it must be 1 or more")

    def wall_s(self, seconds: float) -> float:
        """How long on the wall: a time of the workload, a trigger, an interval or window of a policy."""
        return seconds / self.factor

    def workload_s(self, seconds: float) -> float:
        """How long in the workload: a time measured on the wall."""
        return seconds * self.factor

    def require(self, *, tick_s: float, interval_s: float, trigger_s: float | None = None) -> None:
        """Refuse a factor that would distort the loop. All times are of the workload; no trigger: at once."""
        if self.factor == 1.0:
            return
        self._require("trigger", trigger_s, TRIGGER_OVER_BATCH * BATCH_S, f"a batch costs {BATCH_S:g} s without work")
        self._require("tick", tick_s, LEAST_TICK_S, "what a look sees does not change faster")
        why = "an executor would still be starting when the next decision falls"
        self._require("policy's interval", interval_s, EXECUTOR_START_S, why)

    def _require(self, name: str, seconds: float | None, least_s: float, why: str) -> None:
        if seconds is None or self.wall_s(seconds) >= least_s:
            return
        most = seconds / least_s
        remedy = f"take a factor up to {most:.3g}" if most > 1 else "do not compress"
        raise BadInput(
            f"time scale: x{spell_number(self.factor)} makes the {name} of {seconds:g} s {self.wall_s(seconds):.2g} s,"
            f" less than {least_s:g} s: {why}; {remedy}"
        )

    def lines(self) -> tuple[str, ...]:
        """What is compressed and what is not, for people."""
        if self.factor == 1.0:
            return ("time is not compressed",)
        start, batch = self.workload_s(EXECUTOR_START_S), self.workload_s(BATCH_S)
        return (
            f"time x{spell_number(self.factor)}: the workload, triggers, ticks, intervals and windows of policies pass"
            f" {spell_number(self.factor)} times faster; rates stay",
            f"not compressed: starting an executor (about {EXECUTOR_START_S:g} s, here {start:g} s of the workload),"
            f" a batch without work ({BATCH_S:g} s, here {batch:g} s), warm-up of an executor",
        )

    def note(self) -> str:
        """Stands beside every figure made this way."""
        return f"time x{spell_number(self.factor)}"
