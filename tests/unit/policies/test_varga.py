"""Varga: utilisation and relative change of lag, the higher of the two."""

from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.signals import Signal
from elastream.policies.catalogue import policies
from elastream.policies.varga import Varga
from elastream.simulator.microbatch.platform import PROVIDES
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing

# Without damping: what is recommended is what is decided.
NOW: dict[str, Any] = {"down_window_s": 0.0}


def chain(**settings: Any) -> Dataflow:
    return Dataflow(
        Doing("source", workers=4, in_rps=10_000.0, busy=0.7),
        Doing("map", after=("source",), workers=4, in_rps=10_000.0, busy=0.7),
        Doing("sink", after=("map",), workers=4, in_rps=10_000.0, busy=0.7),
        **settings,
    )


def test_without_growing_lag_every_operator_follows_its_utilisation() -> None:
    flow = chain()
    flow.passes(120, map={"busy": 0.9}, sink={"busy": 0.3})
    decision = flow.decides(Varga(**NOW))
    assert decision.allocation == {"source": 4, "map": 6, "sink": 2}
    assert decision.evidence["relative_lag_change"] == {"source": -1.0, "map": -1.0, "sink": -1.0}
    assert "map: utilisation 0.90, the target 0.7; no lag to answer for: 6" in decision.reason


def test_time_held_up_is_not_idle() -> None:
    flow = chain()
    flow.passes(120, source={"busy": 0.2, "backpressure": 0.7})
    assert flow.decides(Varga(**NOW)).allocation["source"] == 6


def test_growing_lag_is_the_matter_of_the_operator_below_back_pressure_alone() -> None:
    flow = chain()
    flow.passes(180, source={"arrival_rps": 30_000.0, "backpressure": 0.3, "busy": 0.4}, map={"busy": 0.8})
    decision = flow.decides(Varga(**NOW))
    # 1 + 20,000 / 10,000 = 3, more than 0.8 / 0.7.
    assert decision.evidence["relative_lag_change"] == {"source": -1.0, "map": pytest.approx(3.0), "sink": -1.0}
    assert decision.allocation == {"source": 4, "map": 12, "sink": 4}


def test_if_nothing_is_back_pressured_the_sources_are_the_cause() -> None:
    flow = chain()
    flow.passes(180, source={"arrival_rps": 20_000.0})
    assert flow.decides(Varga(**NOW)).allocation == {"source": 8, "map": 4, "sink": 4}


def test_lag_below_its_threshold_has_no_cause() -> None:
    flow = chain()
    flow.passes(180, source={"arrival_rps": 10_900.0})
    assert flow.decides(Varga(**NOW)).kind == "keep"
    flow.passes(180, source={"arrival_rps": 15_000.0})
    assert flow.decides(Varga(**NOW)).allocation["source"] == 6
    assert flow.decides(policies.build("varga-10k", NOW)).kind == "keep"


def test_the_derivative_is_taken_over_a_minute() -> None:
    flow = chain()
    flow.passes(300, source={"arrival_rps": 30_000.0})
    flow.passes(75, source={"arrival_rps": 10_000.0})
    assert flow.decides(Varga(**NOW)).kind == "keep"
    assert flow.decides(Varga(derivative_s=300.0, **NOW)).allocation["source"] > 4


def test_the_pool_form_has_one_size_and_ignores_small_lag() -> None:
    flow = Dataflow(
        Doing("source", in_rps=10_000.0, busy=0.1),
        Doing("map", after=("source",), in_rps=10_000.0, busy=0.2),
        shared=10,
    )
    flow.passes(120, source={"arrival_rps": 10_050.0})
    pool = policies.build("varga-pool", NOW)
    # 6,000 records behind: utilisation 0.3 decides, and it shrinks.
    assert flow.decides(pool).allocation == {"executors": 5}
    flow.passes(120, source={"arrival_rps": 15_000.0})
    # 606,000 behind and growing by a half of what is taken in.
    assert flow.decides(pool).allocation == {"executors": 15}
    # A lag that stands still has the relative change 1: nothing shrinks as long as it is there.
    flow.passes(120, source={"arrival_rps": 10_000.0})
    assert flow.decides(pool).kind == "keep"


def test_the_largest_recommendation_of_five_minutes_counts_when_shrinking() -> None:
    flow = chain()
    flow.passes(300)
    flow.passes(120, map={"busy": 0.1})
    assert flow.plans(Varga())[-1].allocation == {"source": 4, "map": 4, "sink": 4}
    flow.passes(300)
    assert flow.plans(Varga())[-1].allocation == {"source": 4, "map": 1, "sink": 4}


def test_with_the_ceiling_known_a_saturated_operator_is_doubled() -> None:
    flow = chain()
    flow.passes(120, map={"busy": 0.9})
    assert flow.decides(Varga(ceiling=0.9, **NOW)).allocation["map"] == 8


def test_lag_that_grows_while_nothing_is_taken_in_is_a_hold() -> None:
    flow = chain()
    flow.passes(120, source={"arrival_rps": 20_000.0, "in_rps": 0.0})
    decision = flow.decides(Varga())
    assert (decision.kind, decision.reason) == ("hold", "lag of q grows by 20,000/s and nothing is taken in")


def test_on_micro_batches_lag_is_what_batches_leave_behind() -> None:
    flow = Dataflow(Doing("scan", busy=0.7), shared=4, tick_s=5.0, trigger_s=10.0, provides=PROVIDES)
    for _ in range(12):
        flow.passes(10, scan={"in_rps": 10_000.0})
        flow.batch(6.0)
    flow.passes(1)
    assert flow.decides(Varga(**NOW)).kind == "keep"
    for seconds in (12.0, 16.0, 24.0, 36.0):
        flow.passes(seconds, scan={"arrival_rps": 15_000.0})
        flow.batch(seconds)
    flow.passes(1)
    assert flow.decides(Varga(**NOW)).allocation["executors"] > 4


def test_it_says_in_which_form_it_runs() -> None:
    assert fit(Varga().needs, EVERYTHING).sentence() == "has all signals"
    assert fit(Varga().needs, PROVIDES).sentence() == "runs with committed for backpressure-time"
    assert fit(Varga(form="pool").needs, PROVIDES).sentence() == "has all signals"
    assert not fit(Varga().needs, PROVIDES - {Signal.BUSY_TIME}).runs


def test_targets_of_nothing_are_refused() -> None:
    with pytest.raises(BadInput, match=r"utilisation_target is 0; it must be above 0"):
        Varga(utilisation_target=0.0)
