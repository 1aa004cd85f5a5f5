"""Amadeus: a weighted mean of batch time over trigger interval, and a band."""

from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.signals import Signal
from elastream.policies import policies
from elastream.policies.amadeus import Amadeus
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing


def after(
    *batches: float, workers: int = 4, rows: float = 100.0, trigger_s: float | None = 10.0, most: int = 100
) -> Dataflow:
    """A query whose batches took so long, one every ten seconds."""
    flow = Dataflow(Doing("scan"), shared=workers, tick_s=10.0, trigger_s=trigger_s, most=most)
    for seconds in batches:
        flow.batch(seconds, rows=rows)
        flow.passes(10)
    return flow


def test_the_mean_weighs_each_batch_by_six_tenths_of_the_next() -> None:
    decision = after(8.0, 14.0).decides(Amadeus())
    # Numerator 0.6 x (0.6 x 1 + 0.8) + 1.4, denominator 0.6 x (0.6 x 1 + 1) + 1.
    assert decision.evidence["mean_ratio"] == pytest.approx((0.6 * 1.4 + 1.4) / (0.6 * 1.6 + 1))


def test_outside_the_band_the_size_is_multiplied_by_the_mean() -> None:
    # (0.6 + 2) / 1.6 = 1.625 of four.
    assert after(20.0).decides(Amadeus()).allocation == {"executors": 7}
    # (0.6 + 0.1) / 1.6 = 0.4375 of four.
    assert after(1.0).decides(Amadeus()).allocation == {"executors": 2}
    assert after(9.0).decides(Amadeus()).kind == "keep"


def test_it_stays_between_one_and_the_most_of_the_pool_or_the_ten_of_the_library() -> None:
    assert after(90.0, workers=8).decides(Amadeus()).allocation == {"executors": 48}
    assert after(90.0, workers=8, most=24).decides(Amadeus()).allocation == {"executors": 24}
    assert after(90.0, workers=8).decides(policies.build("amadeus-code")).allocation == {"executors": 10}
    assert after(0.0, 0.0, 0.0, 0.0, workers=1).decides(Amadeus()).allocation == {"executors": 1}


def test_batches_without_data_do_not_count_so_an_idle_query_never_shrinks() -> None:
    idle = after(*[0.1] * 20, rows=0.0)
    assert idle.decides(Amadeus()).kind == "keep"
    assert idle.decides(Amadeus(count_empty=True)).allocation["executors"] < 4


def test_one_batch_is_one_reason_to_act() -> None:
    flow = after(20.0)
    flow.passes(60)
    sizes = [made.allocation["executors"] for made in flow.plans(Amadeus()) if made.kind == "set"]
    assert sizes == [7], "the same batch must not multiply the size again on every look"


def test_while_a_change_is_under_way_nothing_is_decided() -> None:
    flow = Dataflow(Doing("scan"), shared=4, tick_s=10.0, trigger_s=10.0)
    flow.seen_with("executors", wanted=6)
    flow.batch(20.0, rows=100.0)
    flow.passes(10)
    decision = flow.decides(Amadeus())
    assert decision.kind == "keep"
    assert decision.reason.startswith("a change is under way; batches take 1.6")


def test_a_query_as_fast_as_possible_needs_to_be_told_an_interval() -> None:
    flow = after(20.0, trigger_s=None)
    decision = flow.decides(Amadeus())
    assert (decision.kind, decision.reason) == ("hold", "q has no trigger interval; set trigger_s")
    assert flow.decides(Amadeus(trigger_s=10.0)).allocation == {"executors": 7}


def test_without_batches_it_cannot_run() -> None:
    assert fit(Amadeus().needs, EVERYTHING - {Signal.BATCHES}).sentence() == "cannot run: no batches"


@pytest.mark.parametrize(("settings", "message"), [({"low": 2.0}, "low 2 must"), ({"weight": 1.0}, "weight is 1")])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        Amadeus(**settings)
