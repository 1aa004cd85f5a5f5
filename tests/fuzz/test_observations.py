"""Looks as no platform should give them, one after the other, at every policy with every guard."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace

from elastream.config import build_guards
from elastream.core.credible import credible
from elastream.core.errors import ObservationFailed
from elastream.core.guards import ORDER
from elastream.core.observation import Observation
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.simulator.microbatch.platform import PROVIDES
from elastream.testing import make_absurd
from tests.fuzz.harness import fuzz, sizes
from tests.unit.test_journal import full_tick

GUARDS: dict[str, dict[str, object]] = {
    **{name: {} for name in ORDER if name != "pause"},
    "budget": {"worker_hours": 3},
    "quiet_hours": {"utc": ["00:00-06:00"]},
    "step_limit": {"up": 5, "down": 5},
}


def look(draw: random.Random, at_s: float, wanted: Mapping[str, int]) -> Observation:
    """A whole look in which about one value in four is absurd."""
    sample = full_tick().observation
    assert sample is not None
    now = make_absurd(sample, draw, at_s=at_s)
    return replace(now, pools=tuple(replace(pool, wanted=wanted.get(pool.name, 3)) for pool in now.pools))


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
