"""Capacity models: what one, two, three and more measurements of saturated workers can tell."""

import json
import math

import numpy as np
import pytest

from elastream.estimators.capacity import Saturated, linear, power_law
from elastream.estimators.least_squares import nonnegative


def gesscale(n: float, delay: float) -> float:
    return 30.0 * math.pow(n, 0.85) - 0.02 * delay


def measured(*places: tuple[float, float]) -> list[Saturated]:
    return [Saturated(n, gesscale(n, delay), delay) for n, delay in places]


def test_no_model_rests_on_nothing() -> None:
    assert linear([]) is None
    assert power_law([]) is None
    assert power_law([Saturated(3, 0.0)]) is None


def test_one_measurement_gives_the_rate_of_one_worker() -> None:
    model = power_law([Saturated(4, 100.0, 50.0)])
    assert model is not None
    assert (model.alpha, model.beta, model.gamma) == (25.0, 1.0, 0.0)
    assert model.rps(6, 300.0) == 150.0


def test_two_measurements_give_the_effect_of_delay_too() -> None:
    points = [Saturated(2, 2 * 30 - 0.1 * 20, 20.0), Saturated(4, 4 * 30 - 0.1 * 200, 200.0)]
    model = power_law(points)
    assert model is not None
    assert (model.alpha, model.beta, model.gamma) == pytest.approx((30.0, 1.0, 0.1))


def test_three_measurements_give_all_three_parameters() -> None:
    model = power_law(measured((1, 0), (3, 150), (6, 60)))
    assert model is not None
    assert (model.alpha, model.beta, model.gamma) == pytest.approx((30.0, 0.85, 0.02), rel=1e-4)


def test_more_measurements_are_all_fitted_and_noise_stays_noise() -> None:
    noise = np.random.default_rng(3).normal(1.0, 0.02, 8)
    points = measured((1, 5), (2, 40), (3, 150), (4, 60), (5, 200), (6, 300), (7, 100), (4, 250))
    noisy = [point._replace(rps=point.rps * float(share)) for point, share in zip(points, noise, strict=True)]
    model = power_law(noisy)
    assert model is not None
    for n, delay in ((2, 10), (5, 100), (7, 300)):
        assert model.rps(n, delay) == pytest.approx(gesscale(n, delay), rel=0.03)


def test_the_same_place_measured_twice_is_one_measurement() -> None:
    model = power_law([Saturated(4, 90.0, 10.0), Saturated(4, 110.0, 10.0)])
    assert model is not None
    assert (model.alpha, model.beta, model.gamma) == (25.0, 1.0, 0.0)


def test_delay_that_seems_to_help_is_taken_for_noise() -> None:
    model = power_law([Saturated(2, 50.0, 10.0), Saturated(4, 130.0, 200.0)])
    assert model is not None
    assert model.gamma == 0.0
    assert model.alpha == pytest.approx((2 * 50 + 4 * 130) / 20)


def test_workers_that_seem_to_help_each_other_are_taken_for_linear() -> None:
    model = power_law([Saturated(1, 10.0), Saturated(2, 25.0), Saturated(4, 60.0)])
    assert model is not None
    assert model.beta == 1.0


def test_a_capacity_is_never_negative() -> None:
    model = power_law(measured((1, 0), (3, 150), (6, 60)))
    assert model is not None
    assert model.rps(1, 1e6) == 0.0


def test_the_line_is_the_one_of_numpy() -> None:
    points = [Saturated(n, 10.0 * n + (-1) ** n) for n in range(1, 6)]
    slope = np.linalg.lstsq(np.array([[p.workers] for p in points]), np.array([p.rps for p in points]), rcond=None)[0]
    model = linear(points)
    assert model is not None
    assert model.per_worker_rps == pytest.approx(float(slope[0]))


def test_measurements_survive_json() -> None:
    points = measured((1, 0), (3, 150), (6, 60))
    again = [Saturated(*row) for row in json.loads(json.dumps(points))]
    assert power_law(again) == power_law(points)


def test_a_fit_without_negative_coefficients_is_the_ordinary_one_where_that_has_none() -> None:
    random = np.random.default_rng(1)
    columns = random.random((12, 3))
    values = columns @ np.array([1.0, 2.0, 0.5]) + random.normal(0, 0.01, 12)
    assert nonnegative(columns, values).coefficients == pytest.approx(np.linalg.lstsq(columns, values, rcond=None)[0])
    assert nonnegative(columns, -values).coefficients.tolist() == [0.0, 0.0, 0.0]
