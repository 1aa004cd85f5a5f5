"""Looks as no platform should give them, one after the other, at every policy with every guard."""

import json
import math
import random
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from elastream.config import build_guards
from elastream.core.credible import credible
from elastream.core.errors import ObservationFailed
from elastream.core.guards import ORDER
from elastream.core.observation import Observation, Reading
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.simulator.microbatch.platform import PROVIDES
from tests.fuzz.harness import fuzz, sizes
from tests.unit.test_journal import full_tick

GUARDS: dict[str, dict[str, object]] = {
    **{name: {} for name in ORDER if name != "pause"},
    "budget": {"worker_hours": 3},
    "quiet_hours": {"utc": ["00:00-06:00"]},
    "step_limit": {"up": 5, "down": 5},
}
FLOATS = (0.0, 1.0, 7.5, 4e4, 2.0**53, 1e300, 5e-324, math.nan, math.inf, -math.inf, -1.0, 1e18)
AGES_S = (0.0, 0.0, 0.0, 4.9, -4.9, 14.9, 1e9, -1e9, math.nan)
WHOLE = (0, 1, 2, 7, 300, 10**6, -1)


def look(draw: random.Random, at_s: float, wanted: Mapping[str, int]) -> Observation:
    """A whole look in which about one value in four is absurd."""
    sample = full_tick().observation
    assert sample is not None
    now = cast("Observation", _bent(draw, sample, at_s))
    pool = replace(
        sample.pools[0],
        workers=now.pools[0].workers if now.pools else (),
        min_workers=draw.choice((0, 1, 3)),
        max_workers=draw.choice((3, 8, 200)),
        wanted=wanted.get("executors", 3),
        ready=draw.choice((0, 1, 3, 50)),
        leaving=draw.choice((0, 0, 2)),
        busy_slot_s=_bent(draw, sample.pools[0].busy_slot_s, at_s),
    )
    queries = tuple(replace(query, id=f"q{n}") for n, query in enumerate(now.queries * draw.randrange(3)))
    return replace(now, at_s=at_s, utc_s=1.7e9 + at_s, pools=(pool,), queries=queries)


def _bent(draw: random.Random, value: Any, at_s: float) -> Any:
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


@sizes(40, 1000)
def test_whatever_is_seen_every_policy_and_every_guard_answers_within_bounds(cases: int) -> None:
    def once(draw: random.Random) -> str:
        names = list(policies.names())
        name = draw.choice(names)
        try:
            policy = policies.build(name)
        except Exception:
            policy = policies.build("fixed", {"workers": 5})
        guards = {key: GUARDS[key] for key in GUARDS if draw.random() < 0.7}
        planner = Planner(policy, build_guards(guards), PROVIDES)
        at_s, wanted, held = 100.0, {"executors": 3}, 0
        for _ in range(25):
            at_s += draw.choice((5.0, 5.0, 0.001, 400.0))
            try:
                now = credible(look(draw, at_s, wanted), 15.0)
            except ObservationFailed:
                continue
            plan = planner.plan(now)
            assert plan.troubles == (), (name, plan.troubles)
            for pool in now.pools:
                assert pool.min_workers <= plan.decision.allocation[pool.name] <= pool.max_workers
            assert "\n" not in plan.decision.sentence()
            wanted = dict(plan.decision.allocation)
            held += plan.decision.kind == "hold"
        text = json.dumps(planner.snapshot(), allow_nan=False)
        planner.restore(json.loads(text))
        return "runs that only held" if held == 25 else "runs that decided"

    fuzz("absurd observations", cases, once)
