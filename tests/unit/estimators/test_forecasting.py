"""Forecasters: each member does what its name says, and the hedge of them does no harm."""

import importlib.util
import json
import math
import sys

import numpy as np
import numpy.typing as npt
import pytest

from elastream.core.errors import BadInput
from elastream.estimators.forecasting import forecaster
from elastream.estimators.forecasting.arima import Arima
from elastream.estimators.forecasting.bound import factor, with_outcome
from elastream.estimators.forecasting.checked import Checked, straight_line
from elastream.estimators.forecasting.forecast import Forecast, wape
from elastream.estimators.forecasting.hedge import Hedge
from elastream.estimators.forecasting.members import ALPHAS, BETAS, DAMPINGS, analog, autoregression, day_profile, holt

Floats = npt.NDArray[np.float64]

with_statsmodels = pytest.mark.skipif(
    importlib.util.find_spec("statsmodels") is None, reason="needs statsmodels (the extra `forecast`)"
)


def wave(minutes: int, period: float = 120.0, noise: float = 0.0) -> Floats:
    t = np.arange(minutes)
    random = np.random.default_rng(2)
    rates: Floats = 1_000 + 400 * np.sin(2 * math.pi * t / period) + noise * random.normal(0, 1, minutes)
    return rates


def recursion(history: list[float], alpha: float, beta: float, damping: float, steps: int) -> list[float]:
    """Damped Holt as the textbook has it."""
    level, trend = history[0], 0.0
    for value in history[1:]:
        before = level
        level = alpha * value + (1 - alpha) * (level + damping * trend)
        trend = beta * (level - before) + (1 - beta) * damping * trend
    reach = [sum(damping**k for k in range(1, step + 1)) for step in range(1, steps + 1)]
    return [level + far * trend for far in reach]


@pytest.mark.parametrize("minutes", [3, 100, 400])
def test_all_holt_smoothers_at_once_are_the_recursion_one_by_one(minutes: int) -> None:
    history = wave(minutes, noise=30.0)
    paths = holt(history, 5)
    members = [(a, b, d) for a in ALPHAS for b in BETAS for d in DAMPINGS]
    for path, member in zip(paths, members, strict=True):
        assert path == pytest.approx(recursion(history.tolist(), *member, 5), rel=1e-9)


@with_statsmodels
def test_a_holt_smoother_is_that_of_statsmodels() -> None:
    from statsmodels.tsa.holtwinters import Holt

    history = wave(80, noise=20.0)
    model = Holt(
        history[1:], damped_trend=True, initialization_method="known", initial_level=history[0], initial_trend=0.0
    )
    fitted = model.fit(smoothing_level=0.5, smoothing_trend=0.4, damping_trend=0.8, optimized=False)
    ours = holt(history, 5)[[(a, b, d) for a in ALPHAS for b in BETAS for d in DAMPINGS].index((0.5, 0.4, 0.8))]
    assert ours == pytest.approx(fitted.forecast(5), rel=1e-6)


def test_what_happened_before_happens_again_to_an_analog() -> None:
    history = wave(300)
    path = analog(history[:-15], 15)
    assert path is not None
    assert path == pytest.approx(history[-15:], rel=0.03)
    assert analog(history[:30], 15) is None
    assert analog(np.zeros(100), 15) is None


def test_an_autoregression_follows_a_wave_and_never_runs_away() -> None:
    history = wave(200, period=40.0)
    path, wild = autoregression(history[:-5], 5), autoregression(np.array([100.0] * 50 + [1e6]), 15)
    assert path is not None
    assert wild is not None
    assert path == pytest.approx(history[-5:], rel=0.15)
    assert wild.max() <= 2e6
    assert autoregression(np.full(60, 7.0), 3) == pytest.approx([7.0] * 3)
    assert autoregression(history[:10], 5) is None


def test_the_time_of_day_tells_at_todays_level() -> None:
    day = 100 + 50 * np.sin(2 * math.pi * np.arange(1440) / 1440)
    now = 700
    history = np.concatenate((day, day, 2 * day[:now]))
    path = day_profile(history, 60, 1440)
    assert path is not None
    assert path == pytest.approx(2 * day[now : now + 60], rel=0.02)
    assert day_profile(history[: 2 * 1440 - 1], 60, 1440) is None


def test_a_straight_line_goes_on_as_the_last_minute_went_and_stops_at_zero() -> None:
    points = [(float(t), 100.0 - t) for t in range(60)]
    line = straight_line(points, now_s=59.0, step_s=1.0, horizon_s=900.0)
    assert line is not None
    assert len(line.rates) == 900
    assert line.rates[:2] == pytest.approx([40.5, 39.5])
    assert line.rates[-1] == 0.0
    assert straight_line([], now_s=0.0, step_s=1.0, horizon_s=900.0) is None


def test_wape_weighs_errors_by_what_came() -> None:
    assert wape([100.0, 300.0], [150.0, 250.0]) == 0.25
    assert wape([0.0], [5.0]) is None


