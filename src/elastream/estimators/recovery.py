"""How long until a job that stood still has caught up."""

from elastream.estimators.forecasting.forecast import Forecast


def recovery_s(
    capacity_rps: float, forecast: Forecast, *, backlog: float, downtime_s: float, horizon_s: float
) -> float | None:
    """Seconds from standing still to having caught up; None if that is not within the horizon.

    `backlog` is what waits when the job stops. What arrives while it stands comes on top; after that, what the
    capacity exceeds the forecast by works it off. Where the forecast is above the capacity, the backlog grows again.
    """
    waiting = backlog + forecast.records(0.0, downtime_s)
    at_s = downtime_s
    if waiting <= 0:
        return at_s
    for end_s, rate in forecast.pieces(downtime_s, horizon_s):
        spare = capacity_rps - rate
        if spare > 0 and waiting <= spare * (end_s - at_s):
            return at_s + waiting / spare
        waiting -= spare * (end_s - at_s)
        at_s = end_s
    return None
