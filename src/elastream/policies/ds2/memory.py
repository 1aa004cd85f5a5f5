"""What DS2 remembers: the last interval, what it asked for, and what became of its changes."""

from typing import TypedDict

from elastream.core.decision import Json
from elastream.estimators.left_behind import Behind
from elastream.policies.ds2.actions import Acted
from elastream.policies.ds2.interval import Numbers, Parts, Totals


class Interval(TypedDict):
    """What the last interval came to."""

    unknown: str | None
    """Why nothing can be decided."""
    sizes: dict[str, int]
    slots: dict[str, float]
    sentence: str
    load_rps: float
    ratio: float | None
    """Rate that arrives over the rate achieved."""
    is_corrected: bool
    is_for_lag: bool
    """Whether it is corrected for lag alone, and not because the query falls behind."""


class DS2Memory(TypedDict):
    """What DS2 remembers."""

    began: Totals | None
    """The totals when the present interval began."""
    is_disturbed: bool
    """Whether a query was down during the present interval."""
    wanted: dict[str, int]
    warm_until_s: float
    rates: dict[str, Numbers]
    parts: dict[str, Parts]
    """Of every query, how the output of operators that feed several others is parted."""
    behind: dict[str, Behind]
    driver_s: dict[str, float]
    """Of every query, the seconds of a batch in which only the driver works."""
    interval: Interval | None
    proposals: list[dict[str, int]]
    """Sizes that the last intervals asked for, since the last change."""
    acted: Acted


def unknown(reason: str) -> Interval:
    """An interval that asks for nothing."""
    return {
        "unknown": reason, "sizes": {}, "slots": {}, "sentence": reason,
        "load_rps": 0.0, "ratio": None, "is_corrected": False, "is_for_lag": False,
    }  # fmt: skip


def evidence_of(interval: Interval) -> dict[str, Json]:
    """The numbers behind what an interval asks for."""
    evidence: dict[str, Json] = {f"slots/{pool}": slots for pool, slots in interval["slots"].items()}
    return {**evidence, "arrival_rps": interval["load_rps"], "rate_ratio": interval["ratio"]}
