"""Laws of scaling are found on curves that were made by them."""

from collections.abc import Sequence

import numpy as np
import pytest

from elastream.experiments.scalability.laws import LawName, fit_laws, rate_of, too_few

SIZES = (1, 2, 4, 6, 8, 12, 16)
MADE: dict[LawName, tuple[float, ...]] = {
    "amdahl": (1_000.0, 0.05), "universal": (1_000.0, 0.03, 0.004), "power": (1_000.0, 0.8),
}  # fmt: skip


def made_by(name: LawName, noise: float = 0.0, seed: int = 0, sizes: Sequence[int] = SIZES) -> list[tuple[int, float]]:
    draws = np.random.default_rng(seed)
    return [(n, rate_of(name, MADE[name], n) * float(np.exp(draws.normal(0.0, noise)))) for n in sizes]


@pytest.mark.parametrize("name", MADE)
def test_a_law_is_found_on_its_own_curve_and_is_the_best_there(name: LawName) -> None:
    laws = fit_laws(made_by(name), precision=0.01)
    assert len(laws) == 3
    found = next(law for law in laws if law.name == name)
    assert found.values == pytest.approx(MADE[name], rel=1e-3)
    assert found.left_out == pytest.approx(0.0, abs=1e-3)
    assert laws[0].left_out == pytest.approx(found.left_out, abs=1e-3)


@pytest.mark.parametrize("name", MADE)
def test_intervals_hold_the_truth_most_of_the_time(name: LawName) -> None:
    held = []
    for seed in range(60):
        law = next(law for law in fit_laws(made_by(name, 0.05, seed), precision=0.01) if law.name == name)
        within = law.interval(20)
        held.append(within.low <= rate_of(name, MADE[name], 20) <= within.high)
    assert sum(held) >= 54


def test_the_universal_law_tells_of_a_peak_that_amdahl_does_not_know() -> None:
    points = [(n, rate_of("universal", (1_000.0, 0.02, 0.01), n)) for n in SIZES]
    laws = {law.name: law for law in fit_laws(points)}
    assert laws["universal"].rate(30) < laws["universal"].rate(10)
    assert laws["universal"].left_out < laws["amdahl"].left_out


def test_linear_growth_has_no_serial_share_and_growth_beyond_it_neither() -> None:
    laws = {law.name: law for law in fit_laws([(n, 500.0 * n) for n in SIZES])}
    assert laws["amdahl"].values == pytest.approx((500.0, 0.0))
    beyond = {law.name: law for law in fit_laws([(n, 500.0 * n**1.2) for n in SIZES])}
    assert beyond["amdahl"].values[1] == 0.0
    assert beyond["amdahl"].values[0] > 500.0


def test_too_few_layouts_are_said_for_each_law() -> None:
    assert fit_laws([(1, 100.0), (2, 190.0), (4, 340.0)]) == []
    four = [(1, 100.0), (2, 190.0), (4, 340.0), (6, 460.0)]
    assert {law.name for law in fit_laws(four)} == {"amdahl", "power"}
    assert too_few(four) == ["too few layouts for universal scalability law: 4 of 5"]
    # What sustained nothing is no point of a curve.
    assert fit_laws([*four[:3], (6, 0.0)]) == []


def test_how_many_are_needed_comes_with_how_sure_that_is() -> None:
    law = fit_laws(made_by("amdahl", 0.03, 1), precision=0.05)[0]
    assert law.number_for(5_000.0, 32) == pytest.approx(6, abs=1)
    fewest = law.number_for(5_000.0, 32, lambda n: law.interval(n).high)
    most = law.number_for(5_000.0, 32, lambda n: law.interval(n).low)
    assert fewest is not None
    assert most is not None
    assert fewest <= 6 <= most
    assert law.number_for(1e9, 32) is None


def test_parameters_are_written_as_people_write_numbers() -> None:
    law = fit_laws([(1, 14_770.0), (2, 28_000.0), (4, 50_000.0), (6, 68_000.0), (8, 84_000.0)])[0]
    assert "e+" not in law.spell()
    assert "e-" not in law.spell()
    assert law.spell().startswith("of one 14.")
    assert "k (" in law.spell().split(",")[0]
