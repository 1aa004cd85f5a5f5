"""Looks as no platform should give them, but one will."""

import math
import random
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from elastream.core.observation import Observation, Reading

FLOATS = (0.0, 1.0, 7.5, 4e4, 2.0**53, 1e300, 5e-324, math.nan, math.inf, -math.inf, -1.0, 1e18)
AGES_S = (0.0, 0.0, 0.0, 4.9, -4.9, 14.9, 1e9, -1e9, math.nan)
WHOLE = (0, 1, 2, 7, 300, 10**6, -1)


def make_absurd(now: Observation, draw: random.Random, *, at_s: float | None = None) -> Observation:
    """The same look in which about one value in four is absurd; its pools have sizes that can be.

    Pass it through `credible` before a policy sees it, as the loop does.
    """
    then_s = now.at_s if at_s is None else at_s
    bent = cast("Observation", _bent(draw, now, then_s))
    pools = tuple(
        replace(
            pool,
            workers=other.workers,
            min_workers=draw.choice((0, 1, 3)),
            max_workers=draw.choice((3, 8, 200)),
            ready=draw.choice((0, 1, 3, 50)),
            leaving=draw.choice((0, 0, 2)),
            busy_slot_s=other.busy_slot_s,
        )
        for pool, other in zip(now.pools, bent.pools, strict=True)
    )
    queries = tuple(replace(query, id=f"q{n}") for n, query in enumerate(bent.queries * draw.randrange(3)))
    return replace(bent, at_s=then_s, utc_s=1.7e9 + then_s, pools=pools, queries=queries)


def _bent(draw: random.Random, value: object, at_s: float) -> object:
    absurd = draw.random() < 0.25
    if isinstance(value, Reading):
        age_s = draw.choice(AGES_S) if absurd else 0.0
        grown = draw.choice(FLOATS) if absurd else value.value + at_s * 100
        return None if absurd and draw.random() < 0.3 else Reading(grown, at_s - age_s)
    if is_dataclass(value):
        return replace(cast("Any", value), **{f.name: _bent(draw, getattr(value, f.name), at_s) for f in fields(value)})
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_bent(draw, item, at_s) for item in value)
    if isinstance(value, bool) or not absurd:
        return value
    if isinstance(value, float):
        return draw.choice(FLOATS)
    return draw.choice(WHOLE) if isinstance(value, int) else value
