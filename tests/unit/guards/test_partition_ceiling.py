from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.guards.partition_ceiling import PartitionCeiling, useful_slots
from elastream.core.observation import Observation, Reading
from elastream.core.topology import Topology
from elastream.testing import asking, knowing, observation, pool, query, size


def ceiling(now: Observation, asked: int) -> Decision:
    return PartitionCeiling().adjust(asking(asked), now, knowing(), None)


@pytest.mark.parametrize(("slots", "workers"), [(1, 12), (4, 3), (5, 3)])
def test_slots_without_a_task_are_not_paid_for(slots: int, workers: int) -> None:
    now = observation(slots=slots, queries=(query(partitions=12),))
    assert size(ceiling(now, 50)) == workers
    assert size(ceiling(now, workers + 1)) == workers
    decision = asking(workers)
    assert PartitionCeiling().adjust(decision, now, knowing(), None) is decision


def test_the_reason_says_what_would_help() -> None:
    now = observation(slots=4, queries=(query(partitions=12),))
    assert ceiling(now, 50).adjustments[0].reason == (
        "12 partitions keep at most 12 slots busy, so more than 3 workers in executors cannot help; "
        "raise the partitions of the widest stage to go further"
    )


def test_queries_run_at_the_same_time_so_their_widest_stages_add_up() -> None:
    queries = (query(name="a", partitions=12), query(name="b", partitions=3))
    assert useful_slots(pool(), observation(queries=queries)) == 15


def test_a_query_that_has_ended_needs_no_slots_and_work_of_no_query_does() -> None:
    queries = (query(name="a", partitions=12), replace(query(name="b", partitions=30), phase="terminated"))
    now = replace(observation(queries=queries), other_busy_slots=Reading(2.5, 0.0))
    assert useful_slots(pool(), now) == 15


def test_where_the_plan_does_not_say_the_last_batch_does() -> None:
    assert useful_slots(pool(), observation(queries=(query(tasks=7),))) == 7
    assert useful_slots(pool(), observation(queries=(query(partitions=5, tasks=7),))) == 5


def test_an_unknown_width_is_no_ceiling() -> None:
    now = observation(queries=(query(name="a", partitions=12), query(name="b")))
    assert size(ceiling(now, 50)) == 50
    assert size(ceiling(observation(queries=()), 50)) == 50


def test_a_pool_is_limited_by_its_own_operators_only() -> None:
    now = observation(pools=(pool("a"), pool("b")), queries=(query(partitions=4, pools=("a",)),))
    decision = PartitionCeiling().adjust(asking({"a": 9, "b": 9}), now, knowing(), None)
    assert decision.allocation == {"a": 4, "b": 9}


def test_a_hold_stays_and_a_keep_is_lowered() -> None:
    now = observation(wanted=20, queries=(query(partitions=12),))
    hold = Decision.hold(now, "unknown")
    assert PartitionCeiling().adjust(hold, now, knowing(), None) is hold
    assert size(PartitionCeiling().adjust(replace(hold, kind="keep"), now, knowing(), None)) == 12


def test_a_query_whose_operators_are_not_known_yet_is_no_reason_to_shrink() -> None:
    begun = replace(query(name="a"), topology=Topology(operators=()))
    now = replace(observation(queries=(begun,)), other_busy_slots=Reading(1.0, 0.0))
    assert size(ceiling(now, 4)) == 4


def test_a_query_counts_for_its_own_tasks_only_where_the_policy_tells_queries_apart() -> None:
    now = observation(ready=2, queries=(query(name="a", partitions=24), query(name="b", partitions=1)))
    decision = replace(asking(23), slots={"a": 3.0, "b": 20.0})
    limited = PartitionCeiling().adjust(decision, now, knowing(), None)
    assert size(limited) == 4
    assert limited.adjustments[0].reason == (
        "b needs 20.0 slots and its widest stage has 1 task: more cannot help; raise its partitions"
    )
    enough = replace(asking(4), slots={"a": 3.0, "b": 0.9})
    assert PartitionCeiling().adjust(enough, now, knowing(), None) is enough


def test_from_a_query_that_is_not_measured_yet_nothing_is_taken_for_the_ceiling_of_another() -> None:
    now = observation(ready=3, queries=(query(name="a", partitions=24), query(name="b", partitions=1)))
    decision = replace(asking(16), slots={"b": 15.8})
    limited = PartitionCeiling().adjust(decision, now, knowing(), None)
    assert size(limited) == 3
    assert limited.adjustments[0].reason.startswith("b needs 15.8 slots and its widest stage has 1 task")


def test_a_share_on_top_stays_on_top_of_what_a_query_can_use() -> None:
    now = observation(ready=2, queries=(query(name="a", partitions=24), query(name="b", partitions=1)))
    decision = replace(asking(10), slots={"a": 5.0, "b": 5.0}).adjusted("over-provision", {"executors": 20}, "twice")
    assert size(PartitionCeiling().adjust(decision, now, knowing(), None)) == 12
