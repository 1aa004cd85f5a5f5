"""The size for a continuous job, which a change stops."""

from __future__ import annotations

import numpy as np

from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.policies.foresight import capacity, learning
from elastream.policies.foresight.choice import (
    BINDINGS,
    LEAST_RPS,
    Loads,
    QueryChoice,
    Taste,
    Weighed,
    find_loads,
    find_phases,
    weigh,
)
from elastream.policies.foresight.plan import Prices, plan
from elastream.policies.foresight.plant import BitMap, Floats, StreamPlant, thin

# Of a job that was never changed yet; work since the last checkpoint, and what a record takes that never waits.
_STOP_S, _REPLAY_S, _BASE_S = 30.0, 5.0, 2.0
# A stop must be over in its step, with time to see what comes of it.
_STEPS, _LEAST_STEP_S, _AFTER_STOP_S = 12, 30.0, 15.0
# Of what was measured, as much is relied upon.
_RELIED = 0.97
# What keeps up must do so with so many times the load: between two sizes it would go up and down with what is measured.
_MORE = 1.04
# Older records than this say that it has not caught up yet.
_SETTLED_S = 10.0
# Records that are so many times older than the bound are no state that a plan could tell from others.
_LOST = 2.0
# A leap that is so young has hardly shown how far it goes, and is looked at once more before the job is stopped for it,
# where that leaves time.
_YOUNG_S, _NEXT_LOOK_S = 2.0, 5.0
# A job that nothing comes to for so long needs no more than the fewest workers, though it was never measured.
_IDLE_S, _IDLE_RPS = 300.0, 1.0
# For so long what came of a change is told.
_NEWS_S = 300.0


def choose_for_stream(
    query: Query, pool: Pool, now: Observation, known: Knowledge, state: learning.State, taste: Taste
) -> QueryChoice | str:
    """The size, or why it cannot be told."""
    if query.phase == "restarting" or pool.in_flux:
        return _keep(pool, f"{query.name} is restarting")
    sizes = thin(range(max(1, pool.min_workers), max(1, pool.max_workers) + 1), pool.wanted)
    expected = learning.outlook_of(state, query).expect(state["load"])
    if not expected:
        return f"what {query.name} can do has not been measured yet"
    age_s = _age_s(query, expected[0].rps)
    rates = capacity.find_rates(state["stream"], np.array(sizes, dtype=float), now.at_s)
    if rates is None:
        is_idle = age_s == 0 and all(one.rps < _IDLE_RPS for one in expected)
        if is_idle and capacity.idle_for_s(state["stream"], now.at_s) >= _IDLE_S:
            return QueryChoice(sizes[0], f"nothing comes to {query.name}", {}, float(sizes[0]))
        return f"what {query.name} can do has not been measured yet"
    care = 0.0 if taste.without == "care" else learning.find_care(state, query)
    loads = find_loads(expected, taste)
    stops = taste.without != "stops"
    plant = StreamPlant(
        sizes=np.array(sizes, dtype=float),
        rates_rps=_RELIED * rates,
        grow_s=(known.grow_s(pool.name) or _STOP_S) * stops,
        shrink_s=(known.shrink_s(pool.name) or _STOP_S) * stops,
        replay_s=_REPLAY_S * stops,
        base_s=_BASE_S,
        bound_s=learning.planned_bound_s(care, query),
    )
    if taste.without != "leaps" and expected[0].leap and 0 < age_s < _YOUNG_S and _may_wait(plant, age_s):
        return _keep(pool, f"{query.name}: a load that has just leapt is looked at once more before the job is stopped")
    # A job that has just been too small for the same load is not made so again; between two sizes it would be.
    outgrown = 0 if taste.without == "outgrown" else learning.outgrown(state)
    keeps_up = plant.keeps_up(_MORE * loads.lasting) & (plant.sizes > outgrown)
    keeps_up[-1] |= not keeps_up.any()
    work = float(plant.sizes[keeps_up][0]) / max(loads.lasting, LEAST_RPS)
    prices = Prices(late=taste.late * work * learning.price_factor(care), change=taste.calm, work=work)
    came_rps = (query.backlog or 0.0) / age_s if age_s else loads.level
    cost = weigh(_costs(plant, loads, prices, pool.wanted, keeps_up, age_s, max(came_rps, LEAST_RPS), taste))
    floor = find_floor(plant, loads, pool.wanted, keeps_up, age_s)
    allowed = (plant.sizes >= max(pool.wanted, floor)) | (keeps_up & (age_s < _SETTLED_S))
    weighed = Weighed(sizes, cost, allowed, keeps_up)
    if not weighed.makes_sense:
        return f"what was measured of {query.name} makes no sense"
    choice = _told(query, pool, plant, weighed, loads, age_s, care, taste.calm)
    return _with_effect(choice, state, now.at_s)


