"""How well the size followed what was needed: SPEC's metrics of elasticity.

Demand is the fewest workers that can do what arrives, at each moment; supply are the workers that are ready. Published
evaluations take the area between them in workers (`over_workers`) or as a share of the demand (`accuracy_over`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.evaluation.curve import StepCurve
from elastream.evaluation.measures import Value

HOUR_S = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Elasticity:
    """Demand against supply. None where one of them is not known."""

    over_workers: Value
    under_workers: Value
    accuracy_over: Value
    accuracy_under: Value
    timeshare_over: Value
    timeshare_under: Value
    jitter_per_h: Value
    mean_demand: Value


def measure_elasticity(at: Sequence[float], demand: Sequence[Value], supply: Sequence[Value]) -> Elasticity:
    """The metrics of two curves over the same moments."""
    both = [(d, s) if d is not None and s is not None else None for d, s in zip(demand, supply, strict=True)]

    def mean(ask: Sequence[Value]) -> Value:
        return StepCurve(at, ask).mean

    def over(share: bool, sign: int) -> list[Value]:
        return [None if one is None else max(0.0, sign * (one[1] - one[0])) / (one[0] if share else 1) for one in both]

    def time(sign: int) -> list[Value]:
        return [None if one is None else float(sign * (one[1] - one[0]) > 0) for one in both]

    known_s = StepCurve(at, time(1)).known_s
    moves = len(StepCurve(at, supply).changes()) - len(StepCurve(at, demand).changes())
    return Elasticity(
        over_workers=mean(over(share=False, sign=1)),
        under_workers=mean(over(share=False, sign=-1)),
        accuracy_over=mean(over(share=True, sign=1)),
        accuracy_under=mean(over(share=True, sign=-1)),
        timeshare_over=mean(time(1)),
        timeshare_under=mean(time(-1)),
        jitter_per_h=moves / known_s * HOUR_S if known_s else None,
        mean_demand=StepCurve(at, demand).mean,
    )
