"""The size for a continuous job, which a change stops."""

from __future__ import annotations

import numpy as np

from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.policies.foresight import learning
from elastream.policies.foresight.choice import LEAST_RPS, Loads, QueryChoice, Taste, Weighed, find_loads, weigh
from elastream.policies.foresight.plan import Phase, Prices, plan
from elastream.policies.foresight.plant import BitMap, Floats, StreamPlant, thin

# Of a job that was never changed yet; work since the last checkpoint, and what a record takes that never waits.
_STOP_S, _REPLAY_S, _BASE_S = 30.0, 5.0, 2.0
# A stop must be over in its step, with time to see what comes of it.
_STEPS, _LEAST_STEP_S, _AFTER_STOP_S = 12, 30.0, 15.0
# Of what was measured, as much is relied upon.
_RELIED = 0.97
# Older records than this say that it has not caught up yet.
_SETTLED_S = 10.0


def choose_for_stream(
    query: Query, pool: Pool, now: Observation, known: Knowledge, state: learning.State, taste: Taste
) -> QueryChoice | str:
    """The size, or why it cannot be told."""
    if query.phase == "restarting" or pool.in_flux:
        return QueryChoice(pool.wanted, f"{query.name} is restarting", {})
    sizes = thin(range(max(1, pool.min_workers), max(1, pool.max_workers) + 1), pool.wanted)
    expected = learning.outlook_of(query).expect(state["load"])
    rates = learning.stream_rates(state, np.array(sizes, dtype=float), now.at_s)
    if rates is None or not expected:
        return f"what {query.name} can do has not been measured yet"
    care = learning.find_care(state, query)
    loads = find_loads(expected, taste.keep)
    plant = StreamPlant(
        sizes=np.array(sizes, dtype=float),
        rates_rps=_RELIED * rates,
        grow_s=known.grow_s(pool.name) or _STOP_S,
        shrink_s=known.shrink_s(pool.name) or _STOP_S,
        replay_s=_REPLAY_S,
        base_s=_BASE_S,
        bound_s=learning.planned_bound_s(care, query),
    )
    age_s = _age_s(query, loads.level)
    keeps_up = plant.keeps_up(loads.lasting)
    keeps_up[-1] |= not keeps_up.any()
    work = float(plant.sizes[keeps_up][0]) / max(loads.lasting, LEAST_RPS)
    prices = Prices(late=taste.late * work * learning.price_factor(care), change=taste.calm, work=work)
    came_rps = (query.backlog or 0.0) / age_s if age_s else loads.level
    cost = weigh(_costs(plant, loads, prices, pool.wanted, keeps_up, age_s, max(came_rps, LEAST_RPS)))
    allowed = (plant.sizes >= pool.wanted) | (keeps_up & (age_s < _SETTLED_S))
    weighed = Weighed(sizes, cost, allowed, keeps_up)
    if not weighed.makes_sense:
        return f"what was measured of {query.name} makes no sense"
    return _told(query, plant, weighed, loads, age_s, care)


def _age_s(query: Query, rps: float) -> float:
    """For how long the oldest record has waited; none has where only those wait that are on their way."""
    backlog = query.backlog or 0.0
    if backlog <= rps * 1.0:
        return 0.0
    ages = [source.backlog_age_s.value for source in query.sources if source.backlog_age_s is not None]
    return max(ages, default=backlog / max(rps, LEAST_RPS))


def _costs(
    plant: StreamPlant, loads: Loads, prices: Prices, wanted: int, keeps_up: BitMap, age_s: float, came_rps: float
) -> Floats:
    """What each size costs for each load, from now to the horizon: the present one goes on, others stop the job."""
    step_s = max(_LEAST_STEP_S, max(plant.grow_s, plant.shrink_s) + _AFTER_STOP_S)
    phases = [Phase(step_s, loads.soon, loads.lumps), Phase(_STEPS * step_s, loads.later, loads.lumps)]
    ahead = plan(
        plant, phases, prices, step_s=step_s, bound_s=plant.bound_s, may_shrink=keeps_up, came_rps=came_rps,
        since_s=step_s,
    )  # fmt: skip
    now = np.full((1, 1, 1), age_s), np.full((1, 1, 1), came_rps), loads.soon[:, None, None], step_s
    costs = np.empty((len(loads.soon), len(plant.sizes)))
    for step, price, where in (
        (plant.step(*now), 0.0, plant.sizes == wanted),
        (plant.change(*now, grows=True), prices.change, plant.sizes > wanted),
        (plant.change(*now, grows=False), prices.change, plant.sizes < wanted),
    ):
        after_s = np.broadcast_to(step.age_s[:, :, 0], costs.shape)
        found = prices.late * step.late[:, :, 0] + plant.sizes * step_s + ahead.cost(after_s) + price
        costs[:, where] = np.broadcast_to(found, costs.shape)[:, where]
    return costs


def _told(query: Query, plant: StreamPlant, weighed: Weighed, loads: Loads, age_s: float, care: float) -> QueryChoice:
    """The choice with its sentence: what binds, and what the sizes beside it would do."""
    at = weighed.best
    workers, rate = weighed.sizes[at], float(plant.rates_rps[at])
    waits = f"records have waited for {age_s:.0f} s; " if age_s else ""
    beside = [_tell_neighbour(plant, weighed, place, at, loads) for place in weighed.neighbours(workers)]
    sentence = (
        f"{query.name}: {loads.level:,.0f}/s arrive, up to {loads.lasting:,.0f}/s may; {waits}{workers} can do "
        f"{rate:,.0f}/s; {'; '.join(beside)}; a change stops the job for {plant.grow_s:.0f} s of {plant.bound_s:.0f} s"
    )
    evidence: dict[str, Json] = {
        "arrival_rps": loads.level,
        "lasting_rps": loads.lasting,
        "capacity_rps": rate,
        "age_s": age_s,
        "care": care,
        **{f"cost_s/{size}": float(cost) for size, cost in zip(weighed.sizes, weighed.cost, strict=True)},
    }
    return QueryChoice(workers, sentence, evidence)


def _tell_neighbour(plant: StreamPlant, weighed: Weighed, place: int, at: int, loads: Loads) -> str:
    size, over = weighed.sizes[place], float(weighed.cost[place] - weighed.cost[at])
    if not weighed.keeps_up[place]:
        return f"{size} can do {plant.rates_rps[place]:,.0f}/s and would not keep up"
    if place < at and not weighed.allowed[place]:
        return f"{size} not before it has caught up"
    return f"{size}: {over:+,.0f} executor-s"
