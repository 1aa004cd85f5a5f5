"""What use is full, from batches that left records behind."""

import json
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.observation import (
    FinishedBatch,
    Observation,
    OperatorWork,
    Reading,
    RunningBatch,
    RunningStage,
    Trigger,
    Worker,
)
from elastream.core.topology import Operator, Topology
from elastream.estimators.full_use import NOT_LEARNED, Full, FullUse, Metric, after, full, start
from elastream.estimators.waves import Stage
from elastream.testing import POOL, observation, pool, query

TASKS = 24


def seen(
    at_s: float,
    *,
    workers: int = 8,
    busy: float,
    use: float | None = 0.8,
    finished: FinishedBatch | None = None,
    running: RunningBatch | None = None,
    interval_s: float | None = 10.0,
    wanted: int | None = None,
) -> Observation:
    """A look at some workers whose slots have been busy for `busy` seconds each so far."""
    sized = replace(
        pool(ready=workers, wanted=wanted),
        workers=tuple(
            Worker(id=str(n), state="ready", since_s=0.0, cpu=None if use is None else Reading(use, at_s))
            for n in range(workers)
        ),
        busy_slot_s=Reading(busy * workers, at_s),
    )
    cut = Topology(operators=(Operator(name="map", pool=POOL, partitions=TASKS),))
    asked = replace(
        query(at_s),
        topology=cut,
        trigger=Trigger(interval_s=interval_s),
        operators=(OperatorWork(name="map", tasks=TASKS, busy_s=Reading(1.0 + busy, at_s)),),
        finished=finished,
        running=running,
    )
    return observation(at_s, pools=(sized,), queries=(asked,))


def batch(number: int, started_s: float, for_s: float, *, critical: float = 0.4, **given: Any) -> FinishedBatch:
    """One whose longest tasks take this share of its time, and the driver a twentieth."""
    known: dict[str, Any] = {"rows": 100.0, "driver_s": 0.05 * for_s, "critical_s": critical * for_s} | given
    return FinishedBatch(id=number, started_s=started_s, ended_s=started_s + for_s, **known)


def learned(*looks: Observation) -> FullUse:
    state = start()
    for now in looks:
        state = after(state, now.pools[0], now)
    return state


def in_batches(*batches: FinishedBatch, use: float | None = 0.8, busy: float = 0.9, **given: Any) -> list[Observation]:
    """A look at the end of each, and one before the first."""
    times = [batches[0].started_s, *(one.ended_s for one in batches)]
    return [
        seen(at_s, busy=busy * at_s, use=use, finished=finished, **given)
        for at_s, finished in zip(times, [None, *batches], strict=True)
    ]


def levels(state: FullUse, metric: Metric = "cpu") -> dict[int, float]:
    now = seen(0.0, busy=0.0)
    return dict(full(state, now.pools[0], now.queries, metric).levels)


LATE = (batch(1, 10.0, 15.0), batch(2, 25.0, 16.0))


def test_as_long_as_nothing_was_learned_everything_is_full() -> None:
    now = seen(0.0, busy=0.0)
    assert full(None, now.pools[0], now.queries, "cpu") is NOT_LEARNED
    assert (NOT_LEARNED.at(3), NOT_LEARNED.size(3.2, 5), NOT_LEARNED.size(7 * 0.7 / 0.7, 7)) == (1.0, 4, 7)


def test_the_second_late_batch_in_a_row_shows_the_use_at_which_so_many_could_do_no_more() -> None:
    looks = in_batches(*LATE)
    assert levels(learned(*looks[:-1])) == {}
    state = learned(*looks)
    assert levels(state) == {8: pytest.approx(0.8)}
    assert levels(state, "busy") == {8: pytest.approx(0.9)}
    assert json.loads(json.dumps(state)) == state


@pytest.mark.parametrize(
    ("batches", "given"),
    [
        # In time.
        ((batch(1, 10.0, 9.0), batch(2, 20.0, 9.5)), {}),
        # Only the last one late.
        ((batch(1, 10.0, 9.0), batch(2, 20.0, 12.0)), {}),
        # The first batch loads classes, and one without rows cleans up.
        ((batch(0, 10.0, 15.0), batch(0, 25.0, 15.0)), {}),
        ((batch(1, 10.0, 15.0), batch(2, 25.0, 15.0, rows=0.0)), {}),
        # The longest tasks, or the driver, or nobody knows what: more workers would not help.
        ((batch(1, 10.0, 15.0), batch(2, 25.0, 15.0, critical=0.8)), {}),
        ((batch(1, 10.0, 15.0), batch(2, 25.0, 15.0, driver_s=8.0)), {}),
        ((batch(1, 10.0, 15.0), batch(2, 25.0, 15.0, critical_s=None)), {}),
        # A read limit that binds while there is time left.
        ((batch(1, 10.0, 4.0, limited=True), batch(2, 20.0, 4.0, limited=True)), {}),
        # Workers come.
        (LATE, {"wanted": 9}),
    ],
)
def test_nothing_else_shows_it(batches: tuple[FinishedBatch, ...], given: dict[str, Any]) -> None:
    assert levels(learned(*in_batches(*batches, **given))) == {}


def test_a_read_limit_that_binds_as_fast_as_batches_go_shows_it() -> None:
    short = (batch(1, 10.0, 2.0, limited=True), batch(2, 12.0, 2.0, limited=True))
    assert levels(learned(*in_batches(*short, use=0.45, interval_s=None))) == {8: pytest.approx(0.45)}
    free = (batch(1, 10.0, 2.0, limited=False), batch(2, 12.0, 2.0, limited=False))
    assert levels(learned(*in_batches(*free, use=0.45, interval_s=None))) == {}


