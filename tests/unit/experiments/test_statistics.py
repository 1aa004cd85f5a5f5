"""Intervals, paired differences and ranks: against tables, and small cases worked out by hand."""

import math

import numpy as np
import pytest

from elastream.experiments.statistics import (
    ConfidenceInterval,
    estimate,
    estimate_difference,
    estimate_share,
    find_chi_square_tail,
    find_studentized_range,
    find_t,
    rank_over,
)


def test_an_interval_is_the_mean_and_as_many_errors_as_student_says() -> None:
    # Deviation 1, so that the error of the mean is 1 / sqrt(3) and reaches 4.303 times as far on either side.
    found = estimate([1.0, 2.0, 3.0])
    assert found.interval is not None
    reach = 4.303 / math.sqrt(3)
    assert found.mean == 2.0
    # Samples are drawn, 10,000 of them: their error is known to a hundredth.
    assert found.interval.low == pytest.approx(2 - reach, abs=0.03 * reach)
    assert found.interval.high == pytest.approx(2 + reach, abs=0.03 * reach)
    assert found.variation == pytest.approx(0.5)


def test_a_share_that_is_the_same_in_all_cases_is_not_known_for_all_that() -> None:
    """Wilson's intervals of 10 of 10, of 5 of 10 and of none of 10, from tables."""
    for cases, low, high in ((10, 0.7225, 1.0), (5, 0.2366, 0.7634), (0, 0.0, 0.2775)):
        found = estimate_share([1.0] * cases + [0.0] * (10 - cases))
        assert found.mean == cases / 10
        assert found.interval is not None
        assert found.interval.low == pytest.approx(low, abs=1e-4)
        assert found.interval.high == pytest.approx(high, abs=1e-4)


def test_the_same_repetitions_give_the_same_interval() -> None:
    assert estimate([1.0, 5.0, 2.5]) == estimate([1.0, 5.0, 2.5])


def test_one_repetition_has_no_interval_and_no_variation() -> None:
    found = estimate([4.2])
    assert (found.mean, found.interval, found.variation) == (4.2, None, None)


def test_what_never_varies_is_known() -> None:
    found = estimate([0.1, 0.1, 0.1])
    assert (found.interval, found.variation) == (ConfidenceInterval(found.mean, found.mean), 0.0)
    assert estimate([0.0, 0.0]).variation is None


def test_an_interval_holds_nothing_that_cannot_be() -> None:
    found = estimate([0.99, 1.0, 0.7], least=0.0, most=1.0)
    assert found.interval is not None
    assert found.interval.high == 1.0


@pytest.mark.parametrize("repetitions", [2, 3, 5])
def test_an_interval_holds_the_true_mean_as_often_as_it_says(repetitions: int) -> None:
    generator = np.random.default_rng(1)
    held = 0
    for _ in range(300):
        interval = estimate(generator.normal(10.0, 1.0, repetitions).tolist()).interval
        assert interval is not None
        held += interval.low <= 10.0 <= interval.high
    assert 0.91 <= held / 300 <= 0.985


def test_a_difference_is_taken_seed_by_seed() -> None:
    # Seeds differ by far more than policies do: unpaired, nothing could be said.
    load = {0: 10.0, 1: 50.0, 2: 90.0}
    other = {0: 11.0, 1: 51.1, 2: 90.9, 7: 1000.0}
    found = estimate_difference(other, load)
    assert found is not None
    assert found.interval is not None
    assert (found.repetitions, found.interval.excludes_zero) == (3, True)
    assert found.mean == pytest.approx(1.0)
    assert estimate_difference({0: 1.0}, {1: 1.0}) is None


@pytest.mark.parametrize(("interval", "excludes"), [((0.1, 2.0), True), ((-2.0, -0.1), True), ((-0.1, 2.0), False)])
def test_a_difference_is_shown_where_zero_is_excluded(interval: tuple[float, float], excludes: bool) -> None:
    assert ConfidenceInterval(*interval).excludes_zero is excludes


def test_student_s_t_is_that_of_the_tables() -> None:
    assert [round(find_t(freedom), 3) for freedom in (1, 2, 4, 9, 19)] == [12.706, 4.303, 2.776, 2.262, 2.093]


def test_nemenyi_s_factor_is_that_of_the_tables() -> None:
    found = [find_studentized_range(count) / math.sqrt(2) for count in range(2, 11)]
    expected = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    assert found == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(("freedom", "value"), [(1, 3.841), (2, 5.991), (3, 7.815), (4, 9.488), (5, 11.070)])
def test_chi_square_is_that_of_the_tables(freedom: int, value: float) -> None:
    assert find_chi_square_tail(value, freedom) == pytest.approx(0.05, abs=1e-4)


def test_ranks_over_workloads_as_worked_by_hand() -> None:
    # Three contenders on four workloads: rank sums 4, 8 and 12, so that chi-square is 12 / (4 * 3 * 4) * 224 - 48 = 8.
    found = rank_over([{"a": 1.0, "b": 2.0, "c": 3.0}] * 4)
    assert found is not None
    assert found.ranks == {"a": 1.0, "b": 2.0, "c": 3.0}
    assert found.p_value == pytest.approx(math.exp(-4.0))
    assert found.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / (6 * 4)), abs=0.001)


def test_equal_contenders_share_their_places() -> None:
    found = rank_over([{"a": 1.0, "b": 1.0, "c": 5.0}, {"a": 2.0, "b": 2.0, "c": 2.0}])
    assert found is not None
    assert found.ranks == {"a": 1.75, "b": 1.75, "c": 2.5}
    alike = rank_over([{"a": 1.0, "b": 1.0}] * 3)
    assert alike is not None
    assert alike.p_value == 1.0


def test_who_is_missing_somewhere_is_not_ranked_and_one_workload_ranks_nobody() -> None:
    found = rank_over([{"a": 1.0, "b": 2.0, "c": 3.0}, {"a": 2.0, "b": 1.0}])
    assert found is not None
    assert found.ranks == {"a": 1.5, "b": 1.5}
    assert rank_over([{"a": 1.0, "b": 2.0}]) is None


def test_thousands_of_repetitions_fit_the_memory_and_know_their_error() -> None:
    values = np.random.default_rng(2).normal(10.0, 1.0, 4_000)
    interval = estimate(values.tolist()).interval
    assert interval is not None
    assert (interval.high - interval.low) / 2 == pytest.approx(1.96 / math.sqrt(4_000), rel=0.1)