def test_the_bound_covers_the_share_of_outcomes_that_was_asked_for() -> None:
    random = np.random.default_rng(4)
    scores: list[float] = []
    covered = {0.8: 0, 0.95: 0}
    for number in range(1_500):
        came = float(np.exp(random.normal(0.0, 0.2)))
        if number >= 500:
            covered = {share: hits + (came <= factor(scores, share)) for share, hits in covered.items()}
        scores = with_outcome(scores, came, 1.0)
    assert len(scores) == 400
    assert covered[0.8] / 1_000 == pytest.approx(0.8, abs=0.04)
    assert covered[0.95] / 1_000 == pytest.approx(0.95, abs=0.03)


def test_the_bound_begins_with_a_prior_and_is_never_above_four() -> None:
    assert 1.0 < factor([], 0.8) < factor([], 0.95) <= 4.0
    assert factor([9.0] * 400, 0.9) == pytest.approx(4.0)
    assert with_outcome([], 0.0, 0.0) == [0.0]


def test_the_hedge_is_better_than_the_last_value_on_a_wave_and_no_worse_on_a_constant() -> None:
    hedge = Hedge()
    history = wave(420, noise=20.0)
    state, errors, naive = hedge.start(), 0.0, 0.0
    for minute in range(405):
        state = hedge.add(state, [float(history[minute])])
        if minute >= 120:
            forecast = hedge.forecast(state)
            assert forecast is not None
            came = history[minute + 1 : minute + 16]
            errors += float(np.abs(np.array(forecast.rates) - came).sum())
            naive += float(np.abs(history[minute] - came).sum())
    assert errors < 0.7 * naive
    flat = hedge.add(hedge.start(), [500.0] * 60)
    assert hedge.forecast(flat).rates == pytest.approx([500.0] * 15)  # type: ignore[union-attr]
    assert sum(hedge.weights(flat)) == pytest.approx(1.0)


def test_the_state_of_the_hedge_survives_json_and_stays_bounded() -> None:
    hedge = Hedge(step_s=3600.0, horizon_s=7200.0)
    state = hedge.start()
    for value in wave(200):
        state = hedge.add(json.loads(json.dumps(state)), [float(value)])
    assert len(state["history"]) == 72
    assert len(state["pending"]) == 2
    assert hedge.train(state)["history"] == state["history"]


def test_no_load_at_all_is_forecast_as_none() -> None:
    hedge = Hedge()
    assert hedge.forecast(hedge.start()) is None
    state = hedge.add(hedge.start(), [0.0] * 40)
    assert hedge.forecast(state).rates == [0.0] * 15  # type: ignore[union-attr]
    assert math.isfinite(hedge.bound(state, 0.9))


class Stubborn:
    """Says the same whatever comes, until it is trained."""

    step_s, horizon_s = 1.0, 900.0

    def start(self) -> dict[str, float]:
        return {"trainings": 0}

    def add(self, state: dict[str, float], rates: object) -> dict[str, float]:
        return state

    def train(self, state: dict[str, float]) -> dict[str, float]:
        return {"trainings": state["trainings"] + 1}

    def forecast(self, state: dict[str, float]) -> Forecast:
        return Forecast(1.0, [100.0] * 900)


def loops(checked: Checked, rate: float, count: int) -> list[dict[str, object]]:
    state, total, seen = checked.start(), 0.0, []
    for second in range(count * 60 + 1):
        state = checked.read(state, float(second), total)
        total += rate
        if second % 60 == 0:
            state = checked.loop(state, [(float(second), rate)], float(second))
            seen.append(state)
    return seen


def test_a_poor_forecast_is_replaced_by_a_line_for_that_loop() -> None:
    good = loops(Checked(forecaster=Stubborn()), 110.0, 3)
    assert [state["line"] for state in good] == [False] * 4
    assert good[-1]["wape"] == pytest.approx(10 / 110)
    poor = loops(Checked(forecaster=Stubborn()), 200.0, 3)
    assert [state["line"] for state in poor] == [False, True, True, True]
    assert poor[-1]["wape"] == pytest.approx(0.5)
    assert poor[-1]["path"] == [200.0] * 900


def test_fifteen_poor_loops_in_a_row_and_it_is_trained_anew() -> None:
    states = loops(Checked(forecaster=Stubborn()), 200.0, 31)
    trainings = [state["model"]["trainings"] for state in states]  # type: ignore[index]
    assert trainings == [1] * 15 + [2] * 15 + [3] * 2


@with_statsmodels
def test_arima_follows_a_trend_as_statsmodels_does() -> None:
    from statsmodels.tsa.arima.model import ARIMA

    arima = Arima(horizon_s=30.0, most_terms=1, fewest=80)
    rates = (1_000 + 2.0 * np.arange(80) + np.random.default_rng(1).normal(0, 3, 80)).tolist()
    state = arima.train(json.loads(json.dumps(arima.add(arima.start(), rates))))
    found = arima.forecast(json.loads(json.dumps(state)))
    assert found is not None
    library = ARIMA(rates, order=tuple(state["order"])).filter(state["parameters"]).forecast(30)
    assert list(found.rates) == pytest.approx(list(library), rel=1e-3)
    assert arima.forecast(arima.start()) is None
    assert arima.train(arima.add(arima.start(), rates[:79]))["order"] is None


def test_arima_without_its_library_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.tsa.arima.model", None)
    with pytest.raises(BadInput, match=r"statsmodels is not installed; install elastream\[forecast\]") as error:
        forecaster("arima", horizon_s=900.0)
    assert "\n" not in str(error.value)
