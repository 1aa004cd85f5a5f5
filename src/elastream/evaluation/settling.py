"""How a size settles after the load has changed: convergence, and by name the four properties that DS2 asks of it.

Stability: it does not oscillate. Accuracy: it settles at what is needed. Settling time: soon. Overshoot: on the way it
does not go beyond what is needed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from elastream.evaluation.curve import StepCurve
from elastream.evaluation.measures import Value

CALM_SHARE = 0.1
"""Of the time since the load changed, the last part in which a size that has settled does not change."""
LEAST_SHARE = 0.5
"""Of the run, for which the load must stay as it is: to what changes all the time nothing converges."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """From the last change of what is needed on. All None where that changes all the time."""

    settling_s: Value = None
    """Until the size changed last; None if it has not settled."""
    steps: int | None = None
    """Changes of the size that was decided on."""
    oscillations: int | None = None
    """Of them, those that took back the direction of the one before."""
    overshoot: Value = None
    """The largest size less what was needed, as a share of that; 0 if it did not go beyond."""
    size_error: Value = None
    """The last size less what was needed, as a share of that."""


def measure_settling(at: Sequence[float], demand: Sequence[Value], wanted: Sequence[Value]) -> Settling:
    """From the last change of the demand on, how the size that was decided on settled."""
    needed = next((value for value in reversed(demand) if value is not None), None)
    if needed is None or not at:
        return Settling()
    moved = StepCurve(at, demand).changes()
    began = moved[-1][0] if moved else at[0]
    lasted_s = at[-1] - began
    if lasted_s <= 0 or lasted_s < LEAST_SHARE * (at[-1] - at[0]):
        return Settling()
    since = [(time, value) for time, value in zip(at, wanted, strict=True) if time >= began and value is not None]
    if not since:
        return Settling()
    changes = [change for change in StepCurve(at, wanted).changes() if change[0] >= began]
    directions = [after > before for _, before, after in changes]
    settled_s = changes[-1][0] - began if changes else 0.0
    return Settling(
        settling_s=settled_s if settled_s <= (1 - CALM_SHARE) * lasted_s else None,
        steps=len(changes),
        oscillations=sum(first != then for first, then in pairwise(directions)),
        # What was there before the load changed has nothing to do with it.
        overshoot=max(0.0, max((after for _, _, after in changes), default=needed) / needed - 1.0),
        size_error=since[-1][1] / needed - 1.0,
    )
