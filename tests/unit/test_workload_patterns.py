import numpy as np
import pytest

from elastream.core.errors import BadInput
from elastream.workloads import (
    Constant,
    Convergence,
    Cosine,
    Decreasing,
    Increasing,
    Pattern,
    Ramp,
    RandomWalk,
    RateSeries,
    Sine,
    Spike,
    Spikes,
    Step,
    workloads,
)

HOUR_S = 3600.0


def drawn(workload: Pattern, *, duration_s: float = HOUR_S, seed: int = 1) -> RateSeries:
    return workload.series(duration_s=duration_s, seed=seed)


def test_constant_never_changes() -> None:
    assert drawn(Constant(rps=5)).rates.tolist() == [5]


def test_a_step_changes_once() -> None:
    series = drawn(Step(from_rps=1000, to_rps=4000, at_s=600))
    assert [series.rate(t) for t in (0, 599.9, 600, 9999)] == [1000, 1000, 4000, 4000]


def test_a_ramp_brings_as_many_records_as_its_straight_line() -> None:
    series = drawn(Ramp(from_rps=0, to_rps=600, at_s=60, for_s=600))
    assert series.rate(30) == 0
    assert series.arrived(660) == pytest.approx(600 * 600 / 2)
    assert series.rate(700) == 600


def test_a_cosine_starts_at_its_crest_and_a_sine_half_way_up() -> None:
    cosine, sine = drawn(Cosine(low_rps=200, high_rps=2200)), drawn(Sine(low_rps=200, high_rps=2200))
    assert [cosine.rate(t) for t in (0, 900, 1800, 2700)] == pytest.approx([2200, 1200, 200, 1200])
    assert [sine.rate(t) for t in (0, 900, 1800, 2700)] == pytest.approx([1200, 2200, 1200, 200])
    assert [cosine.mean_rps, sine.mean_rps] == pytest.approx([1200, 1200])


def test_a_shifted_wave_starts_later_in_its_period() -> None:
    assert drawn(Cosine(low_rps=0, high_rps=2, shift_s=1800)).rate(0) == 0


def test_noise_stays_within_its_bound_and_rates_above_zero() -> None:
    quiet, noisy = drawn(Cosine(low_rps=0, high_rps=1000)), drawn(Cosine(low_rps=0, high_rps=1000, noise_rps=100))
    assert np.abs(noisy.rates - quiet.rates).max() <= 100
    assert noisy.rates.min() == 0


def test_a_walk_keeps_to_its_bounds_and_to_its_largest_steps() -> None:
    rates = drawn(RandomWalk(start_rps=50, rise_rps=20, fall_rps=10, low_rps=20, high_rps=90, step_s=1)).rates
    assert rates[0] == 50
    assert rates.min() >= 20
    assert rates.max() == 90
    assert np.diff(rates).max() <= 20
    assert np.diff(rates).min() >= -10


def test_every_increasing_load_arrives_where_it_should() -> None:
    for seed in range(20):
        series = drawn(Increasing(from_rps=100, to_rps=1000, over_s=3000), seed=seed)
        assert (series.rate(0), series.rate(3000)) == (100, 1000)
        assert series.rates.min() >= 100
        assert series.rates.max() <= 1000


def test_a_decreasing_load_without_wandering_is_a_straight_line_after_its_hold() -> None:
    series = drawn(Decreasing(from_rps=1000, to_rps=0, over_s=3000, hold_s=1000, wander=0, step_s=100))
    assert [series.rate(t) for t in (0, 1000, 2000, 3000, 3500)] == pytest.approx([1000, 1000, 500, 0, 0])


def test_convergence_holds_its_levels() -> None:
    series = drawn(Convergence(levels_rps=(0, 20, 10), first_s=10, each_s=40))
    assert [series.rate(t) for t in (0, 9, 10, 49, 50, 500)] == [0, 0, 20, 20, 10, 10]


def test_a_spike_has_a_beginning_and_an_end() -> None:
    series = drawn(Spike(rps=100, at_s=60, for_s=30, base_rps=1))
    assert [series.rate(t) for t in (0, 60, 89, 90)] == [1, 100, 100, 1]
    assert drawn(Spike(rps=100, at_s=0, for_s=30)).rates.tolist() == [100, 0]


def test_random_spikes_come_about_as_often_as_their_chance_says() -> None:
    rates = drawn(Spikes(low_rps=10, high_rps=20, chance=0.05, longest_s=1, step_s=1), duration_s=20_000).rates
    assert np.mean(rates > 0) == pytest.approx(0.05, rel=0.1)
    assert rates[rates > 0].min() >= 10
    assert rates.max() <= 20


