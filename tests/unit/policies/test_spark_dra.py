"""Spark's dynamic allocation: tasks that wait, doubling steps, a minute of idleness."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.observation import Observation, Reading, RunningBatch, Worker
from elastream.core.signals import Signal
from elastream.loop.planner import Planner
from elastream.policies.spark_dra import SparkDra
from elastream.testing import application, tell
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing


def running(flow: Dataflow, tasks: int, *, done: int = 0, since_s: float = 0.0) -> None:
    flow.running = RunningBatch(id=1, started_s=since_s, tasks=tasks, tasks_done=done)


def planned(flow: Dataflow, policy: SparkDra, seconds: int) -> list[int]:
    """Sizes decided every second, while no executor comes."""
    flow.passes(seconds)
    return [made.allocation["executors"] for made in flow.plans(policy)]


def test_while_tasks_wait_it_adds_one_two_four_and_no_more_than_the_tasks_could_use() -> None:
    flow = Dataflow(Doing("scan"), shared=1, tick_s=1.0)
    running(flow, 20)
    # Nothing for the first second; then 1, 2, 4, 8, and the rest.
    assert planned(flow, SparkDra(), 7) == [1, 2, 4, 8, 16, 20, 20, 20]


def test_the_first_wait_and_the_following_ones_are_two_settings() -> None:
    flow = Dataflow(Doing("scan"), shared=1, tick_s=1.0)
    running(flow, 20)
    assert planned(flow, SparkDra(backlog_timeout_s=3.0, sustained_timeout_s=2.0), 8) == [1, 1, 1, 2, 2, 4, 4, 8, 8]


def test_the_steps_between_two_looks_are_made_up_for() -> None:
    each = Dataflow(Doing("scan"), shared=1, tick_s=1.0)
    running(each, 100)
    few = Dataflow(Doing("scan"), shared=1, tick_s=5.0)
    running(few, 100)
    assert planned(few, SparkDra(), 5)[-1] == planned(each, SparkDra(), 5)[-1] == 32


def test_a_batch_that_began_after_the_last_look_has_waited_since_it_began() -> None:
    flow = Dataflow(Doing("scan"), shared=1, tick_s=10.0)
    running(flow, 100, since_s=7.5)
    # At 8.5 s and 9.5 s.
    assert planned(flow, SparkDra(), 10)[-1] == 4


def test_executors_that_are_there_already_are_not_ramped_up_to() -> None:
    flow = Dataflow(Doing("scan"), shared=8, tick_s=1.0)
    assert planned(flow, SparkDra(), 2)[-1] == 8
    running(flow, 100, since_s=2.0)
    assert planned(flow, SparkDra(), 1)[-1] == 9


def test_four_slots_need_a_quarter_of_the_executors() -> None:
    flow = Dataflow(Doing("scan"), shared=1, slots=4, tick_s=1.0)
    running(flow, 20)
    assert planned(flow, SparkDra(), 8)[-1] == 5
    assert planned(flow, SparkDra(allocation_ratio=0.5), 8)[-1] == 3


def test_as_soon_as_nobody_waits_the_next_step_is_one_again() -> None:
    flow = Dataflow(Doing("scan"), shared=4, tick_s=1.0)
    running(flow, 40)
    # The target was 1 before: the first step goes from the four that are there, and is no doubling.
    assert planned(flow, SparkDra(), 2)[-2:] == [5, 6]
    running(flow, 4)
    assert planned(flow, SparkDra(), 1)[-1] == 4
    running(flow, 40)
    assert planned(flow, SparkDra(), 2)[-2:] == [5, 7]


def test_after_a_time_in_which_nobody_waited_the_first_wait_begins_anew() -> None:
    flow = Dataflow(Doing("scan"), shared=4, tick_s=1.0)
    running(flow, 40)
    flow.passes(2)
    running(flow, 4)
    flow.passes(1)
    running(flow, 40, since_s=3.6)
    assert planned(flow, SparkDra(), 2)[-2:] == [4, 5]


def test_tasks_of_stages_that_have_not_begun_do_not_wait_yet() -> None:
    flow = Dataflow(
        Doing("scan", tasks=10), Doing("count", after=("scan",), tasks=30), shared=1, tick_s=1.0
    )  # fmt: skip
    running(flow, 40, done=4)
    assert planned(flow, SparkDra(), 9)[-1] == 6
    running(flow, 40, done=10)
    assert planned(flow, SparkDra(), 9)[-1] == 30


def resting(flow: Dataflow, busy: tuple[int, ...]) -> Observation:
    """The last look, where only some workers run a task."""
    pool = flow.now.pools[0]
    workers = tuple(replace(w, running_tasks=int(number in busy)) for number, w in enumerate(pool.workers))
    flow.looks[-1] = replace(flow.now, pools=(replace(pool, workers=workers),))
    return flow.now


def test_an_executor_idle_for_a_minute_goes_first_and_others_stay() -> None:
    flow = Dataflow(Doing("scan"), shared=4, tick_s=10.0)
    planner = Planner(SparkDra(), {}, EVERYTHING)
    made = None
    for _ in range(7):
        flow.passes(10)
        made = planner.plan(resting(flow, busy=(0,))).decision
        if flow.at_s < 60:
            assert made.allocation == {"executors": 4}, "a lower target alone removes nobody"
    assert made is not None
    assert made.allocation == {"executors": 1}
    assert made.leave_first == ("1", "2", "3")


def test_short_gaps_between_batches_are_no_idleness() -> None:
    flow = Dataflow(Doing("scan", in_rps=100.0), shared=4, tick_s=10.0)
    for _ in range(30):
        flow.batch(5.0)
        flow.passes(10)
        resting(flow, busy=())
    assert flow.plans(SparkDra())[-1].allocation == {"executors": 4}


def test_idle_executors_below_the_target_stay() -> None:
    flow = Dataflow(Doing("scan"), shared=4, tick_s=10.0)
    running(flow, 40)
    flow.passes(10)
    running(flow, 3)
    for _ in range(12):
        flow.passes(10)
        resting(flow, busy=())
    assert flow.plans(SparkDra())[-1].allocation == {"executors": 3}


def test_it_grows_while_tasks_wait_and_never_shrinks_while_batches_follow_each_other() -> None:
    app = application(initial_workers=2, max_workers=12)
    sizes = tell(app, "constant(20k)", "spark-dra", minutes=20, tick_s=1.0).ready()
    # 28 slot-seconds of work every ten seconds: three executors would do.
    assert sizes[-1] >= 8
    assert sizes == sorted(sizes)


def test_unknown_tasks_are_a_hold() -> None:
    flow = Dataflow(Doing("scan"), shared=2)
    flow.running = RunningBatch(id=1, started_s=0.0)
    flow.passes(15)
    decision = flow.decides(SparkDra())
    assert (decision.kind, decision.reason) == ("hold", "it is not known how many tasks the running batch has")


def test_it_cannot_run_where_there_are_no_batches() -> None:
    assert fit(SparkDra().needs, EVERYTHING - {Signal.BATCHES}).sentence() == "cannot run: no batches"


@pytest.mark.parametrize("settings", [{"backlog_timeout_s": 0.0}, {"allocation_ratio": 0.0}, {"allocation_ratio": 2.0}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="policy spark-dra: "):
        SparkDra(**settings)


def test_a_worker_that_worked_since_the_last_look_was_idle_no_earlier_than_that() -> None:
    policy, memory = SparkDra(), SparkDra().start()
    flow = Dataflow(Doing("scan"), shared=1, tick_s=10.0)
    for records in (5.0, 9.0, 9.0):
        now = flow.passes(10)
        worker = Worker(id="0", state="ready", since_s=0.0, running_tasks=0, records=Reading(records, now.at_s))
        now = replace(now, pools=(replace(now.pools[0], workers=(worker,)),))
        memory = policy.learn(memory, now, None)
    assert memory["idle"]["executors/0"]["since_s"] == 10.0
