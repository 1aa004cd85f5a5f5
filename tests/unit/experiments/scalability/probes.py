"""Recorded series, made up: a job that reads all that waits, a batch at a time, as fast as it can."""

from collections.abc import Callable

from elastream.experiments.scalability.probe import ProbeMoment


def batches_of(
    rate_rps: float,
    capacity_rps: float,
    *,
    duration_s: int = 360,
    fixed_s: float = 0.5,
    cores: int = 2,
    host_cores: float | None = None,
    stall_s: float = 0.0,
    catch_up: bool = False,
    used: Callable[[float], float] | None = None,
) -> list[ProbeMoment]:
    """A look per second. The first batch takes `stall_s` longer."""
    commits, taken, at_s = [(0.0, 0.0)], 0.0, stall_s
    if catch_up:
        commits.append((stall_s, 0.0))
    while at_s < duration_s:
        end = rate_rps * at_s
        at_s += fixed_s + (end - taken) / capacity_rps
        taken = end
        commits.append((at_s, taken))
    moments = []
    for second in range(duration_s + 1):
        committed = max(total for at, total in commits if at <= second)
        busy = min(1.0, rate_rps / capacity_rps) * cores if used is None else used(second)
        moments.append(
            ProbeMoment(
                at_s=float(second), arrived=rate_rps * second, committed=committed, executors=2,
                used_cores=busy, host_cores=host_cores,
            )
        )  # fmt: skip
    return moments