def test_random_spikes_are_no_longer_than_allowed() -> None:
    # Nearly always a burst: where one ends the next one begins with another height.
    rates = drawn(Spikes(low_rps=10, high_rps=20, chance=1, longest_s=5, step_s=1), duration_s=5000).rates
    lengths = np.diff(np.flatnonzero(np.diff(rates, prepend=-1.0)))
    assert set(lengths.tolist()) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("name", workloads.presets())
def test_the_start_of_a_load_does_not_depend_on_how_long_it_runs(name: str) -> None:
    short, long = (drawn(workloads.build(name), duration_s=d).rates for d in (HOUR_S, 2 * HOUR_S))
    assert np.array_equal(short, long[: len(short)])


def test_a_part_keeps_its_noise_whatever_stands_beside_it() -> None:
    wave, bursts = Cosine(low_rps=500, high_rps=1000, noise_rps=100, step_s=60), Spikes(low_rps=1, high_rps=9)
    alone = drawn(wave)
    doubled = drawn(Constant(rps=2) * wave)
    assert np.array_equal(doubled.rates, alone.rates * 2)
    assert np.allclose(drawn(bursts + wave).rates - drawn(bursts).rates, alone.rates)
    assert np.allclose(drawn(wave + bursts).rates - drawn(bursts).rates, alone.rates)


def test_two_equal_parts_have_noise_of_their_own() -> None:
    wave = Cosine(low_rps=500, high_rps=500, noise_rps=100, step_s=60)
    assert not np.allclose(drawn(wave + wave).rates, drawn(wave).rates * 2)


def test_the_same_seed_gives_the_same_bytes_on_every_machine() -> None:
    rates = drawn(Cosine(low_rps=200e3, high_rps=2.2e6, noise_rps=100e3, step_s=60), duration_s=180, seed=7).rates
    assert rates.tolist() == [2133623.352354, 2292964.643298, 2189283.8757]


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("constant", {"rps": -1}, "workload constant: rps: found -1; it must be greater than or equal to 0"),
        ("constant", {"rps": float("nan")}, "workload constant: rps: found nan; it must be a finite number"),
        ("cosine", {"low": 3, "high": 1}, "workload cosine: low 3 is above high 1"),
        ("cosine", {"low": 1, "high": 2, "period": 0}, "workload cosine: period: found 0; it must be greater than 0"),
        ("increasing", {"from": 3, "to": 1}, "workload increasing: from 3 is above to 1"),
        ("decreasing", {"from": 1, "to": 3}, "workload decreasing: from 1 is below to 3"),
        (
            "decreasing",
            {"from": 3, "to": 1, "over": 60, "hold": 60},
            "workload decreasing: on hold for 60 s; it must be less than the 60 s of the whole way",
        ),
        ("random", {"start": 5, "rise": 1, "fall": 1, "high": 4}, "workload random: start 5 is not within 0..4"),
        ("spikes", {"low": 3, "high": 1}, "workload spikes: low 3 is above high 1"),
        ("convergence", {"levels": []}, "workload convergence: it has no levels; give at least one rate"),
    ],
)
def test_impossible_settings_are_refused(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput) as caught:
        workloads.build(name, settings)
    assert str(caught.value) == message


def test_a_pattern_made_in_code_is_checked_too() -> None:
    with pytest.raises(BadInput, match="workload spike: for: found 0"):
        Spike(rps=1, for_s=0)


@pytest.mark.parametrize(
    ("duration_s", "seed"), [(0.0, 1), (-1.0, 1), (float("nan"), 1), (float("inf"), 1), (60.0, -1)]
)
def test_impossible_runs_are_refused(duration_s: float, seed: int) -> None:
    with pytest.raises(BadInput, match="workload: "):
        Constant(rps=1).series(duration_s=duration_s, seed=seed)


def test_steps_too_short_for_the_run_are_refused_before_they_fill_the_memory() -> None:
    with pytest.raises(BadInput, match="are too many; make them longer"):
        drawn(Sine(low_rps=0, high_rps=1, step_s=1e-6))


@pytest.mark.parametrize("name", workloads.names())
def test_every_setting_is_explained(name: str) -> None:
    assert workloads.doc(name).endswith(".")
    assert all(one.doc for one in workloads.settings(name))
