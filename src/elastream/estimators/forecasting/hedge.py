"""A hedge of small forecasters: each is weighted by how well it did, and nobody has to be right all the time.

Members: the last value, a grid of damped Holt smoothers, analogs, an autoregression, and the time of day once there are
two days of history. After every step each member is asked again what it would have said one horizon ago; its error
lowers its weight. Steps of a minute do better than shorter ones, at a fraction of the cost. The point forecast is for
integrating; to be safe against the coming maximum use `bound`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from elastream.estimators.forecasting import bound
from elastream.estimators.forecasting.forecast import Forecast
from elastream.estimators.forecasting.members import HOLT_MEMBERS, analog, autoregression, day_profile, holt

Floats = npt.NDArray[np.float64]
State = dict[str, Any]

_DAY_S = 86_400.0
_DAYS_KEPT = 3
_MEMBERS = 1 + HOLT_MEMBERS + 3
# A member twice as wrong as the load is large is as wrong as can be.
_WORST = 2.0


@dataclass(frozen=True, kw_only=True)
class Hedge:
    """The forecaster. Its state is plain: history, what each member has lost, and outcomes for the bound."""

    step_s: float = 60.0
    horizon_s: float = 900.0
    sharpness: float = 8.0
    """How much better a member must have been to be trusted alone."""
    memory: float = 0.985
    """What a loss still counts one step later."""

    @property
    def steps(self) -> int:
        """Steps of the horizon."""
        return max(1, round(self.horizon_s / self.step_s))

    def start(self) -> State:
        """Nothing was seen."""
        return {"history": [], "losses": [0.0] * _MEMBERS, "path": [], "pending": [], "scores": []}

    def add(self, state: State, rates: Sequence[float]) -> State:
        """After some more steps."""
        for rate in rates:
            state = self._added(state, rate)
        return state

    def train(self, state: State) -> State:
        """Trust all members alike again; what they learn from is the history, which stays."""
        return {**state, "losses": [0.0] * _MEMBERS}

    def forecast(self, state: State) -> Forecast | None:
        """The coming steps, or None before the first one has ended."""
        return Forecast(self.step_s, state["path"]) if state["path"] else None

    def bound(self, state: State, share: float) -> float:
        """What to multiply the forecast maximum by, so that this share of coming maxima is not above it."""
        return bound.factor(state["scores"], share)

    def weights(self, state: State) -> list[float]:
        """How much each member is trusted."""
        found: list[float] = _softmax(-self.sharpness * np.array(state["losses"])).tolist()
        return found

    def _added(self, state: State, rate: float) -> State:
        kept = int(_DAYS_KEPT * _DAY_S / self.step_s)
        # Six digits are more than a rate has, and a third of the text.
        history = [*state["history"][1 - kept :], float(f"{rate:.6g}")]
        seen = np.array(history)
        losses = self._judged(seen, np.array(state["losses"]))
        members = self._members(seen)
        weights = _softmax(np.where(np.isnan(members[:, 0]), -np.inf, -self.sharpness * losses))
        path = np.maximum(weights @ np.nan_to_num(members), 0.0)
        pending = [*state["pending"], float(path.max())]
        scores = state["scores"]
        if len(pending) > self.steps:
            scores = bound.with_outcome(scores, max(history[-self.steps :]), pending[0])
            pending = pending[1:]
        return {
            "history": history,
            "losses": [round(loss, 6) for loss in losses.tolist()],
            "path": [float(f"{value:.6g}") for value in path.tolist()],
            "pending": pending,
            "scores": scores,
        }

    def _judged(self, seen: Floats, losses: Floats) -> Floats:
        """What each member has lost, after the error of what it would have said one horizon ago."""
        if len(seen) <= self.steps:
            return losses
        came = seen[-self.steps :]
        said = self._members(seen[: -self.steps])
        errors = np.abs(said - came).mean(axis=1) / max(float(came.mean()), 1e-9)
        # Who could not say anything yet has done as well as the others.
        errors = np.where(np.isnan(errors), np.nanmean(errors), errors)
        judged: Floats = self.memory * losses + np.minimum(errors, _WORST)
        return judged

    def _members(self, seen: Floats) -> Floats:
        """One path per member; NaN for those that cannot say anything yet."""
        steps = self.steps
        paths = np.full((_MEMBERS, steps), np.nan)
        paths[0] = seen[-1]
        paths[1 : 1 + HOLT_MEMBERS] = np.maximum(holt(seen, steps), 0.0)
        others = (
            analog(seen, steps),
            autoregression(seen, steps),
            day_profile(seen, steps, round(_DAY_S / self.step_s)),
        )
        for place, path in enumerate(others, start=1 + HOLT_MEMBERS):
            if path is not None:
                paths[place] = path
        return paths


def _softmax(scores: Floats) -> Floats:
    weights = np.exp(scores - scores.max())
    found: Floats = weights / weights.sum()
    return found
