"""One-pass moments and lines give what a library gives that keeps all numbers."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elastream.estimators.moments import Moments
from elastream.estimators.regression import Regression

numbers = st.floats(-1e6, 1e6, allow_nan=False)


def moments(values: list[float]) -> Moments:
    found = Moments()
    for value in values:
        found = found.add(value)
    return found


@given(st.lists(numbers, min_size=2, max_size=50))
def test_mean_and_variance_are_those_of_numpy(values: list[float]) -> None:
    found = moments(values)
    assert found.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-6)
    assert found.variance == pytest.approx(np.var(values, ddof=1), rel=1e-6, abs=1e-6)
    assert found.deviation == pytest.approx(np.std(values, ddof=1), rel=1e-6, abs=1e-3)


def test_a_large_offset_does_not_eat_the_variance() -> None:
    assert moments([1e9 + value for value in (4.0, 7.0, 13.0, 16.0)]).variance == pytest.approx(30.0)


def test_of_nothing_and_of_one_number_there_is_no_variance() -> None:
    assert Moments().variance == 0.0
    assert moments([5.0]).variance == 0.0


@given(st.lists(st.tuples(numbers, numbers), min_size=2, max_size=50))
def test_covariance_is_that_of_numpy(points: list[tuple[float, float]]) -> None:
    found = Regression.of(points)
    matrix = np.cov(np.array(points).T)
    assert found.variance_x == pytest.approx(matrix[0, 0], rel=1e-6, abs=1e-3)
    assert found.products / (found.n - 1) == pytest.approx(matrix[0, 1], rel=1e-6, abs=1e-3)


def test_the_line_is_that_of_polyfit() -> None:
    random = np.random.default_rng(5)
    x = random.uniform(0.2, 0.9, 61)
    y = 8_000 * x + 150 + random.normal(0, 40, 61)
    slope, intercept = np.polyfit(x, y, 1)
    line = Regression.of(list(zip(x.tolist(), y.tolist(), strict=True)))
    assert line.slope == pytest.approx(slope)
    assert line.at(1.0) == pytest.approx(slope + intercept)
    assert line.explained == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)


def test_points_above_each_other_have_no_line() -> None:
    line = Regression.of([(0.5, 1.0), (0.5, 2.0)])
    assert line.slope is None
    assert line.at(1.0) is None
    assert line.explained == 0.0


def test_both_survive_json() -> None:
    line, usual = Regression.of([(0.1, 5.0), (0.4, 9.0)]), moments([1.0, 4.0])
    assert Regression(*json.loads(json.dumps(line))) == line
    assert Moments(*json.loads(json.dumps(usual))) == usual
