"""Autoregression on differences, by ridge: what the last few changes say about the next ones."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_ORDER, _WINDOW, _FEWEST = 5, 180, 30
# Strong enough that the few dozen points there are at first do not make it swing.
_RIDGE = 0.1


def autoregression(history: Floats, steps: int) -> Floats | None:
    """Rates of the coming steps; None while there are too few to fit."""
    changes = np.diff(history[-_WINDOW:])
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
    low, high = float(history[-_WINDOW:].min()), float(history[-_WINDOW:].max())
    clipped: Floats = np.clip(path, max(0.0, low - (high - low)), high + (high - low))
    return clipped
