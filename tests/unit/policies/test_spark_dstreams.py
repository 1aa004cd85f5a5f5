"""Spark's autoscaler for DStreams."""

import pytest

from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.signals import Signal
from elastream.policies.spark_dstreams import SparkDstreams
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing


def after(*batches: float, workers: int = 4, trigger_s: float | None = 10.0) -> Dataflow:
    """A query whose batches took so long, one every ten seconds."""
    flow = Dataflow(Doing("scan"), shared=workers, tick_s=10.0, trigger_s=trigger_s)
    for seconds in batches:
        flow.passes(10)
        flow.batch(seconds)
    flow.passes(1)
    return flow


@pytest.mark.parametrize(
    ("batches", "size"),
    [
        ((9.0,), 5),
        ((14.0,), 5),
        ((16.0,), 6),
        ((35.0,), 8),
        ((8.9,), 4),
        ((3.1,), 4),
        ((3.0,), 3),
        ((2.0, 4.0), 3),
        ((2.0, 18.0), 5),
    ],
)
def test_the_mean_ratio_rounded_is_added_from_nine_tenths_on_and_one_removed_up_to_three(
    batches: tuple[float, ...], size: int
) -> None:
    assert after(*batches).decides(SparkDstreams()).allocation == {"executors": size}


def test_only_the_batches_of_the_last_minute_count() -> None:
    assert after(99.0, *[5.0] * 6).decides(SparkDstreams()).kind == "keep"


def test_a_minute_without_the_end_of_a_batch_changes_nothing() -> None:
    flow = after(30.0)
    flow.passes(120)
    decision = flow.decides(SparkDstreams())
    assert (decision.kind, decision.reason) == ("keep", "no batch has ended in the last 60 s")


def test_the_last_executor_stays() -> None:
    assert after(1.0, workers=1).decides(SparkDstreams()).allocation == {"executors": 1}


def test_executors_on_their_way_count_before_more_are_asked_for() -> None:
    flow = Dataflow(Doing("scan"), shared=4, tick_s=10.0, trigger_s=10.0)
    flow.seen_with("executors", wanted=8)
    flow.batch(20.0)
    flow.passes(10)
    assert flow.decides(SparkDstreams()).allocation == {"executors": 8}


def test_a_query_as_fast_as_possible_needs_to_be_told_an_interval() -> None:
    flow = after(10.0, trigger_s=None)
    assert flow.decides(SparkDstreams()).reason == "q has no trigger interval; set batch_interval_s"
    assert flow.decides(SparkDstreams(batch_interval_s=5.0)).allocation == {"executors": 6}


def test_it_needs_batches_and_a_band_the_right_way_up() -> None:
    assert not fit(SparkDstreams().needs, EVERYTHING - {Signal.BATCHES}).runs
    with pytest.raises(BadInput, match=r"down_ratio 0\.95 must be at least 0 and below up_ratio 0\.9"):
        SparkDstreams(down_ratio=0.95)
