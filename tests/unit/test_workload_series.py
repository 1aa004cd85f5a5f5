import math

import numpy as np
import pytest

from elastream.core.errors import BadInput
from elastream.workloads import RateSeries


def steps(*rates: float, step_s: float = 10.0) -> RateSeries:
    return RateSeries.steps(rates, step_s=step_s, duration_s=step_s * len(rates))


def test_a_rate_holds_until_the_next_one_and_the_last_for_good() -> None:
    series = steps(5, 0, 20)
    assert [series.rate(t) for t in (0, 9.9, 10, 20, 1e6)] == [5, 5, 0, 20, 20]


def test_nothing_arrives_before_time_zero() -> None:
    assert (steps(5).rate(-1), steps(5).arrived(-1)) == (0, 0)


def test_arrivals_are_the_integral_of_the_rate() -> None:
    series = steps(5, 0, 20)
    assert [series.arrived(t) for t in (0, 4, 10, 15, 20, 21, 40)] == [0, 20, 50, 50, 50, 70, 450]


def test_many_times_at_once_give_the_same_answers_as_one_by_one() -> None:
    series = steps(5, 0, 20, 3)
    times = np.array([-1.0, 0.0, 4.0, 10.0, 15.0, 20.0, 40.0, 100.0])
    assert series.rate(times).tolist() == [series.rate(t) for t in times.tolist()]
    assert series.arrived(times).tolist() == [series.arrived(t) for t in times.tolist()]
    counts = np.array([[0.0, 10.0], [50.0, 51.0]])
    assert series.when(counts).tolist() == [[0.0, 2.0], [10.0, 20.05]]


def test_when_is_the_earliest_time_at_which_so_many_had_arrived() -> None:
    series = steps(5, 0, 20)
    assert [series.when(n) for n in (-1, 0, 5, 50, 70, 250, 450)] == [0, 0, 1, 10, 21, 30, 40]


def test_records_that_never_arrive_arrive_at_infinity() -> None:
    assert steps(5, 0).when(50) == 10
    assert steps(5, 0).when(50.1) == math.inf


def test_mean_and_maximum_speak_about_the_duration_only() -> None:
    series = RateSeries(np.array([0.0, 10.0, 20.0]), np.array([4.0, 8.0, 100.0]), 20.0)
    assert (series.mean_rps, series.max_rps) == (6, 8)


def test_sums_and_products_change_wherever_a_part_changes() -> None:
    a, b = steps(1, 2, step_s=10), steps(10, 20, 30, step_s=4)
    assert (a + b).times_s.tolist() == [0, 4, 8, 10]
    assert (a + b).rates.tolist() == [11, 21, 31, 32]
    assert (a * b).rates.tolist() == [10, 20, 30, 60]
    assert (3 * a).rates.tolist() == (a * 3.0).rates.tolist() == [3, 6]


def test_equal_series_are_equal_and_hash_alike() -> None:
    assert steps(1, 2) == steps(1, 2)
    assert hash(steps(1, 2)) == hash(steps(1, 2))
    assert steps(1, 2) != steps(1, 3)


def test_a_series_cannot_be_changed_from_outside() -> None:
    rates = np.array([1.0])
    series = RateSeries(np.array([0.0]), rates, 1.0)
    rates[0] = 5.0
    assert series.rate(0) == 1
    with pytest.raises(ValueError, match="read-only"):
        series.rates[0] = 5.0


@pytest.mark.parametrize(
    ("times", "rates", "duration_s", "message"),
    [
        ([], [], 1, "it has no rates at all"),
        ([0.0], [], 1, "1 times for 0 rates"),
        ([1.0], [1.0], 1, "it starts at 1 s"),
        ([math.nan], [1.0], 1, "it starts at nan s"),
        ([0.0, 5.0, 5.0], [1.0, 1.0, 1.0], 1, "5 s follows 5 s"),
        ([0.0, math.nan], [1.0, 1.0], 1, "nan s follows 0 s"),
        ([0.0, math.inf], [1.0, 1.0], 1, "inf s follows 0 s"),
        ([0.0, 5.0], [1.0, -2.0], 1, "the rate at 5 s is -2"),
        ([0.0, 5.0], [1.0, math.nan], 1, "the rate at 5 s is nan"),
        ([0.0], [math.inf], 1, "the rate at 0 s is inf"),
        ([0.0], [1.0], 0, "a duration of 0 s"),
        ([0.0], [1.0], math.nan, "a duration of nan s"),
    ],
)
def test_impossible_rates_are_refused_with_their_place(
    times: list[float], rates: list[float], duration_s: float, message: str
) -> None:
    with pytest.raises(BadInput, match=f"rate series: .*{message}"):
        RateSeries(np.array(times), np.array(rates), duration_s)


def test_a_record_of_which_a_part_came_before_a_silence_has_not_waited_through_it() -> None:
    # 100.3 records come in ten seconds, none for a thousand, and then ten in each second.
    series = RateSeries(np.array([0.0, 10.0, 1010.0]), np.array([10.03, 0.0, 10.0]), 1100.0)
    before, after = series.pieces(0, 100), series.pieces(100, 150)
    assert [records for *_, records in before] == [100]
    assert sum(records for *_, records in after) == 50
    assert min(start_s for start_s, _, _ in after) == 1010.0
    # In one stretch, what came before the silence is whole records.
    assert [round(records, 6) for *_, records in series.pieces(50, 150)] == [50, 50]
