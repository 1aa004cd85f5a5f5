"""What an engine is expected to do with records, in numbers that can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from elastream.policies.foresight.plant import BatchNow, BatchPlant, StreamPlant, distinct

# A batch takes 1 s, and a millisecond for each row over the size.
BATCHES = BatchPlant(
    sizes=np.array([1.0, 2.0, 4.0]),
    fixed_s=np.array([1.0, 1.0, 1.0]),
    row_s=np.array([1e-3, 5e-4, 2.5e-4]),
    trigger_s=10.0,
    noise=0.0,
    bound_s=30.0,
)
STREAM = StreamPlant(
    sizes=np.array([1.0, 2.0]),
    rates_rps=np.array([1_000.0, 2_000.0]),
    grow_s=30.0,
    shrink_s=15.0,
    replay_s=0.0,
    base_s=0.0,
    bound_s=60.0,
)


def rps(value: float) -> np.ndarray:
    return np.full((1, 1), value)


def test_batches_come_to_rest_where_one_takes_as_long_as_its_rows_took_to_come() -> None:
    # x = 1 + 0.9 x at one executor; at two, 1 + 0.45 x is shorter than the trigger's interval.
    assert BATCHES.rest_s(900.0) == pytest.approx([10.0, 10.0, 10.0])
    asap = replace(BATCHES, trigger_s=0.0)
    assert asap.rest_s(900.0) == pytest.approx([10.0, 1 / 0.55, 1 / 0.775])
    assert np.isinf(asap.rest_s(1_000.0)[0])


def test_a_size_keeps_up_if_its_batches_leave_records_on_time_at_rest() -> None:
    assert BATCHES.keeps_up(900.0).tolist() == [True, True, True]
    # 1 + 0.95 x comes to rest at 20 s: those that came first have waited for 40.
    assert BATCHES.keeps_up(950.0).tolist() == [False, True, True]
    assert BATCHES.keeps_up(2_500.0).tolist() == [False, False, True]


def test_some_time_at_a_size_leads_towards_rest() -> None:
    age, load = np.full((3, 1), 25.0), rps(900.0)
    one, two, four = BATCHES.step(age, load, load, 60.0).age_s[:, 0]
    assert 10.0 < one < 25.0
    assert two == four == 10.0
    assert BATCHES.step(age, load, rps(1_500.0), 60.0).age_s[0, 0] > 25.0


def test_records_are_late_that_waited_for_a_batch_and_its_own_for_longer_than_the_bound() -> None:
    # At rest at 900/s on one executor a batch of 10 s takes 10 s: nobody waits for longer than 20.
    load = rps(900.0)
    assert BATCHES.step(np.full((3, 1), 10.0), load, load, 10.0).late[0, 0] == 0
    assert BATCHES.step(np.full((3, 1), 25.0), load, load, 10.0).late[0, 0] > 0.3 * 9_000


def moment(**changes: object) -> BatchNow:
    now = BatchNow(
        ready=0,
        rows=4_000.0,
        elapsed_s=2.0,
        waiting=1_800.0,
        oldest_s=10.0,
        waiting_age_s=2.0,
        next_trigger_s=8.0,
        coming_s=np.array([0.0, 5.0, 5.0]),
    )
    return replace(now, **changes)  # type: ignore[arg-type]


def test_the_running_batch_ends_sooner_by_what_executors_do_that_are_there_in_time() -> None:
    # It takes 5 s, of which 2 are over: nobody comes before its end.
    assert moment().left_s(BATCHES) == pytest.approx([3.0, 3.0, 3.0])
    # One of 21 s has 14 s left when they come: half of it at 11/21 of the time.
    long = moment(rows=20_000.0).left_s(BATCHES)
    assert long == pytest.approx([19.0, 5 + 14 * 11 / 21, 5 + 14 * 6 / 21])


def test_a_running_batch_that_loses_executors_takes_longer() -> None:
    left = moment(ready=2, coming_s=np.zeros(3)).left_s(BATCHES)
    # On four it takes 2 s, which are over; what is left is half a second.
    assert left[2] == pytest.approx(0.5)
    assert left[0] == pytest.approx(0.5 * 5 / 2)


def test_the_next_batch_has_what_waits_and_what_comes_until_it_may_begin() -> None:
    begin = BATCHES.begin(moment(), np.array([900.0]))
    # 1,800 and 8 s of 900/s: 9,000 rows, on one executor 10 s.
    assert begin.takes_s[0, 0] == pytest.approx(8 + 10)
    assert begin.delay_s[0, 0] == pytest.approx(2 + 8 + 10)
    assert begin.late[0, 0] == 0


def test_a_stream_falls_behind_by_what_it_cannot_do() -> None:
    step = STREAM.step(np.zeros((2, 1)), rps(1_500.0), rps(1_500.0), 30.0)
    assert step.age_s[:, 0] == pytest.approx([10.0, 0.0])


def test_a_change_stops_a_stream_and_what_waited_meanwhile_is_caught_up_with() -> None:
    step = STREAM.change(np.zeros((2, 1)), rps(1_000.0), rps(1_000.0), 50.0, grows=True)
    # After 30 s the oldest is 30 s old; in 20 s twice as many are done as come.
    assert step.age_s[:, 0] == pytest.approx([30.0, 10.0])
    assert step.late[:, 0].tolist() == [0, 0]


def test_records_of_a_stream_are_late_while_the_oldest_is_older_than_the_bound() -> None:
    step = STREAM.change(np.full((2, 1), 40.0), rps(1_000.0), rps(1_000.0), 50.0, grows=True)
    # From 40 to 70 s in 30 s: a third of that is beyond 60; then from 70 to 50 s in 20 s: a half.
    assert step.late[1, 0] == pytest.approx(10_000 + 10_000, rel=0.05)


def test_what_came_at_a_higher_rate_takes_longer_to_be_done() -> None:
    few, many = (STREAM.step(np.full((2, 1), 30.0), rps(came), rps(500.0), 10.0) for came in (1_000.0, 4_000.0))
    assert few.age_s[1, 0] == pytest.approx(20.0)
    assert many.age_s[1, 0] == pytest.approx(35.0)


def test_of_sizes_that_are_alike_only_the_smallest_is_worth_having() -> None:
    # Twelve tasks: seven slots need as many waves as six.
    waves = [12.0, 6.0, 4.0, 3.0, 3.0, 2.0, 2.0]
    assert distinct([1, 2, 3, 4, 5, 6, 7], waves, keep=(7,)) == [1, 2, 3, 4, 6, 7]
