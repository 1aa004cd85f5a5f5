"""What Spark tells the listener may be lost, late, out of order or told twice, and clocks may be set."""

from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from elastream.core.signals import Signal
from tests.spark.events.fuzzing import PROFILES, Run
from tests.spark.events.jvm import EventPlayer, jvm
from tests.unit.spark.reading import fold, observing

pytestmark = [pytest.mark.needs("spark"), pytest.mark.local]

QUERY = str(UUID(int=7))
SHORT, LONG = range(2), range(2, 22)


@pytest.fixture(scope="module")
def gateway() -> Iterator[Any]:
    with jvm() as gateway:
        yield gateway


@pytest.fixture
def player(gateway: Any) -> EventPlayer:
    return EventPlayer(gateway)


@pytest.fixture(scope="module")
def counts(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """What was tried, told at the end."""
    counted = Counter[str]()
    yield counted
    reporter = request.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        told = ", ".join(f"{number:,} {name}" for name, number in counted.items())
        reporter.write_line(f"\nevents: {told}")


def fuzz(player: EventPlayer, profile: str, seed: int, steps: int, counts: Counter[str]) -> None:
    run = Run(player, profile, seed)
    try:
        run.play(steps)
    except AssertionError as wrong:
        raise AssertionError(f"{profile}, seed {seed}, at {run.application.now_ms} ms: {wrong}") from wrong
    way = run.channel
    counts.update(runs=1, sent=way.sent, dropped=way.dropped, repeated=way.repeated, late=way.delayed)


@pytest.mark.parametrize("seed", SHORT)
@pytest.mark.parametrize("profile", PROFILES)
def test_whatever_becomes_of_events_sums_are_right_and_nothing_grows(
    player: EventPlayer, profile: str, seed: int, counts: Counter[str]
) -> None:
    fuzz(player, profile, seed, 300, counts)


@pytest.mark.full
@pytest.mark.parametrize("seed", LONG)
@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_for_long_and_many_seeds(player: EventPlayer, profile: str, seed: int, counts: Counter[str]) -> None:
    fuzz(player, profile, seed, 600, counts)


def batch(number: int, *, tasks: int = 1) -> list[tuple[object, ...]]:
    """A batch of one stage begins, with the plan of a query that only reads."""
    plan = ("plan", number, f"Write|Write|{number}1", f"Scan|Scan [a#1]|{number}2")
    job = ("job", number, QUERY, number, number, f"{number}:0:{tasks}")
    return [plan, job, ("stage", number, 0, tasks, QUERY, number, number)]


def over(number: int, *, tasks: int = 1) -> list[tuple[object, ...]]:
    return [("stage-end", number, 0, tasks, "done", 1, f"{number}2"), ("job-end", number), ("plan-end", number)]


def ended(task: int, stage: int, verdict: str = "done", *, run_ms: int = 100, records: int = 10) -> tuple[object, ...]:
    return "task-end", task, stage, 0, 1, verdict, run_ms, records, f"{stage}2"


def active(number: int) -> dict[str, Any]:
    """The query, in the middle of a batch."""
    described = {"sources": [{"class": "some.Stream"}], "leaves": [0]}
    live = {"active": True, "trigger_active": True, "constructed": True, "trigger_ms": 1_700_000_000_000}
    return {"id": QUERY, "run": "run", "name": "orders", "batch": number, "described": described, **live}


def test_an_operator_has_done_what_its_tasks_have_done_and_those_that_failed_have_done_nothing(
    player: EventPlayer,
) -> None:
    player.tell(active(1))
    player.play([("executor", 1, 4), *batch(1, tasks=5), *(("task", task, 1, 0, 1) for task in range(4))])
    player.pass_time(3_000)
    player.play([ended(0, 1, run_ms=1_000), ended(1, 1, run_ms=2_000), ended(2, 1, "failed", run_ms=2_500)])
    (query,) = fold(observing(), player.look(), 1_000.0).queries
    (read,) = query.operators
    assert (read.name, read.tasks) == ("read-0", 5)
    assert read.busy_s is not None
    assert read.busy_s.value == 3.0
    assert read.records_in is not None
    assert read.records_in.value == 20
    assert query.running is not None
    assert (query.running.tasks, query.running.tasks_done, query.running.tasks_waiting) == (5, 2, 2)


def test_what_tasks_computed_is_told_per_executor_when_they_end_once_and_never_more_than_slots_were_busy(
    player: EventPlayer,
) -> None:
    player.play([("executor", 1, 4), *batch(1, tasks=3), *(("task", task, 1, 0, 1) for task in range(3))])
    player.pass_time(2_000)
    seen = player.look().executors["1"]
    assert (seen.busy_s, seen.held_s, seen.cpu_s) == (6.0, 0.0, 0.0)
    computed = (*ended(0, 1, run_ms=2_000), 1_500)
    player.play([computed, (*ended(1, 1, "failed", run_ms=2_000), 500), computed])
    seen = player.look().executors["1"]
    assert (seen.held_s, seen.cpu_s) == (4.0, 2.0)
    player.play([(*ended(2, 1, run_ms=2_000), 9_000)])
    seen = player.look().executors["1"]
    assert (seen.busy_s, seen.cpu_s) == (6.0, 6.0)


def test_what_a_batch_was_spent_on_is_told_with_its_stages(player: EventPlayer) -> None:
    player.play([("executor", 1, 4), *batch(1, tasks=2), ("task", 0, 1, 0, 1), ("task", 1, 1, 0, 1)])
    player.pass_time(2_500)
    player.play([(*ended(0, 1, run_ms=2_000), 1_500, 600), (*ended(1, 1, run_ms=2_200), 1_000, 300)])
    (stage,) = player.look().stages
    assert stage.cost is not None
    assert stage.cost.cpu_s == 2.5
    assert stage.cost.gc_s == pytest.approx(0.9)
    # From launch to end it took 2.5 s.
    assert stage.cost.scheduled_s == pytest.approx(0.8)
    assert (stage.cost.unplaced_s, stage.cost.undispatched_s) == (0.0, 0.0)


@pytest.mark.parametrize(("near", "waited"), [(("near",), (3.0, 0.0)), ((), (0.0, 3.0))], ids=str)
def test_tasks_that_wait_although_a_slot_is_free_are_told_and_those_that_wait_for_one_are_not(
    player: EventPlayer, near: tuple[str, ...], waited: tuple[float, float]
) -> None:
    *begun, submitted = batch(1, tasks=3)
    player.play([("executor", 1, 2), *begun, (*submitted, *near), ("task", 0, 1, 0, 1)])
    player.pass_time(3_000)
    player.play([("task", 1, 1, 0, 1)])
    # Both slots are busy, and the third task has none to run on.
    player.pass_time(5_000)
    player.play([ended(0, 1), ("task", 2, 1, 0, 1)])
    (stage,) = player.look().stages
    assert stage.cost is not None
    assert (stage.cost.unplaced_s, stage.cost.undispatched_s) == waited


def test_tasks_told_after_their_stage_count_for_their_query_and_make_looks_no_longer(player: EventPlayer) -> None:
    player.play([("executor", 1, 4)])
    numbers = range(1, 2_501)
    for number in numbers:
        player.play([*batch(number), ("task", number, number, 0, 1), *over(number)])
        if number % 500 == 0:
            player.pass_time(1_000)
            player.look()
    player.play(ended(number, number) for number in numbers)
    told = player.look().stages
    assert sum(stage.run_s for stage in told if stage.query == QUERY) == pytest.approx(250.0)
    assert sum(stage.done for stage in told) == 2_500
    assert len(player.text()) < 2_000


def test_lost_starts_of_jobs_leave_nothing_behind_though_tasks_are_told_long_after(player: EventPlayer) -> None:
    player.play([("executor", 1, 4)])
    numbers = range(1, 6_001)
    for number in numbers:
        player.play([("stage", number, 0, 1, "-", 0, "-"), ("task", number, number, 0, 1)])
        player.play([("stage-end", number, 0, 1, "done", 1)])
        if number % 1_000 == 0:
            player.look()
    done = 0
    for thousand in range(6):
        player.play(ended(number, number) for number in numbers[thousand * 1_000 : (thousand + 1) * 1_000])
        done += sum(stage.done for stage in player.look().stages)
    assert done == 6_000
    assert max(player.sizes().values()) <= 4_000
    assert len(player.text()) < 2_000


def test_a_task_whose_end_was_lost_is_busy_until_its_stage_ends_and_is_counted_as_lost(player: EventPlayer) -> None:
    player.play([("executor", 1, 4), *batch(1, tasks=2), ("task", 1, 1, 0, 1), ("task", 2, 1, 0, 1)])
    player.pass_time(10_000)
    player.play([ended(1, 1), ("stage-end", 1, 0, 2, "done", 1)])
    player.pass_time(3_600_000)
    after = player.look()
    assert after.busy_s == 20.0
    assert after.executors["1"].running == 0
    assert after.failures == 1


def test_what_was_lost_is_told_and_makes_a_look_lack_what_is_added_up(player: EventPlayer) -> None:
    observer = observing()
    player.tell(active(1))
    player.play([("executor", 1, 4), *batch(1, tasks=2), ("task", 1, 1, 0, 1), ("task", 2, 1, 0, 1)])
    player.pass_time(10_000)
    player.play([ended(1, 1), ("stage-end", 1, 0, 2, "done", 1)])
    assert not fold(observer, player.look(), 1_000.0).troubles
    player.pass_time(60_000)
    now = fold(observer, player.look(), 1_060.0)
    assert now.troubles[0].startswith("events of Spark were lost in the last minute, 1 never came: ")
    assert Signal.BUSY_TIME in now.lacks
    assert now.queries[0].operators[0].busy_s is None
    assert Signal.BUSY_TIME not in fold(observer, player.look(), 1_065.0).lacks


def test_the_next_batch_ends_what_was_open_of_the_one_before(player: EventPlayer) -> None:
    player.play([("executor", 1, 4), *batch(1), ("task", 1, 1, 0, 1)])
    player.pass_time(5_000)
    player.play([*batch(2), ("task", 2, 2, 0, 1)])
    player.pass_time(5_000)
    seen = player.look()
    assert [stage.id for stage in seen.stages if stage.ended_s is None] == [2]
    assert (seen.busy_s, seen.executors["1"].running) == (10.0, 1)


def test_a_stage_whose_end_is_told_after_that_of_its_job_is_late_and_one_that_is_never_told_is_lost(
    player: EventPlayer,
) -> None:
    player.play([("executor", 1, 4), *batch(1), ("task", 1, 1, 0, 1), ended(1, 1), ("job-end", 1)])
    player.pass_time(5_000)
    player.play([("stage-end", 1, 0, 1, "done", 1)])
    player.play([*batch(2), ("task", 2, 2, 0, 1), ended(2, 2), ("job-end", 2)])
    player.pass_time(50_000)
    assert player.look().failures == 0
    player.pass_time(20_000)
    assert player.look().failures == 1


def test_slots_stay_busy_while_the_clock_is_set_back_and_forth(player: EventPlayer) -> None:
    player.play([("executor", 1, 4), *batch(1, tasks=2), ("task", 1, 1, 0, 1), ("task", 2, 1, 0, 1)])
    busy_s = []
    for set_by_ms in (0, -3_600_000, 0, 86_400_000, 0):
        player.pass_time(5_000, clock_set_by_ms=set_by_ms)
        seen = player.look()
        busy_s.append(seen.busy_s)
    assert busy_s == [10.0, 20.0, 30.0, 40.0, 50.0]
    assert [stage.oldest_s for stage in seen.stages] == [25.0]


def test_a_long_task_is_not_forgotten_because_others_begin_before_the_end_of_their_slots_last_is_told(
    player: EventPlayer,
) -> None:
    player.play([("executor", 1, 2), *batch(1, tasks=50), ("task", 1, 1, 0, 1), ("task", 2, 1, 0, 1)])
    for task in range(3, 40):
        player.pass_time(1_000)
        player.play([("task", task, 1, 0, 1), ended(task - 1, 1)])
    seen = player.look()
    assert (seen.executors["1"].running, seen.busy_s) == (2, 74.0)
    assert [stage.oldest_s for stage in seen.stages] == [37.0]


def test_an_output_that_is_lost_with_its_executor_does_not_count_its_task_twice(player: EventPlayer) -> None:
    player.play([("executor", 1, 1), *batch(1, tasks=2), ("task", 1, 1, 0, 1)])
    player.pass_time(1_000)
    # Spark tells the end of the task again, when what it has written must be made again.
    player.play([ended(1, 1), ("executor-end", 1), ended(1, 1)])
    (stage,) = player.look().stages
    assert (stage.done, stage.run_s) == (1, 0.1)


def test_executors_that_come_and_go_for_long_are_forgotten_and_their_time_is_kept(player: EventPlayer) -> None:
    for name in range(1, 1_001):
        player.play([("executor", name, 1), ("job", name, "-", 0, "-", f"{name}:0:1"), ("task", name, name, 0, name)])
        player.pass_time(1_000)
        player.play([("executor-end", name), ("job-end", name)])
    seen = player.look()
    assert len(seen.executors) <= 256
    assert seen.busy_s == 1_000.0
