from dataclasses import replace

from elastream.core.task_cost import TaskCost
from elastream.spark.jvm.snapshot import StageSeen
from elastream.spark.observe.batch_work import BatchStages, united_s


def stage(number: int, start: float, end: float, *, tasks: int = 4, longest: float, busy: float) -> StageSeen:
    return StageSeen(
        id=number, attempt=0, job=0, query="q", batch=3, submitted_s=start, ended_s=end, failed=False, tasks=tasks,
        running=0, done=tasks, run_s=busy, deserialise_s=0.0, serialise_s=0.0, fetch_s=0.0, lost_s=0.0,
        read=400.0, fetched=0.0, shuffled=0.0, written=0.0, matches=(), longest_s=longest,
        longest_records=310.0,
    )  # fmt: skip


def test_the_longest_tasks_of_stages_one_after_the_other_add_up_and_of_those_beside_each_other_the_longest_counts() -> (
    None
):
    work = BatchStages()
    work.add(stage(1, 10.0, 16.0, longest=5.0, busy=8.0), "read-0")
    work.add(stage(2, 10.5, 14.0, longest=3.0, busy=8.0), "read-1")
    work.add(stage(3, 16.0, 20.0, longest=4.0, busy=4.5), "join-0")
    assert work.critical_s() == 9.0
    assert (work.tasks, work.done, work.busy_s, work.last_s) == (12, 12, 20.5, 20.0)
    assert united_s(work.spans) == 10.0


def test_the_task_that_a_batch_waited_for_longest_is_named_with_the_mean_of_its_stage() -> None:
    work = BatchStages()
    work.add(stage(1, 10.0, 16.0, longest=5.0, busy=8.0), "read-0")
    work.add(stage(3, 16.0, 20.0, longest=4.0, busy=4.5), "join-0")
    # A task that is told of after its stage has ended is one of that stage.
    late = replace(stage(1, 10.0, 16.0, tasks=0, longest=6.0, busy=6.0), done=1, read=0.0)
    work.add(late, "read-0")
    longest = work.longest_task()
    assert longest is not None
    assert (longest.stage, longest.tasks, longest.task_s, longest.mean_s) == ("read-0", 4, 6.0, 14.0 / 5)
    assert (longest.records, longest.mean_records) == (310.0, 80.0)


def test_a_batch_without_stages_waited_for_no_task() -> None:
    assert BatchStages().critical_s() is None
    assert BatchStages().longest_task() is None


def test_what_tasks_were_spent_on_adds_up_over_stages_and_is_unknown_if_one_did_not_tell() -> None:
    work = BatchStages()
    told = replace(stage(1, 10.0, 16.0, longest=5.0, busy=8.0), cost=TaskCost(gc_s=2.0, spilled_bytes=10.0))
    work.add(told, "read-0")
    work.add(replace(told, id=2, cost=TaskCost(gc_s=1.5, state_s=3.0)), "join-0")
    assert work.cost == TaskCost(gc_s=3.5, spilled_bytes=10.0, state_s=3.0)
    work.add(replace(told, id=3, cost=None), "join-1")
    assert work.cost is None
    assert BatchStages().cost is None