def test_use_is_that_of_the_batch_wherever_the_looks_are() -> None:
    # Idle until 10 s, 0.9 from then on; looks at 4, 14, 24, ...: the one at 14 s covers 6 s of nothing.
    first, second = LATE
    looks = [seen(4.0, busy=0.0, use=0.0), seen(14.0, busy=3.6, use=0.36)]
    for at_s in (24.0, 34.0, 44.0):
        done = second if at_s >= second.ended_s else first if at_s >= first.ended_s else None
        looks.append(seen(at_s, busy=0.9 * (at_s - 10.0), use=0.9, finished=done))
    assert levels(learned(*looks)) == {8: pytest.approx(0.9)}


def test_workers_that_have_just_come_are_not_judged_by_a_batch_that_began_before_them() -> None:
    looks = [*in_batches(*LATE)]
    looks[1] = replace(looks[1], pools=(replace(looks[1].pools[0], ready=7, wanted=7),))
    assert levels(learned(*looks)) == {}


def test_what_is_full_is_averaged_with_what_was_seen_before_and_corrected_by_a_batch_that_shows_more() -> None:
    state = learned(*in_batches(*LATE))
    third = batch(3, 41.0, 14.0)
    now = seen(55.0, busy=0.9 * 55, use=0.6, finished=third)
    assert levels(after(state, now.pools[0], now)) == {8: pytest.approx(0.7)}
    in_time = batch(3, 41.0, 9.0)
    for use, level in ((0.86, 0.8), (0.95, 0.95)):
        now = seen(50.0, busy=0.9 * 50, use=use, finished=in_time)
        assert levels(after(state, now.pools[0], now)) == {8: pytest.approx(level)}


def test_without_processor_use_the_busy_share_alone_is_learned() -> None:
    state = learned(*in_batches(*LATE, use=None))
    assert not levels(state)
    assert levels(state, "busy") == {8: pytest.approx(0.9)}


def test_across_a_look_without_processor_use_none_is_learned() -> None:
    looks = in_batches(*LATE)
    looks[-1] = in_batches(*LATE, use=None)[-1]
    state = learned(*looks)
    assert not levels(state)
    assert levels(state, "busy") == {8: pytest.approx(0.9)}


def test_a_running_batch_that_is_late_shows_what_busy_slots_use_times_how_full_waves_are() -> None:
    # 24 tasks on 7 slots are four waves, of 28 places.
    waits = RunningStage(name="map", tasks=TASKS, done=4, running=7)
    running = RunningBatch(id=1, started_s=10.0, stages=(waits,))
    looks = [seen(at_s, workers=7, busy=0.5 * at_s, use=0.4, running=running) for at_s in (0.0, 10.0, 20.0, 30.0, 35.0)]
    assert levels(learned(*looks[:-1])) == {}
    assert levels(learned(*looks)) == {7: pytest.approx(0.8 * 24 / 28)}
    none_waits = replace(running, stages=(replace(waits, done=17),))
    looks[-1] = seen(35.0, workers=7, busy=17.5, use=0.4, running=none_waits)
    assert levels(learned(*looks)) == {}


def test_what_a_running_batch_showed_gives_way_to_what_a_whole_one_shows() -> None:
    waits = RunningStage(name="map", tasks=TASKS, done=4, running=8)
    first, second = batch(1, 10.0, 30.0), batch(2, 40.0, 30.0)
    looks = [
        seen(10.0, busy=0.0),
        seen(35.0, busy=20.0, running=RunningBatch(id=1, started_s=10.0, stages=(waits,))),
        seen(40.0, busy=24.0, finished=first),
    ]
    assert levels(learned(*looks)) == {8: pytest.approx(1.0)}
    looks.append(seen(70.0, busy=45.0, use=0.7, finished=second))
    assert levels(learned(*looks)) == {8: pytest.approx(0.7)}


def test_other_sizes_follow_from_how_full_waves_are_there_and_the_fewest_that_do_the_work_are_found() -> None:
    known = Full({8: 0.9}, 0.9, [Stage(tasks=TASKS, share=1.0)], 1)
    assert known.at(12) == pytest.approx(0.9)
    assert known.at(11) == pytest.approx(0.9 * 24 / 33)
    # 8 to 11 take three waves, 12 to 23 two: what is a little more than 8 can do takes 12.
    assert [known.size(workers, 8) for workers in (6.0, 7.9, 8.0, 8.1, 11.0, 12.0, 12.1)] == [6, 8, 8, 12, 12, 12, 24]


def test_beyond_what_tasks_keep_busy_the_plain_number_is_said() -> None:
    known = Full({8: 0.9}, 0.9, [Stage(tasks=TASKS, share=1.0)], 1)
    assert known.size(40.0, 8) == 40


def test_an_hour_of_looks_is_kept_within_bounds() -> None:
    running = RunningBatch(id=1, started_s=0.0, stages=())
    state = learned(*(seen(float(at_s), busy=0.8 * at_s, running=running) for at_s in range(1500)))
    assert len(state["points"]) <= 257
    late = [batch(n, 10.0 * n, 11.0) for n in range(1, 100)]
    state = start()
    for number, one in enumerate(late):
        now = seen(one.ended_s, workers=1 + number // 2, busy=0.0, finished=one)
        state = after(state, now.pools[0], now)
    assert len(state["levels"]) <= 64
