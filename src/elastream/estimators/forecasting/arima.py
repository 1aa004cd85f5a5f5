"""Auto-ARIMA on one-second rates, as Daedalus was published with; needs the extra `forecast`.

The differencing follows from two tests for a unit root (KPSS and ADF, the larger), orders from a stepwise search by
AIC (Hyndman and Khandakar, 2008), up to five each. Training takes seconds to minutes, each forecast a fraction of a
second, and neither beats the hedge: it is here so that the published policy can be compared.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elastream.core.errors import BadInput
from elastream.estimators.forecasting.forecast import Forecast

State = dict[str, Any]

# What training looks at, and what is kept: a fit on six hours of seconds would take minutes.
_TRAINED_ON = 1800
_KEPT = 3600
_STARTS = ((2, 2), (0, 0), (1, 0), (0, 1))


@dataclass(frozen=True, kw_only=True)
class Arima:
    """The forecaster. Its state is the last hour, the order and the parameters."""

    step_s: float = 1.0
    horizon_s: float = 900.0
    most_terms: int = 5
    fewest: int = 300
    """Steps to train on at least: on one minute, a slow rise looks like none and stays one until the next training."""

    def __post_init__(self) -> None:
        _statsmodels()

    def start(self) -> State:
        """Nothing was seen."""
        return {"history": [], "order": None, "parameters": []}

    def add(self, state: State, rates: Sequence[float]) -> State:
        """After some more steps. Parameters stay until the next training."""
        new = [float(f"{rate:.6g}") for rate in rates]
        return {**state, "history": [*state["history"], *new][-_KEPT:]} if new else state

    def train(self, state: State) -> State:
        """Choose order and parameters anew."""
        history = state["history"][-_TRAINED_ON:]
        if len(history) < self.fewest:
            return state
        order, parameters = _search(history, self.most_terms)
        return {**state, "order": list(order), "parameters": parameters}

    def forecast(self, state: State) -> Forecast | None:
        """The coming steps, or None before the first training."""
        if state["order"] is None:
            return None
        steps = max(1, round(self.horizon_s / self.step_s))
        model = _model(state["history"], tuple(state["order"]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = model.filter(state["parameters"]).forecast(steps)
        rates = [float(rate) for rate in path]
        # A fit that is not stable may run away to what is no number.
        if not all(rate < 1e300 for rate in map(abs, rates)):
            return None
        return Forecast(self.step_s, [max(0.0, rate) for rate in rates])


def _statsmodels() -> Any:
    """The library, imported only where it was asked for."""
    try:
        import statsmodels.tsa.arima.model as arima
        import statsmodels.tsa.stattools as tests
    except ImportError:
        raise BadInput(
            "forecaster arima: statsmodels is not installed; install elastream[forecast], or choose forecaster=hedge"
        ) from None
    return arima, tests


def _model(history: Sequence[float], order: tuple[int, ...]) -> Any:
    arima, _ = _statsmodels()
    return arima.ARIMA(history, order=order, trend="c" if order[1] == 0 else "n")


def _search(history: Sequence[float], most: int) -> tuple[tuple[int, int, int], list[float]]:
    """The order with the least AIC that steps of one from the starts lead to, and its parameters."""
    if len(set(history)) < 3:
        # Nothing to fit: it goes on as it is, whatever the variance.
        return (0, 1, 0), [1.0]
    differences = _differences(history)
    tried: dict[tuple[int, int], tuple[float, list[float]]] = {}

    def cost(p: int, q: int) -> float:
        if not (0 <= p <= most and 0 <= q <= most):
            return float("inf")
        if (p, q) not in tried:
            tried[p, q] = _fit(history, (p, differences, q))
        return tried[p, q][0]

    best = min(_STARTS, key=lambda terms: cost(*terms))
    while True:
        p, q = best
        around = [(p + a, q + b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
        nearest = min(around, key=lambda terms: cost(*terms))
        if cost(*nearest) >= cost(p, q):
            return (p, differences, q), tried[p, q][1]
        best = nearest


def _fit(history: Sequence[float], order: tuple[int, int, int]) -> tuple[float, list[float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fitted = _model(history, order).fit(method_kwargs={"maxiter": 50})
        except (ValueError, ArithmeticError):
            return float("inf"), []
    aic = float(fitted.aic)
    return (aic if aic == aic else float("inf")), [float(value) for value in fitted.params]


def _differences(history: Sequence[float]) -> int:
    """How often to difference: once if either test takes the series for one with a unit root."""
    _, tests = _statsmodels()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        is_stationary = tests.kpss(history)[1] > 0.05 and tests.adfuller(history)[1] < 0.05
    return 0 if is_stationary else 1
