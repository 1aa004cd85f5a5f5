"""A grid of damped Holt smoothers, all at once.

Level and trend are linear in the history, and so are their forecasts: for each member of the grid there is one row of
weights, and forecasting is one product of a matrix with the last few hours. Histories that are shorter are continued
to the left with their first value, which is the state (first value, no trend) that the recursion would start from.
"""

from functools import cache
from itertools import product

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

ALPHAS, BETAS, DAMPINGS = (0.2, 0.5, 0.8), (0.1, 0.4), (0.8, 0.95)
MEMBERS = len(ALPHAS) * len(BETAS) * len(DAMPINGS)
# The slowest member has forgotten all but 1e-20 of what is older.
_WINDOW = 240


def holt(history: Floats, steps: int) -> Floats:
    """One row of rates per member."""
    window = history[-_WINDOW:]
    if len(window) < _WINDOW:
        window = np.concatenate((np.full(_WINDOW - len(window), window[0]), window))
    levels, trends, reach = _weights(steps)
    paths: Floats = (levels @ window)[:, None] + (trends @ window)[:, None] * reach
    return paths


@cache
def _weights(steps: int) -> tuple[Floats, Floats, Floats]:
    """Weights of the window in level and trend of each member, and how far its trend reaches in each step."""
    levels, trends = np.zeros((MEMBERS, _WINDOW)), np.zeros((MEMBERS, _WINDOW))
    reach = np.zeros((MEMBERS, steps))
    for row, (alpha, beta, damping) in enumerate(product(ALPHAS, BETAS, DAMPINGS)):
        onward = np.array([[1 - alpha, (1 - alpha) * damping], [-alpha * beta, damping * (1 - alpha * beta)]])
        state = np.array([alpha, alpha * beta])
        for age in range(_WINDOW):
            levels[row, -1 - age], trends[row, -1 - age] = state
            state = onward @ state
        # What the recursion started from: the first value as level, and no trend.
        levels[row, 0] += np.linalg.matrix_power(onward, _WINDOW)[0, 0]
        trends[row, 0] += np.linalg.matrix_power(onward, _WINDOW)[1, 0]
        reach[row] = np.cumsum(damping ** np.arange(1, steps + 1))
    return levels, trends, reach
