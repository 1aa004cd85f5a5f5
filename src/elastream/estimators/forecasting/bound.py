"""How far the coming maximum may exceed the one that was forecast: rolling split conformal prediction.

A score is log(maximum that came / maximum that was forecast). The bound for a share of outcomes is the score that this
share of the last outcomes did not exceed. An outcome is known only one horizon after its forecast. Adapting the share
to recent misses was tried and is worse: windows overlap, and one spike is fifteen misses.
"""

import math
from collections.abc import Sequence

_WINDOW = 400
_MOST = math.log(4.0)
# Outcomes to start from, so that the first hours have a bound; they leave as measured ones come in. Every twentieth of
# what was measured over recorded loads of many kinds.
PRIOR = (-0.14, -0.05, -0.02, 0.0, 0.01, 0.02, 0.04, 0.07, 0.1, 0.13, 0.18, 0.23, 0.3, 0.36, 0.43, 0.54, 0.73, 1.0, 1.4)
_PRIOR_LEAVES_AFTER = 100
_TINY = 1e-9


def with_outcome(scores: Sequence[float], came: float, forecast: float) -> list[float]:
    """The scores after one more outcome."""
    score = math.log(max(came, _TINY) / max(forecast, _TINY)) if max(came, forecast) > _TINY else 0.0
    return [*scores[1 - _WINDOW :], round(min(_MOST, max(-_MOST, score)), 5)]


def factor(scores: Sequence[float], share: float) -> float:
    """What to multiply a forecast maximum by, so that about this share of coming maxima is not above it."""
    ranked = sorted([*(PRIOR if len(scores) < _PRIOR_LEAVES_AFTER else ()), *scores])
    place = min(len(ranked), math.ceil((len(ranked) + 1) * share))
    return math.exp(min(_MOST, ranked[max(1, place) - 1]))
