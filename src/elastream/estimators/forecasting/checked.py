"""A forecaster whose last forecast is held against what came, as Daedalus does it.

Once per loop: the error (WAPE) of the last forecast over the time since then; above a threshold this loop is served by
a straight line through the last minute; too many such loops in a row, and the forecaster is trained anew. Note that
the first minute of a forecast of fifteen is what is checked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from elastream.estimators.forecasting.forecast import Forecast, wape
from elastream.estimators.regression import Regression
from elastream.estimators.steps import Steps

State = dict[str, Any]


class Forecaster(Protocol):
    """Learns rates of equal steps and says what the coming ones will be. Its state is plain and bounded."""

    @property
    def step_s(self) -> float:
        """Length of a step."""

    @property
    def horizon_s(self) -> float:
        """How far it looks ahead."""

    def start(self) -> State:
        """Nothing was seen."""

    def add(self, state: State, rates: Sequence[float]) -> State:
        """After some more steps."""

    def train(self, state: State) -> State:
        """Trained anew on what is kept."""

    def forecast(self, state: State) -> Forecast | None:
        """The coming steps, or None where it cannot say."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A forecaster and its check."""

    forecaster: Forecaster
    most_wape: float = 0.25
    """Above this, the loop is served by a straight line."""
    poor_wape: float = 0.25
    """Above this, a loop counts as poor."""
    poor_loops: int = 15

    def start(self) -> State:
        """Nothing was seen."""
        return {
            "model": self.forecaster.start(),
            "steps": list(Steps(self.forecaster.step_s)),
            "came": [],
            "said": [],
            "wape": None,
            "poor": 0,
            "trained": False,
            "path": [],
            "line": False,
        }

    def read(self, state: State, at_s: float, total: float) -> State:
        """After one more reading of the records that have arrived."""
        steps, rates = Steps(*state["steps"]).read(at_s, total)
        if not rates:
            return {**state, "steps": list(steps)}
        kept = max(1, len(state["said"]))
        return {
            **state,
            "steps": list(steps),
            "model": self.forecaster.add(state["model"], rates),
            "came": [*state["came"], *rates][:kept],
        }

    def loop(self, state: State, points: Sequence[tuple[float, float]], at_s: float) -> State:
        """Check the last forecast and make the next; `points` are (time, rate) of the last minute."""
        error = wape(state["came"], state["said"]) if state["said"] else None
        poor = state["poor"] + 1 if error is not None and error > self.poor_wape else 0
        model = state["model"]
        trained = state["trained"] and poor < self.poor_loops
        if not trained:
            model = self.forecaster.train(model)
        said = self.forecaster.forecast(model)
        poor = 0 if not trained else poor
        is_bad = said is None or (error is not None and error > self.most_wape)
        path = self._line(points, at_s) if is_bad else said
        return {
            **state,
            "model": model,
            "came": [],
            "said": list(said.rates) if said else [],
            "wape": error,
            "poor": poor,
            "trained": trained or said is not None,
            "path": list(path.rates) if path else [],
            "line": is_bad,
        }

    def forecast(self, state: State) -> Forecast | None:
        """What the last loop said, or None."""
        return Forecast(self.forecaster.step_s, state["path"]) if state["path"] else None

    def _line(self, points: Sequence[tuple[float, float]], at_s: float) -> Forecast | None:
        return straight_line(points, now_s=at_s, step_s=self.forecaster.step_s, horizon_s=self.forecaster.horizon_s)


def straight_line(
    points: Sequence[tuple[float, float]], *, now_s: float, step_s: float, horizon_s: float
) -> Forecast | None:
    """The slope of the last minutes, carried on and never below 0; None without a point.

    Measured at 3.4 times the error of the last value.
    """
    line = Regression.of(points)
    if not line.n:
        return None
    middles = [(number + 0.5) * step_s for number in range(max(1, round(horizon_s / step_s)))]
    rates = [line.mean_y if (rate := line.at(now_s + ahead_s)) is None else rate for ahead_s in middles]
    return Forecast(step_s, [max(0.0, rate) for rate in rates])
