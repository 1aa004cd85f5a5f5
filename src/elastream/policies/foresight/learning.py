"""What is learned of a query from look to look, without probing: plain memories, and what follows from them.

Of micro-batches: what a batch costs (`estimators.batch_cost`), how much longer its tasks take than that work spread
over its slots in whole waves (stragglers, cold executors, state that is elsewhere), and how much that scatters. Medians
of the last ones: a single batch says little. Of a continuous job: records per second at sizes that were seen, by how
busy its busiest worker is, or by what it did while it fell behind.
"""

from __future__ import annotations

import math
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from elastream.core.decision import Json
from elastream.core.observation import FinishedBatch, Observation, Pool, Query
from elastream.estimators.batch_cost import BatchCost
from elastream.estimators.batch_history import find_cost, with_batch
from elastream.estimators.outlook import RateOutlook
from elastream.estimators.steps import Steps
from elastream.estimators.waves import stages_of, task_time_s
from elastream.policies.foresight.plant import Floats

State = dict[str, Any]

# A size that was had for so long, and was too small for a load that stayed as it was, is not tried again until that
# moves, or the size would be enough with batches as long as they ever are.
_HELD_S, _KEPT_OUTGROWN, _MOVED = 60.0, 16, 0.1
_KEPT_WALLS, _TRUSTED = 12, 7
_FIRST_STRETCH, _STRETCHES = 1.1, (0.7, 4.0)
_FIRST_NOISE, _LEAST_NOISE, _MOST_NOISE = 0.15, 0.02, 0.5
_FIRST_DRIVER_S = 0.3

# A worker that is idle says nothing of what it could do; a reading is noisy, and so is the largest of several.
_LEAST_USE, _USE_NOISE = 0.15, 0.02
_SETTLED_S, _MEASURED_S, _BEHIND_S = 8.0, 25.0, 10.0
_KEPT_CAPACITIES = 60
_FORGET_S = 7200.0

# What the self-correction aims at, as a part of what may be late. What may still be late is counted in minutes of the
# present load in which everything is late: so many of them are plenty, and at the start some count as spent.
_AIM, _PLENTY, _SPENT = 0.4, 2.0, 0.6
_CARE_MEMORY_S = 6 * 3600.0
# Where nothing was promised.
_NO_PROMISE_S = 60.0
# With most care a third of the bound is left alone; with least a late record is worth a twentieth of its price.
_MOST_LEFT, _LEAST_PRICE = 1 / 3, 1 / 20


class BatchModel(NamedTuple):
    """What is known of a query's batches."""

    cost: BatchCost
    driver_s: float
    stretch: float
    """Time of its tasks over that of the same work in whole waves."""
    noise: float
    """How much that scatters: standard deviation of its logarithm."""


BATCHES = RateOutlook(step_s=5.0, horizons_s=(15.0, 120.0))
STREAMS = RateOutlook(step_s=5.0, horizons_s=(30.0, 300.0))


def start(query: Query) -> State:
    """Nothing was seen."""
    outlook = outlook_of(query)
    return {
        "load": outlook.start(),
        "steps": list(Steps(outlook.step_s)),
        "batches": [],
        "walls": [],
        "running": None,
        "judged": None,
        "hoped": None,
        "size": None,
        "outgrown": [],
        "effect": None,
        "stream": {"since": None, "points": [], "rates": []},
    }


def update(state: State, query: Query, now: Observation, hoped: Json = None) -> State:
    """After one more look at a query; `hoped` is what the last decision expects of a new size."""
    after, outlook = {**state}, outlook_of(query)
    after["hoped"] = hoped or after["hoped"]
    _update_load(after, query, outlook)
    _update_judged(after, query, now.at_s)
    _update_outgrown(after, query, now)
    if is_continuous(query):
        after["stream"] = _stream(state["stream"], query, now.pools[0], now.at_s)
    else:
        _update_batches(after, query, now)
    return after


def outlook_of(query: Query) -> RateOutlook:
    """How its load is forecast."""
    return STREAMS if is_continuous(query) else BATCHES


def is_continuous(query: Query) -> bool:
    """Whether it works without batches, as far as it shows."""
    return query.running is None and query.finished is None and query.batches is None


def _update_load(after: State, query: Query, outlook: RateOutlook) -> None:
    arrivals = [source.arrived for source in query.sources]
    known = [reading for reading in arrivals if reading is not None]
    if known and len(known) == len(arrivals):
        total = sum(reading.value for reading in known)
        steps, rates = Steps(*after["steps"]).read(known[0].at_s, total)
        after["steps"], after["load"] = list(steps), outlook.add(after["load"], rates)


