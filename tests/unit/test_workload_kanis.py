"""The thesis prints neither series nor seeds: rules and statistics are compared, over many seeds."""

import numpy as np
import pytest

from elastream.workloads import kanis, workloads
from elastream.workloads.series import FloatArray

SEEDS = range(40)
MINUTES = np.arange(140)


def minutes(name: str, seed: int) -> FloatArray:
    series = workloads.build(name).series(duration_s=kanis.DURATIONS_S[name], seed=seed)
    return series.rate(np.arange(0, kanis.DURATIONS_S[name], 60.0))


def test_every_preset_has_a_duration() -> None:
    assert set(kanis.DURATIONS_S) == set(workloads.presets())
    assert kanis.DURATIONS_S["kanis-cosine"] == 140 * 60
    assert kanis.DURATIONS_S["kanis-convergence"] == 90 * 60


@pytest.mark.parametrize("name", [name for name in kanis.DURATIONS_S if name != "kanis-convergence"])
def test_one_value_is_held_for_each_minute(name: str) -> None:
    series = workloads.build(name).series(duration_s=8400, seed=1)
    assert np.array_equal(series.times_s, np.arange(140) * 60.0)


@pytest.mark.parametrize(
    ("name", "low", "high", "noise"),
    [
        ("kanis-cosine", 200e3, 2.2e6, 100e3),
        ("kanis-cosine-q3", 3e3, 33e3, 1.5e3),
        ("kanis-cosine-q5", 10e3, 110e3, 7.5e3),
    ],
)
def test_the_cosine_starts_at_its_maximum_and_falls_for_half_an_hour(
    name: str, low: float, high: float, noise: float
) -> None:
    rates = np.array([minutes(name, seed) for seed in SEEDS])
    expected = (low + high) / 2 + (high - low) / 2 * np.cos(2 * np.pi * MINUTES / 60)
    assert expected[0] == high
    assert expected[30] == low
    moved = rates - expected
    assert np.abs(moved).max() <= noise + 1e-6
    assert moved.mean() == pytest.approx(0, abs=noise / 20)
    assert moved.std() == pytest.approx(noise / np.sqrt(3), rel=0.05)


def test_the_random_walk_starts_in_the_middle_and_stays_under_its_cap() -> None:
    rates = np.array([minutes("kanis-random", seed) for seed in SEEDS])
    assert set(rates[:, 0]) == {1.25e6}
    assert (rates.min(), rates.max()) == (0, 2.5e6)
    changes = np.diff(rates)
    assert np.abs(changes).max() <= 500e3
    free = changes[(rates[:, 1:] > 0) & (rates[:, 1:] < 2.5e6)]
    assert np.abs(free).max() > 490e3
    assert free.mean() == pytest.approx(0, abs=20e3)


def test_the_increasing_load_goes_from_nothing_to_two_and_a_half_million() -> None:
    rates = np.array([minutes("kanis-increasing", seed) for seed in SEEDS])
    assert set(rates[:, 0]) == {0}
    assert rates[:, -1].min() > 2.2e6
    assert rates.max() == 2.5e6
    assert rates[:, 70].mean() == pytest.approx(1.25e6, rel=0.1)
    assert (np.diff(rates) < 0).mean() > 0.2, "it increases randomly, not steadily"


def test_the_decreasing_load_stays_high_for_one_half_and_ends_near_zero() -> None:
    rates = np.array([minutes("kanis-decreasing", seed) for seed in SEEDS])
    assert set(rates[:, 0]) == {2.5e6}
    assert np.median(rates[:, :70].mean(axis=1)) > 2.35e6
    assert rates[:, -1].max() < 0.15e6


def test_the_code_s_decreasing_load_has_lost_almost_half_by_the_middle() -> None:
    rates = np.array([minutes("kanis-decreasing-code", seed) for seed in SEEDS])
    assert rates[:, 70].mean() == pytest.approx(1.46e6, rel=0.15)
    assert np.diff(rates).max() <= 2.5e6 / 28
    assert np.diff(rates).min() >= -2.5e6 / 21


def test_the_code_s_increasing_load_draws_steps_that_mostly_rise() -> None:
    rates = np.array([minutes("kanis-increasing-code", seed) for seed in SEEDS])
    assert set(rates[:, 0]) == {0}
    assert rates[:, -1].mean() > 1.9e6
    assert np.diff(rates).max() <= 2.5e6 / 22
    assert np.diff(rates).min() >= -2.5e6 / 30


def test_the_convergence_load_has_three_stages() -> None:
    assert minutes("kanis-convergence", 1).tolist() == [0.0] * 10 + [2e6] * 40 + [1e6] * 40