def find_floor(plant: StreamPlant, loads: Loads, wanted: int, keeps_up: BitMap, age_s: float) -> float:
    """A size that is not gone below, whatever the plan says: it tells ages apart up to a few times the bound.

    Who is further behind than that gets all there is. Who is behind and falls back further gets what keeps up.
    """
    if age_s > _LOST * plant.bound_s:
        return float(plant.sizes[-1])
    can_rps = float(np.interp(wanted, plant.sizes, plant.rates_rps))
    if age_s > _SETTLED_S and can_rps < min(loads.level, float(np.median(loads.later))):
        return float(plant.sizes[keeps_up][0])
    return 0.0


def _keep(pool: Pool, sentence: str) -> QueryChoice:
    return QueryChoice(pool.wanted, sentence, {}, float(pool.wanted * pool.slots_per_worker))


def _may_wait(plant: StreamPlant, age_s: float) -> bool:
    """Whether a change would be in time at the next look too."""
    return age_s + _NEXT_LOOK_S + plant.grow_s + plant.replay_s + _NEXT_LOOK_S < plant.bound_s


def _with_effect(choice: QueryChoice, state: learning.State, now_s: float) -> QueryChoice:
    """With what came of the last change, for a while."""
    effect = state["effect"]
    if effect is None or now_s - effect[3] >= _NEWS_S:
        return choice
    told = f"{choice.sentence}; with {effect[0]} it was expected to do {effect[1]:,}/s, and does {effect[2]:,}/s"
    evidence: dict[str, Json] = {
        "effect_workers": effect[0], "effect_expected_rps": effect[1], "effect_rps": effect[2]
    }  # fmt: skip
    return choice._replace(sentence=told, evidence={**choice.evidence, **evidence})


def _age_s(query: Query, rps: float) -> float:
    """For how long the oldest record has waited; none has where only those wait that are on their way."""
    backlog = query.backlog or 0.0
    if backlog <= rps * 1.0:
        return 0.0
    ages = [source.backlog_age_s.value for source in query.sources if source.backlog_age_s is not None]
    return max(ages, default=backlog / max(rps, LEAST_RPS))


def _costs(
    plant: StreamPlant,
    loads: Loads,
    prices: Prices,
    wanted: int,
    keeps_up: BitMap,
    age_s: float,
    came_rps: float,
    taste: Taste,
) -> Floats:
    """What each size costs for each load, from now to the horizon: the present one goes on, others stop the job."""
    step_s = max(_LEAST_STEP_S, max(plant.grow_s, plant.shrink_s) + _AFTER_STOP_S)
    phases = find_phases(loads, taste, step_s, soon=1, steps=_STEPS)
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


def _told(
    query: Query,
    pool: Pool,
    plant: StreamPlant,
    weighed: Weighed,
    loads: Loads,
    age_s: float,
    care: float,
    change: float,
) -> QueryChoice:
    """The choice with its sentence: what binds, and what the sizes beside it would do."""
    at = weighed.best
    workers, rate = weighed.sizes[at], float(plant.rates_rps[at])
    waits = f"records have waited for {age_s:.0f} s; " if age_s else ""
    beside = [_tell_neighbour(plant, weighed, place, at, loads) for place in weighed.neighbours(workers)]
    enough = plant.keeps_up(loads.level)
    binding = weighed.binding(workers, pool.wanted, change, can=enough, enough=enough, settled=age_s < _SETTLED_S)
    sentence = (
        f"{query.name}: {loads.level:,.0f}/s arrive, up to {loads.lasting:,.0f}/s may; {BINDINGS[binding]}; "
        f"{waits}{workers} can do "
        f"{rate:,.0f}/s; {'; '.join(beside)}; a change stops the job for {plant.grow_s:.0f} s of {plant.bound_s:.0f} s"
    )
    evidence: dict[str, Json] = {
        "binding": binding,
        "arrival_rps": loads.level,
        "lasting_rps": loads.lasting,
        **loads.expected,
        "capacity_rps": rate,
        "age_s": age_s,
        "care": care,
        **{f"cost_s/{size}": float(cost) for size, cost in zip(weighed.sizes, weighed.cost, strict=True)},
    }
    expected: dict[str, Json] = {"workers": workers, "rate_rps": rate}
    slots = float(workers * pool.slots_per_worker)
    return QueryChoice(workers, sentence, evidence, slots, expected if workers != pool.wanted else None)


def _tell_neighbour(plant: StreamPlant, weighed: Weighed, place: int, at: int, loads: Loads) -> str:
    size, over = weighed.sizes[place], float(weighed.cost[place] - weighed.cost[at])
    if not weighed.keeps_up[place]:
        return f"{size} can do {plant.rates_rps[place]:,.0f}/s and would not keep up"
    if place < at and not weighed.allowed[place]:
        return f"{size} not before it has caught up"
    return f"{size}: {over:+,.0f} executor-s"