def _update_judged(after: State, query: Query, now_s: float) -> None:
    """How many records were on time lately: older ones count less."""
    if query.slo is None or query.on_time is None:
        return
    judged, late = query.on_time.records, query.on_time.records - query.on_time.within
    before = after["judged"] or [now_s, judged, late, 0.0, 0.0]
    kept = math.exp((before[0] - now_s) / _CARE_MEMORY_S)
    in_all = kept * before[3] + max(0.0, judged - before[1])
    late_in_all = kept * before[4] + max(0.0, late - before[2])
    after["judged"] = [now_s, judged, late, in_all, late_in_all]


def _update_outgrown(after: State, query: Query, now: Observation) -> None:
    """Sizes that turned out to be too small for a load that stayed as it was: only noise says that they are enough."""
    wanted, before = now.pools[0].wanted, after["size"]
    expected = outlook_of(query).expect(after["load"])
    if before is None or wanted != before[0]:
        after["size"] = [wanted, now.at_s]
    if not expected or expected[-1].rps <= 0:
        return
    load = expected[-1].rps
    kept = [one for one in after["outgrown"] if abs(math.log(load / one[1])) < _MOVED]
    is_steady = all(abs(math.log(max(one.rps, 1e-9) / load)) < _MOVED and not one.leap for one in expected)
    if before is not None and wanted > before[0] and now.at_s - before[1] >= _HELD_S and is_steady:
        kept.append([before[0], load])
    after["outgrown"] = kept[-_KEPT_OUTGROWN:]


def outgrown(state: State) -> int:
    """The largest size that was too small for the load as it is; 0 if none was."""
    return max((size for size, _ in state["outgrown"]), default=0)


def find_care(state: State, query: Query) -> float:
    """From -1, where more may be late than is, to 1, where more is late than may be."""
    expected = outlook_of(query).expect(state["load"])
    level = max((one.rps for one in expected), default=0.0)
    if query.slo is None or state["judged"] is None or level <= 0:
        return 0.0
    *_, judged, late = state["judged"]
    left = (_AIM * (1 - query.slo.share) * judged - late) / (60 * level)
    return float(min(1.0, max(-1.0, (_SPENT - left) / _PLENTY)))


def planned_bound_s(care: float, query: Query) -> float:
    """The bound that is planned for."""
    return (query.slo.delay_s if query.slo else _NO_PROMISE_S) * (1 - _MOST_LEFT * max(0.0, care))


def price_factor(care: float) -> float:
    """What a late record is worth, as a part of its price."""
    return float(_LEAST_PRICE ** max(0.0, -care))


def _update_batches(after: State, query: Query, now: Observation) -> None:
    batch, running, slots = query.finished, after["running"], sum(pool.slots for pool in now.pools)
    seen, after["batches"] = after["batches"], with_batch(after["batches"], query)
    if batch is not None and seen and after["batches"] is not seen and running == [batch.id, slots]:
        after["walls"] = [*after["walls"], *_wall(batch, slots)][-_KEPT_WALLS:]
        _update_effect(after, batch, now)
    if query.running is None:
        after["running"] = None
    elif running is None or running[0] != query.running.id:
        after["running"] = [query.running.id, slots]
    elif running[1] != slots:
        # Its slots have changed: its time says nothing of any number of them.
        after["running"] = [query.running.id, None]


def _update_effect(after: State, batch: FinishedBatch, now: Observation) -> None:
    """What came of a change, once a whole batch has run on the new size: the size, seconds expected and taken, when."""
    hoped = after["hoped"]
    if hoped is not None and hoped["workers"] == sum(pool.ready for pool in now.pools):
        expected_s = hoped["fixed_s"] + hoped["row_s"] * (batch.rows or 0.0)
        after["effect"] = [hoped["workers"], round(expected_s, 3), round(batch.duration_s, 3), now.at_s]
        after["hoped"] = None


def _wall(batch: FinishedBatch, slots: int) -> list[list[float]]:
    if batch.driver_s is None or not batch.rows or not slots:
        return []
    return [[batch.rows, batch.duration_s - batch.driver_s, batch.driver_s, slots]]


def wave_share(query: Query, slots: int) -> float:
    """Time of its tasks on so many slots, over that on one slot that is always busy."""
    stages = stages_of(query)
    return task_time_s(1.0, stages, slots) if stages else 1.0 / slots


