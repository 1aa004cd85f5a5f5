"""KEDA's Kafka scaler: lag over threshold, cut to the partitions, in front of an HPA."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.signals import Signal
from elastream.policies.keda_lag import KedaLag
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing

# Without damping: what is recommended is what is decided.
NOW: dict[str, Any] = {"down_window_s": 0.0, "up_pods": None, "up_percent": None}


def behind(records: float, *, workers: int = 1, partitions: int | None = 12, slots: int = 1) -> Dataflow:
    flow = Dataflow(Doing("scan", partitions=partitions), shared=workers, slots=slots, tick_s=10.0)
    flow.passes(10, scan={"in_rps": 1.0, "arrival_rps": 1.0 + records / 10})
    return flow


def size(flow: Dataflow, **settings: Any) -> int:
    decision: Decision = flow.decides(KedaLag(**NOW, **settings))
    return decision.allocation["executors"]


def test_lag_over_threshold_rounded_up_is_the_number_of_consumers() -> None:
    assert size(behind(45.0)) == 5
    assert size(behind(45_000.0), lag_threshold=10_000.0) == 5
    assert size(behind(0.0, workers=7)) == 1


def test_there_are_no_more_consumers_than_partitions_unless_idle_ones_are_allowed() -> None:
    assert size(behind(1e6)) == 12
    assert size(behind(500.0), allow_idle_consumers=True) == 50
    assert size(behind(500.0, partitions=None)) == 50


def test_a_worker_with_four_slots_is_four_consumers() -> None:
    assert size(behind(1e6, slots=4)) == 3


def test_consumers_may_be_kept_to_partitions_that_have_lag() -> None:
    flow = behind(1e6)
    query = flow.now.queries[0]
    source = replace(query.sources[0], partition_backlogs=(5e5, 5e5, *[0.0] * 10))
    flow.looks[-1] = replace(flow.now, queries=(replace(query, sources=(source,)),))
    assert size(flow, limit_to_partitions_with_lag=True) == 2
    assert size(flow) == 12


def test_sizes_may_be_kept_to_those_that_divide_the_partitions() -> None:
    assert [size(behind(10.0 * n), ensure_even_distribution=True) for n in (1, 3, 5, 7, 12, 99)] == [
        1,
        3,
        6,
        12,
        12,
        12,
    ]


def test_lag_in_which_nothing_moves_may_be_left_out() -> None:
    flow = behind(100.0, workers=4)
    flow.passes(60, scan={"in_rps": 0.0, "arrival_rps": 0.0})
    assert size(flow) == 10
    assert size(flow, exclude_persistent_lag=True) == 1


def test_lag_up_to_the_activation_asks_for_the_smallest_size() -> None:
    assert size(behind(50.0), activation_lag=50.0) == 1
    assert size(behind(51.0), activation_lag=50.0) == 6


def test_the_tolerance_blocks_a_last_step_of_less_than_a_tenth() -> None:
    assert size(behind(1e6, workers=11)) == 11
    assert size(behind(1e6, workers=10)) == 12


def test_growing_and_shrinking_follow_the_hpa() -> None:
    flow = behind(1e6, partitions=100)
    assert flow.decides(KedaLag()).allocation == {"executors": 5}
    assert behind(0.0, workers=9).decides(KedaLag()).allocation == {"executors": 9}


def test_of_two_topics_the_one_that_asks_for_most_wins() -> None:
    flow = Dataflow(Doing("a", partitions=12), Doing("b", partitions=12), shared=1, tick_s=10.0)
    flow.passes(10, a={"arrival_rps": 3.0}, b={"arrival_rps": 7.0})
    decision = flow.decides(KedaLag(**NOW))
    assert decision.allocation == {"executors": 7}
    assert "q/b is 70 records behind: 7 consumers" in decision.reason


def test_unknown_lag_is_a_hold_and_a_threshold_of_nothing_is_refused() -> None:
    flow = Dataflow(Doing("scan", in_rps=None), shared=3)
    decision = flow.decides(KedaLag())
    assert (decision.kind, decision.allocation) == ("hold", {"executors": 3})
    with pytest.raises(BadInput, match=r"lag_threshold is 0; it must be above 0"):
        KedaLag(lag_threshold=0.0)
    assert fit(KedaLag().needs, EVERYTHING - {Signal.ARRIVED}).sentence() == "cannot run: no arrived"
