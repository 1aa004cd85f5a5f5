"""What `elastream demo --simulated` compares."""

from elastream.core.slo import Slo
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy

# The load comes up from a trough, is hit by a burst on the way, and goes back. Load, start and promise were picked from
# many so that the policies differ visibly and one of them keeps the promise cheaply: a picture, and no evidence.
LOAD = "cosine(20k..70k, period=120m, shift=60m) + spike(30k, at=40m, for=5m)"
POLICIES = ("fixed(workers=9)", "threshold", "lag-proportional")
MINUTES = 120
START = 3
SLO_S = 60.0
TICK_S = 15.0


def simulated_demonstration(bounds: tuple[int, int] | None = None) -> list[Experiment]:
    """One experiment for each policy; without bounds, those of the model."""
    low, high = bounds or (None, None)
    start = START if bounds is None else min(max(START, bounds[0]), bounds[1])
    return [
        Experiment(
            subject=SimulatedModel(model="windowed-count"),
            workload=LOAD,
            duration_s=MINUTES * 60.0,
            policy=parse_policy(text),
            executors=ExecutorBounds(min=low, max=high, start=start),
            slo=Slo(delay_s=SLO_S),
            tick_s=TICK_S,
        )
        for text in POLICIES
    ]
