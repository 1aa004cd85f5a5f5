"""The forecasters that the hedge weighs: each says something about the coming steps, and none is always right."""

from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Twelve minutes are long enough to tell a rise from noise; five neighbours to average out what each had by chance.
_PATTERN, _NEIGHBOURS = 12, 5
_FEWEST_CANDIDATES = 20


def analog(history: Floats, steps: int) -> Floats | None:
    """What followed the times in the past that looked most like the last minutes.

    The mean of what followed the nearest patterns, at today's level; None while there are too few to compare.
    """
    candidates = len(history) - _PATTERN - steps
    if candidates < _FEWEST_CANDIDATES:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(history, _PATTERN + steps)[:candidates]
    levels = windows[:, :_PATTERN].mean(axis=1)
    level = float(history[-_PATTERN:].mean())
    if level <= 0:
        return None
    shapes = windows[:, :_PATTERN] / np.maximum(levels, 1e-9)[:, None]
    distances = np.abs(shapes - history[-_PATTERN:] / level).mean(axis=1)
    distances[levels <= 0] = np.inf
    nearest = np.argpartition(distances, _NEIGHBOURS)[:_NEIGHBOURS]
    nearest = nearest[np.isfinite(distances[nearest])]
    if not len(nearest):
        return None
    # Every neighbour goes on from the last value seen, not from its own.
    ends = windows[nearest, _PATTERN - 1] / levels[nearest]
    followed = windows[nearest, _PATTERN:] / levels[nearest, None]
    path: Floats = np.maximum(history[-1] + level * (followed - ends[:, None]).mean(axis=0), 0.0)
    return path


_ORDER, _FITTED, _FEWEST = 5, 180, 30
# Strong enough that the few dozen points there are at first do not make it swing.
_RIDGE = 0.1


def autoregression(history: Floats, steps: int) -> Floats | None:
    """Autoregression on differences, by ridge: what the last few changes say about the next ones.

    Rates of the coming steps; None while there are too few to fit.
    """
    changes = np.diff(history[-_FITTED:])
    if len(changes) < _FEWEST:
        return None
    rows = np.lib.stride_tricks.sliding_window_view(changes[:-1], _ORDER)
    targets = changes[_ORDER:]
    products = rows.T @ rows
    strength = _RIDGE * float(np.trace(products)) / _ORDER
    if strength <= 0:
        return np.full(steps, history[-1])
    weights = np.linalg.solve(products + strength * np.eye(_ORDER), rows.T @ targets)
    recent = changes[-_ORDER:].copy()
    path, rate = np.empty(steps), float(history[-1])
    for step in range(steps):
        change = float(weights @ recent)
        recent[:-1], recent[-1] = recent[1:], change
        rate += change
        path[step] = rate
    # A fit that is not stable must not run away; twice the range that was seen is far enough.
    low, high = float(history[-_FITTED:].min()), float(history[-_FITTED:].max())
    clipped: Floats = np.clip(path, max(0.0, low - (high - low)), high + (high - low))
    return clipped


_SMOOTHED = 5
_LEVEL = 15


def day_profile(history: Floats, steps: int, per_day: int) -> Floats | None:
    """The time of day, at today's level: with two or more days of history the best there is for an hour ahead.

    What followed this time on the days before, in proportion to the level of the last minutes; None before two.
    """
    days = len(history) // per_day
    if days < 2:
        return None
    # Row by row one day back: each ends `steps` after this time of that day.
    past = [history[len(history) - day * per_day - _LEVEL :][: _LEVEL + steps] for day in range(1, days + 1)]
    whole = [piece for piece in past if len(piece) == _LEVEL + steps]
    if not whole:
        return None
    mean = np.mean(whole, axis=0)
    kernel = np.ones(_SMOOTHED) / _SMOOTHED
    padded = np.pad(mean, _SMOOTHED // 2, mode="edge")
    smooth = np.convolve(padded, kernel, mode="valid")
    before = float(smooth[:_LEVEL].mean())
    if before <= 0:
        return None
    path: Floats = smooth[_LEVEL:] * (float(history[-_LEVEL:].mean()) / before)
    return path


ALPHAS, BETAS, DAMPINGS = (0.2, 0.5, 0.8), (0.1, 0.4), (0.8, 0.95)
HOLT_MEMBERS = len(ALPHAS) * len(BETAS) * len(DAMPINGS)
# The slowest member has forgotten all but 1e-20 of what is older.
_HOLT_WINDOW = 240


def holt(history: Floats, steps: int) -> Floats:
    """A grid of damped Holt smoothers, all at once.

    One row of rates per member. Level and trend are linear in the history, and so are their forecasts: for each member
    of the grid there is one row of weights, and forecasting is one product of a matrix with the last few hours.
    Histories that are shorter are continued to the left with their first value, which is the state (first value, no
    trend) that the recursion would start from.
    """
    window = history[-_HOLT_WINDOW:]
    if len(window) < _HOLT_WINDOW:
        window = np.concatenate((np.full(_HOLT_WINDOW - len(window), window[0]), window))
    levels, trends, reach = _holt_weights(steps)
    paths: Floats = (levels @ window)[:, None] + (trends @ window)[:, None] * reach
    return paths


@cache
def _holt_weights(steps: int) -> tuple[Floats, Floats, Floats]:
    """Weights of the window in level and trend of each member, and how far its trend reaches in each step."""
    levels, trends = np.zeros((HOLT_MEMBERS, _HOLT_WINDOW)), np.zeros((HOLT_MEMBERS, _HOLT_WINDOW))
    reach = np.zeros((HOLT_MEMBERS, steps))
    for row, (alpha, beta, damping) in enumerate(product(ALPHAS, BETAS, DAMPINGS)):
        onward = np.array([[1 - alpha, (1 - alpha) * damping], [-alpha * beta, damping * (1 - alpha * beta)]])
        state = np.array([alpha, alpha * beta])
        for age in range(_HOLT_WINDOW):
            levels[row, -1 - age], trends[row, -1 - age] = state
            state = onward @ state
        # What the recursion started from: the first value as level, and no trend.
        levels[row, 0] += np.linalg.matrix_power(onward, _HOLT_WINDOW)[0, 0]
        trends[row, 0] += np.linalg.matrix_power(onward, _HOLT_WINDOW)[1, 0]
        reach[row] = np.cumsum(damping ** np.arange(1, steps + 1))
    return levels, trends, reach
