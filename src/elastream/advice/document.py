"""An advice as plain values."""

from __future__ import annotations

from dataclasses import asdict

from elastream.advice.advice import Advice, SimulatedOption
from elastream.advice.estimate import UncertainNumber
from elastream.advice.sentences import tell_advice, tell_error, tell_run
from elastream.core.slo import Slo


def describe_advice(advice: Advice, price: float | None = None) -> dict[str, object]:
    """All of it; money only where an executor-hour has a price."""
    real = asdict(advice.real)
    paid = advice.real.executor_hours
    return {
        "recorded": {
            "where": advice.run.where,
            "policy": advice.run.header.policy or None,
            "seconds": advice.run.counted_s,
            "executors": {"min": advice.bounds[0], "max": advice.bounds[1]},
            "slo": _promise(advice.slo),
            "sentence": tell_run(advice),
        },
        "happened": {**real, "within_asked": advice.real_within, **_money(paid, price)},
        "error": {**asdict(advice.error), "sentence": tell_error(advice)},
        "simulated": _option(advice.same, price),
        "options": [_option(one, price) for one in advice.options],
        "advice": list(tell_advice(advice)),
        "notes": list(advice.notes),
    }


def _option(option: SimulatedOption, price: float | None) -> dict[str, object]:
    said = option.prediction
    cost = said.executor_hours.times(price) if said.executor_hours is not None and price is not None else None
    return {
        "policy": option.label,
        "executors": {"min": option.bounds[0], "max": option.bounds[1]},
        "slo": _promise(option.slo),
        "keeps_slo": {True: "yes", False: "no", None: "perhaps"}[option.keeps] if option.slo is not None else None,
        "executor_hours": _estimate(said.executor_hours),
        **({} if price is None else {"cost": _estimate(cost)}),
        "records_within_slo": _estimate(said.within),
        "delay_p95_s": _estimate(said.delay_p95_s),
        "changes": _estimate(said.changes),
    }


def _money(hours: float | None, price: float | None) -> dict[str, object]:
    return {} if price is None else {"cost": None if hours is None else hours * price}


def _estimate(found: UncertainNumber | None) -> dict[str, float] | None:
    return None if found is None else asdict(found)


def _promise(slo: Slo | None) -> dict[str, float] | None:
    return None if slo is None else asdict(slo)