def batch_model(state: State, query: Query) -> BatchModel | None:
    """What its batches cost; None before one is known."""
    cost = find_cost(state["batches"], query)
    if cost is None:
        return None
    ratios = [
        math.log(taken_s / expected_s)
        for rows, taken_s, _, slots in state["walls"]
        if (expected_s := cost.slot_s(rows) * wave_share(query, int(slots))) > 0 and taken_s > 0
    ]
    drivers = [driver_s for _, _, driver_s, _ in state["walls"]]
    stretch, noise = _FIRST_STRETCH, _FIRST_NOISE
    if ratios:
        middle = median(ratios[-_TRUSTED:])
        stretch = min(_STRETCHES[1], max(_STRETCHES[0], math.exp(middle)))
        if len(ratios) > 3:
            spread = 1.48 * median(abs(ratio - median(ratios)) for ratio in ratios)
            noise = min(_MOST_NOISE, spread + _LEAST_NOISE)
    return BatchModel(cost, median(drivers) if drivers else _FIRST_DRIVER_S, stretch, noise)


def _stream(before: State, query: Query, pool: Pool, now_s: float) -> State:
    """What a continuous job did at the size that it has, since it began with it."""
    done = [source.committed for source in query.sources]
    backlog = query.backlog
    if query.phase == "restarting" or pool.in_flux or backlog is None or any(reading is None for reading in done):
        return {**before, "since": None, "points": []}
    if before["since"] is None:
        return {**before, "since": now_s, "points": []}
    total = sum(reading.value for reading in done if reading is not None)
    uses = [worker.cpu.value for worker in pool.workers if worker.cpu is not None]
    points = [*before["points"], [now_s, total, backlog, max(uses, default=0.0)]]
    points = [point for point in points if point[0] > now_s - 2 * _MEASURED_S and point[0] >= before["since"]]
    rates = before["rates"]
    if (measured := _capacity(points, before["since"])) is not None:
        same = [rate for rate in rates if not (rate[0] == pool.ready and rate[3] > now_s - 60)]
        rates = [*same, [pool.ready, *measured, now_s]][-_KEPT_CAPACITIES:]
    return {"since": before["since"], "points": points, "rates": rates}


def _capacity(points: list[list[float]], since_s: float) -> tuple[float, float] | None:
    """Records per second that the size can do, and how far that is to be trusted."""
    if len(points) < 2:
        return None
    first, last = points[0], points[-1]
    took_s = last[0] - first[0]
    if took_s <= 0:
        return None
    rate = (last[1] - first[1]) / took_s
    waits = min(point[2] for point in points)
    if took_s >= _BEHIND_S and rate > 0 and waits > 2 * rate:
        # It has had more to do than it could all the time.
        return round(rate, 3), 1.0
    settled = [point for point in points if point[0] >= since_s + _SETTLED_S]
    if len(settled) < 3 or settled[-1][0] - settled[0][0] < _MEASURED_S or not settled[0][3]:
        return None
    rate = (settled[-1][1] - settled[0][1]) / (settled[-1][0] - settled[0][0])
    use = sum(point[3] for point in settled[1:]) / (len(settled) - 1) - _USE_NOISE
    if use < _LEAST_USE or rate <= 0:
        return None
    return round(rate / min(1.0, use), 3), round(min(1.0, use), 3)


def stream_rates(state: State, sizes: Floats, now_s: float) -> Floats | None:
    """Records per second at every size: 1/rate = a + b/size through what was measured, neither below 0."""
    seen = np.array(state["stream"]["rates"], dtype=float)
    if not len(seen):
        return None
    weight = seen[:, 2] ** 2 * np.exp((seen[:, 3] - now_s) / _FORGET_S) * seen[:, 1]
    terms = np.stack([np.ones(len(seen)), 1.0 / seen[:, 0]], axis=1) * weight[:, None]
    told = weight / seen[:, 1]
    products = terms.T @ terms
    # With sizes that are alike nothing is known of what more of them do: as much for each.
    products[0, 0] += 0.01 * float(weight @ weight)
    fixed, shared = np.linalg.solve(products + 1e-15 * np.eye(2), terms.T @ told)
    if fixed < 0:
        fixed, shared = 0.0, float(terms[:, 1] @ told) / float(terms[:, 1] @ terms[:, 1])
    elif shared < 0:
        fixed, shared = float(terms[:, 0] @ told) / float(terms[:, 0] @ terms[:, 0]), 0.0
    rates: Floats = 1.0 / (fixed + shared / sizes)
    return rates
