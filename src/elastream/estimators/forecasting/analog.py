"""What followed the times in the past that looked most like the last minutes."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

# Twelve minutes are long enough to tell a rise from noise; five neighbours to average out what each had by chance.
_PATTERN, _NEIGHBOURS = 12, 5
_FEWEST_CANDIDATES = 20


def analog(history: Floats, steps: int) -> Floats | None:
    """The mean of what followed the nearest patterns, at today's level; None while there are too few to compare."""
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
