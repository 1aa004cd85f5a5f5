"""What an advice comes to, in sentences: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Iterator

from elastream.advice.advice import Advice, SimulatedOption
from elastream.advice.estimate import UncertainNumber
from elastream.core.bounds import spell_bounds
from elastream.core.quantity import spell_seconds


def tell_run(advice: Advice) -> str:
    """What was recorded."""
    promise = advice.slo.sentence() if advice.slo is not None else "no SLO"
    decided = advice.run.header.policy or "a policy that is not known"
    length = spell_seconds(round(advice.run.counted_s))
    return f"{length} under {decided}, {spell_bounds(*advice.bounds)} executors, {promise}"


def tell_error(advice: Advice) -> str:
    """How far the simulator is off, and from what that is known."""
    error = advice.error
    found = [
        f"{name} {value:.0%}"
        for name, value in (("executor-hours", error.executor_hours), ("p95 delay", error.delay_p95_s))
        if value is not None
    ]
    if error.late_factor is not None:
        found.append(f"late records by a factor of {error.late_factor:.2g}")
    parts = "the recording" if error.parts == 1 else f"{error.parts} parts of the recording"
    told = ", ".join(found) or "nothing that can be compared"
    return (
        f"how far off: {advice.same.label} in the simulator beside what really happened, over {parts}: {told}; "
        f"work per record is taken as {error.work:.0%} uncertain"
    )


def tell_advice(advice: Advice) -> Iterator[str]:
    """What keeps the SLO for the least, and whether that is less than what was paid."""
    slo = advice.asked
    if slo is None:
        yield "no SLO was promised, so that nothing says which of these is enough; --slo names one"
        return
    priced = [one for one in advice.options if one.prediction.executor_hours is not None]
    sure = [one for one in priced if one.keeps]
    if not sure:
        perhaps = [one.label for one in priced if one.keeps is None]
        more = f"; perhaps: {', '.join(perhaps)}" if perhaps else ""
        yield f"none of these keeps {slo.sentence()} for sure{more}"
        return
    best = min(sure, key=lambda one: _hours(one).value)
    hours = _hours(best)
    told = f"{best.label} keeps {slo.sentence()} for {_spell(hours)} executor-hours"
    paid = advice.real.executor_hours
    if not paid:
        yield told
    elif hours.high < paid:
        yield f"{told}, {1 - hours.value / paid:.0%} less than the {paid:.3g} that were paid"
    elif hours.low > paid:
        more = f"{hours.value / paid - 1:.0%} more than the {paid:.3g} that were paid"
        has_kept = advice.real_within is not None and advice.real_within >= slo.share
        yield f"what happened kept it for less: {told}, {more}" if has_kept else f"{told}, {more}"
    else:
        yield f"{told}; {paid:.3g} were paid, which is no difference beyond the error"


def _hours(option: SimulatedOption) -> UncertainNumber:
    assert option.prediction.executor_hours is not None
    return option.prediction.executor_hours


def _spell(found: UncertainNumber) -> str:
    low, high = f"{found.low:.3g}", f"{found.high:.3g}"
    return f"{found.value:.3g}" if low == high else f"{found.value:.3g} ({low} to {high})"
