"""What a continuous job can do at each size, learned while it runs: by how busy its busiest worker is, or by what it
gets done while it falls behind.

Between and beyond the sizes that were seen, `1/rate = a + b/size`. Far from them two laws are asked, one in which every
worker adds as much as the last and one in which a part of the work is not shared, and the worse one is believed: who
grows too little stops the job twice, and who shrinks too far does so too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from elastream.core.observation import Pool, Query
from elastream.policies.foresight.plant import Floats

Learned = dict[str, Any]
"""Since when it has its size, readings since then, and what was measured: size, records per second, trust, when."""

# Readings of use scatter by about so much; the largest of n is higher by nearly that times the root of 2 ln n.
_USE_NOISE, _OF_LARGEST = 0.02, 0.75
# A worker that is hardly used says nothing of what it could do.
_LEAST_USE = 0.06
# After a restart, work since the last checkpoint is done again for about so long, and looks like work that is slow.
_SETTLED_S, _DONE_AGAIN_S = 8.0, 20.0
_MEASURED_S = 25.0
# While more waits than is done in two seconds it does all it can: of such times that are long enough the one counts in
# which it did most.
_BEHIND_S, _SURELY_S, _WAITS_S = 5.0, 10.0, 2.0
_FIRST_TRUST = 0.7
# So far apart two measurements of a size are two.
_APART_S, _KEPT = 60.0, 60
_FORGET_S = 7200.0
# A job that twice does so many times more or less than before at the same size is another job: all else is forgotten.
_BREAK, _TRUSTED = 1.3, 0.5
# Part of the work that is not shared, where only one size was seen: few jobs share all of it.
_SERIAL = 0.03
# How much that guess weighs, as a part of all that was measured: two sizes outvote it.
_GUESS = 0.01


def start() -> Learned:
    """Nothing was seen."""
    return {"since": None, "points": [], "rates": []}


def update(before: Learned, query: Query, pool: Pool, now_s: float) -> Learned:
    """After one more look."""
    done = [source.committed for source in query.sources]
    backlog = query.backlog
    if query.phase == "restarting" or pool.in_flux or backlog is None or any(reading is None for reading in done):
        return {**before, "since": None, "points": []}
    if before["since"] is None:
        return {**before, "since": now_s, "points": []}
    total = sum(reading.value for reading in done if reading is not None)
    uses = [worker.cpu.value for worker in pool.workers if worker.cpu is not None]
    use = max(uses, default=0.0) - _OF_LARGEST * _USE_NOISE * math.sqrt(2 * math.log(max(1, len(uses))))
    points = [*before["points"], [now_s, total, backlog, max(0.0, use)]]
    points = [point for point in points if point[0] > now_s - 2 * _MEASURED_S and point[0] >= before["since"]]
    rates = before["rates"]
    settled = [point for point in points if point[0] >= before["since"] + _SETTLED_S]
    done_again = [point for point in points if point[0] >= before["since"] + _DONE_AGAIN_S]
    if (measured := _behind(done_again if rates else points) or _by_use(settled)) is not None:
        rates = _with_rate(rates, [pool.ready, *measured, now_s])
    return {"since": before["since"], "points": points, "rates": rates}


def find_rates(learned: Learned, sizes: Floats, now_s: float) -> Floats | None:
    """Records per second at every size; None where nothing was measured."""
    seen = np.array(learned["rates"], dtype=float)
    if not len(seen):
        return None
    lower: Floats = np.minimum(_law(seen, sizes, now_s, 0.0), _law(seen, sizes, now_s, _SERIAL))
    return lower


def measured_at(learned: Learned, workers: int) -> float | None:
    """What it was last seen to do with so many workers since it has them."""
    last = learned["rates"][-1] if learned["rates"] else None
    since_s = learned["since"]
    return last[1] if last and since_s is not None and last[0] == workers and last[3] > since_s else None


def idle_for_s(learned: Learned, now_s: float) -> float:
    """For how long it has run without a stop."""
    return 0.0 if learned["since"] is None else now_s - learned["since"]


def _with_rate(rates: list[list[float]], found: list[float]) -> list[list[float]]:
    """With one more measurement, which stands for those of the last minute at its size."""
    size, rate, trust, now_s = found
    older = [one for one in rates if not (one[0] == size and one[3] > now_s - _APART_S)]
    same = [one for one in older if one[0] == size and one[2] >= _TRUSTED]
    if len(same) > 1 and trust >= _TRUSTED:
        first, second = math.log(same[-1][1] / same[-2][1]), math.log(rate / same[-2][1])
        if min(abs(first), abs(second)) > math.log(_BREAK) and first * second > 0:
            older = same[-1:]
    return [*older, found][-_KEPT:]


def _behind(points: list[list[float]]) -> tuple[float, float] | None:
    """What it does while more waits than it can do, and how far that is to be trusted."""
    found = [
        (took_s, rate)
        for number, first in enumerate(points[:-1])
        if (took_s := points[-1][0] - first[0]) >= _BEHIND_S
        and (rate := (points[-1][1] - first[1]) / took_s) > 0
        and min(point[2] for point in points[number:]) > _WAITS_S * rate
    ]
    sure = [rate for took_s, rate in found if took_s >= _SURELY_S]
    if sure:
        return round(max(sure), 3), 1.0
    return (round(found[0][1], 3), _FIRST_TRUST) if found else None


def _by_use(points: list[list[float]]) -> tuple[float, float] | None:
    """What it would do if its busiest worker were always busy, and how far that is to be trusted."""
    if len(points) < 3 or points[-1][0] - points[0][0] < _MEASURED_S or not points[0][3]:
        return None
    rate = (points[-1][1] - points[0][1]) / (points[-1][0] - points[0][0])
    use = sum(point[3] for point in points[1:]) / (len(points) - 1)
    if use < _LEAST_USE or rate <= 0:
        return None
    return round(rate / min(1.0, use), 3), round(min(1.0, use), 3)


def _law(seen: Floats, sizes: Floats, now_s: float, serial: float) -> Floats:
    """Records per second by a line through what was measured, neither part of it below 0."""
    weight = seen[:, 2] ** 2 * np.exp((seen[:, 3] - now_s) / _FORGET_S) * seen[:, 1]
    terms = np.stack([np.ones(len(seen)), 1.0 / seen[:, 0]], axis=1) * weight[:, None]
    told = weight / seen[:, 1]
    # One size tells nothing of what others do: then so much of the work is taken not to be shared.
    guess = math.sqrt(_GUESS * float(weight @ weight)) * np.array([1.0, -serial])
    products = terms.T @ terms + np.outer(guess, guess)
    fixed, shared = np.linalg.solve(products + 1e-15 * np.eye(2), terms.T @ told)
    if fixed < 0:
        fixed, shared = 0.0, float(terms[:, 1] @ told) / float(terms[:, 1] @ terms[:, 1])
    elif shared < 0:
        fixed, shared = float(terms[:, 0] @ told) / float(terms[:, 0] @ terms[:, 0]), 0.0
    rates: Floats = 1.0 / (fixed + shared / sizes)
    return rates
