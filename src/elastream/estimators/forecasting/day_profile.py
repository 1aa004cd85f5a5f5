"""The time of day, at today's level: with two or more days of history the best there is for an hour ahead."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_SMOOTHED = 5
_LEVEL = 15


def day_profile(history: Floats, steps: int, per_day: int) -> Floats | None:
    """What followed this time on the days before, in proportion to the level of the last minutes; None before two."""
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
