"""How workers come and go is found again in looks at them."""

from dataclasses import replace

import pytest

from elastream.core.observation import Observation, Pool
from elastream.policies import policies
from elastream.simulator.catalogue import model
from elastream.simulator.pool_calibration import calibrated_pool
from elastream.simulator.pool_model import PoolModel
from elastream.simulator.run import Simulation
from elastream.testing import Story
from elastream.workloads import parse_workload


def looks(true: PoolModel, *, tick_s: float = 2.0) -> list[Observation]:
    """A size that goes up and down with a load that does."""
    app = replace(model("enrich"), pool=true)
    story = Story()
    policy = policies.build("lag-proportional", {"interval_s": 5.0, "window_s": 20.0})
    load = parse_workload("cosine(5k..60k, period=5m)")
    Simulation(app, load, policy, name="moving", duration_s=1_800, tick_s=tick_s, seed=3).run([story])
    return story.looks()


def test_how_long_workers_take_to_come_and_to_go_is_found_again() -> None:
    true = PoolModel(max_workers=12, initial_workers=1, start_s=9.0, start_spread=0.2, leave_s=5.0, cold_s=0.0)
    found = calibrated_pool(PoolModel(), looks(true), "executors")
    assert found.start_s == pytest.approx(9.0, abs=0.5)
    assert found.start_spread == pytest.approx(0.2, abs=0.1)
    assert found.leave_s == pytest.approx(5.0, abs=1.0)
    assert found.cold_s == 0.0


def beside_leavers(*ready: int) -> list[Observation]:
    """Four are wanted of four at most while two leave; `ready` are there at each look, and all in the end."""
    counts = [(one, 2) for one in ready] + [(4, 0)]
    pools = [
        Pool(name="executors", slots_per_worker=1, min_workers=1, max_workers=4, wanted=4, requested=4, ready=here,
             leaving=leaving)
        for here, leaving in counts
    ]  # fmt: skip
    return [
        Observation(at_s=2.0 * number, utc_s=0.0, application="a", pools=(pool,)) for number, pool in enumerate(pools)
    ]


def test_who_leaves_is_seen_to_hold_its_room() -> None:
    assert calibrated_pool(PoolModel(), beside_leavers(2, 2, 2), "executors").leavers_hold_room
    assert not calibrated_pool(PoolModel(), beside_leavers(2, 3, 4), "executors").leavers_hold_room


def test_what_was_not_seen_keeps_its_defaults() -> None:
    fixed = policies.build("fixed", {"workers": 4})
    app = replace(model("enrich"), pool=PoolModel(initial_workers=4))
    story = Story()
    Simulation(app, parse_workload("20k"), fixed, name="fixed", duration_s=300, tick_s=2.0, seed=3).run([story])
    assert calibrated_pool(PoolModel(), story.looks(), "executors") == PoolModel()
