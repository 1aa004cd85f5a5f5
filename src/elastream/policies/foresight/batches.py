"""The size for a query that runs micro-batches."""

from __future__ import annotations

import math

import numpy as np

from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.core.signals import Signal
from elastream.estimators.waves import stages_of
from elastream.policies.foresight import learning
from elastream.policies.foresight.choice import (
    BINDINGS,
    Loads,
    QueryChoice,
    Taste,
    Weighed,
    find_loads,
    find_phases,
    weigh,
)
from elastream.policies.foresight.learning import BatchModel
from elastream.policies.foresight.plan import Prices, plan
from elastream.policies.foresight.plant import BatchNow, BatchPlant, distinct, thin

# New workers of a cluster nobody has measured yet.
_GROW_S = 10.0
# So many steps are planned, of which the first are soon; a step is as long as new workers take, or at least this long.
_STEPS, _SOON, _LEAST_STEP_S = 12, 3, 10.0
# What waits is no more than what waits anyway once the size has come to rest.
_SETTLED = 1.2
# What keeps up must do so with so many times the load: between two sizes it would go up and down with what is measured.
_MORE = 1.04
# A bound that the trigger and the fixed part of batches leave nothing of is not planned for: a batch has at least so
# much of the time between two triggers, and so many times its fixed part.
_LEAST_OF_TRIGGER, _LEAST_OF_FIXED = 0.25, 2.5
# Few batches take longer than so many standard deviations.
_LONG = 1.9
_OTHERS_WINDOW_S = 60.0
# For so long what came of a change is told.
_NEWS_S = 60.0


def choose_for_batches(
    query: Query, pool: Pool, now: Observation, known: Knowledge, state: learning.State, taste: Taste
) -> QueryChoice | str:
    """The size, or why it cannot be told."""
    model, expected = (
        learning.batch_model(state, query, now.at_s, taste.without),
        learning.outlook_of(state, query).expect(state["load"]),
    )
    if model is None or not expected:
        return f"no batch of {query.name} has been measured yet"
    care = 0.0 if taste.without == "care" else learning.find_care(state, query)
    loads = find_loads(expected, taste)
    others = _busy_of_others(query, now, known)
    sizes, plant = _plant(query, pool, others, model, learning.planned_bound_s(care, query), taste)
    grow_s = known.grow_s(pool.name) or _GROW_S
    moment = _moment(query, pool, now, known, sizes, grow_s)
    work = model.cost.per_record_s / pool.slots_per_worker
    prices = Prices(late=taste.late * work * learning.price_factor(care), change=taste.calm, work=work)
    outgrown = 0 if taste.without == "outgrown" else learning.outgrown(state)
    weighed = _weigh(plant, sizes, moment, loads, prices, pool, outgrown, max(_LEAST_STEP_S, grow_s), taste)
    if not weighed.makes_sense:
        return f"what was measured of {query.name} makes no sense"
    workers = sizes[weighed.best]
    doubt = model.cost.doubt(loads.level * _period_s(plant, weighed.best, loads.level))
    if doubt is not None:
        # On little evidence: at most twice the size, or what is sure, and one fewer.
        workers = min(max(workers, pool.wanted - 1), max(2 * pool.wanted, int(doubt.sure * workers)))
    workers = min(max(workers, pool.min_workers, 1), pool.max_workers)
    notes = [f"little is known ({doubt.reason}), so at most twice the size or what is sure"] if doubt else []
    if query.slo is not None and plant.bound_s > query.slo.delay_s:
        left_s = max(0.0, query.slo.delay_s - plant.trigger_s)
        notes.append(f"a trigger of {plant.trigger_s:g} s leaves {left_s:g} s of the {query.slo.delay_s:g} s promised")
    elif care > 0 and query.slo is not None:
        notes.append(f"plans for {plant.bound_s:.0f} s of {query.slo.delay_s:g} s, for records were late or may be")
    effect = state["effect"]
    if effect is not None and now.at_s - effect[3] < _NEWS_S:
        notes.append(f"with {effect[0]} a batch was expected to take {effect[1]:.1f} s, and took {effect[2]:.1f} s")
    choice = _told(query, pool, plant, weighed, loads, moment, workers, taste.calm, notes)
    evidence: dict[str, Json] = {"stretch": model.stretch, "noise": model.noise, "care": care}
    if effect is not None:
        evidence |= {"effect_workers": effect[0], "effect_expected_s": effect[1], "effect_took_s": effect[2]}
    slots = max(1.0, workers * pool.slots_per_worker - others)
    return choice._replace(evidence={**choice.evidence, **evidence}, slots=slots)


def _plant(
    query: Query, pool: Pool, others: float, model: BatchModel, bound_s: float, taste: Taste
) -> tuple[list[int], BatchPlant]:
    """What batches take at each size of the pool that is worth having, beside slots that are busy for others."""
    every = range(max(1, pool.min_workers), max(1, pool.max_workers) + 1)
    slots = {size: max(1, round(size * pool.slots_per_worker - others)) for size in every}
    stages = learning.waves_of(query, taste.without)
    shares = {size: learning.wave_share(stages, slots[size]) for size in every}
    ready = min(max(pool.ready, every[0]), every[-1])
    sizes = thin(distinct(list(shares), list(shares.values()), (pool.wanted, ready)), pool.wanted)
    waves = np.array([shares[size] for size in sizes]) * model.stretch
    fixed_s, trigger_s = model.driver_s + waves * model.cost.per_batch_s, query.trigger.interval_s or 0.0
    if taste.without == "slack" and trigger_s:
        bound_s = min(bound_s, 2 * trigger_s)
    least_s = trigger_s + max(_LEAST_OF_TRIGGER * trigger_s, _LEAST_OF_FIXED * float(fixed_s.min()))
    return sizes, BatchPlant(
        sizes=np.array(sizes, dtype=float),
        fixed_s=fixed_s,
        row_s=waves * model.cost.per_record_s,
        trigger_s=trigger_s,
        noise=model.noise,
        bound_s=max(bound_s, least_s),
    )


def _busy_of_others(query: Query, now: Observation, known: Knowledge) -> float:
    """Slots that are busy with work that is not this query's, on average."""
    busy = now.other_busy_slots.value if now.other_busy_slots is not None else 0.0
    for other in now.queries:
        if other.id != query.id and other.phase != "terminated":
            names = [f"{other.id}/{work.name}" for work in other.operators]
            rates = [known.rate(Signal.BUSY_TIME, name, _OTHERS_WINDOW_S) for name in names]
            busy += sum(rate for rate in rates if rate is not None)
    return busy


def _moment(query: Query, pool: Pool, now: Observation, known: Knowledge, sizes: list[int], grow_s: float) -> BatchNow:
    """What the query is doing now."""
    running, interval_s = query.running, query.trigger.interval_s or 0.0
    rows = (running.rows or 0.0) if running else 0.0
    elapsed_s = now.at_s - running.started_s if running else 0.0
    ages = [source.backlog_age_s.value for source in query.sources if source.backlog_age_s is not None]
    oldest_s = max(ages, default=elapsed_s + interval_s)
    last_began_s = query.finished.started_s if query.finished else now.at_s - interval_s
    began_s = running.started_s if running else last_began_s
    change = known.actions[-1] if known.actions else None
    coming_s = max(1.0, grow_s - (now.at_s - change.at_s)) if change is not None and change.done_s is None else grow_s
    every = np.array(sizes)
    return BatchNow(
        ready=min(range(len(sizes)), key=lambda place: abs(sizes[place] - pool.ready)),
        rows=rows,
        elapsed_s=elapsed_s,
        waiting=max(0.0, (query.backlog or 0.0) - rows),
        oldest_s=oldest_s,
        waiting_age_s=min(elapsed_s, oldest_s) if running else oldest_s,
        next_trigger_s=max(0.0, began_s + interval_s - now.at_s),
        coming_s=np.where(every <= pool.ready, 0.0, np.where(every <= pool.wanted, coming_s, grow_s)),
    )


def _weigh(
    plant: BatchPlant,
    sizes: list[int],
    moment: BatchNow,
    loads: Loads,
    prices: Prices,
    pool: Pool,
    outgrown: int,
    step_s: float,
    taste: Taste,
) -> Weighed:
    """What every size costs, from the running batch to the horizon."""
    keeps_up = plant.keeps_up(_MORE * loads.lasting)
    # Where none does, the largest does it longest.
    keeps_up[-1] |= not keeps_up.any()
    phases = find_phases(loads, taste, step_s, soon=_SOON, steps=_STEPS)
    ahead = plan(plant, phases, prices, step_s=step_s, bound_s=plant.bound_s, may_shrink=keeps_up)
    begin = plant.begin(moment, loads.soon)
    cost = prices.late * begin.late + plant.sizes * begin.takes_s + ahead.cost(begin.age_s)
    # Sizes differ in when their next batch ends: what is left of the same time costs what is usual then.
    cost = weigh(cost - ahead.least_rate()[:, None] * begin.takes_s) + prices.change * (plant.sizes != pool.wanted)
    waits = moment.waiting + loads.level * float(np.max(moment.until_s(plant)))
    settled = waits <= _SETTLED * loads.level * plant.rest_s(loads.level)
    is_proven = (plant.sizes > outgrown) | plant.slowed(math.exp(_LONG * plant.noise)).keeps_up(loads.lasting)
    may_shrink = keeps_up & settled & is_proven & (pool.ready >= pool.wanted)
    return Weighed(sizes, cost, (plant.sizes >= pool.wanted) | may_shrink, keeps_up)


def _period_s(plant: BatchPlant, place: int, rps: float) -> float:
    """From batch to batch, or as long as may be where they get longer and longer."""
    return float(min(plant.rest_s(rps)[place], plant.bound_s))


def _told(
    query: Query,
    pool: Pool,
    plant: BatchPlant,
    weighed: Weighed,
    loads: Loads,
    moment: BatchNow,
    workers: int,
    change: float,
    notes: list[str],
) -> QueryChoice:
    """The choice with its sentence: what binds, and what the sizes beside it would do."""
    at = weighed.place_of(workers)
    period_s = _period_s(plant, at, loads.level)
    rows = loads.level * period_s
    batch_s = float(plant.fixed_s[at] + plant.row_s[at] * rows)
    parts = [
        f"{loads.level:,.0f}/s arrive, up to {loads.lasting:,.0f}/s may",
        f"on {workers} a batch of {rows:,.0f} rows takes {batch_s:.1f} s, delay up to {period_s + batch_s:.1f} s of "
        f"{plant.bound_s:.1f} s",
        *(_tell_neighbour(plant, weighed, place, at, loads) for place in weighed.neighbours(workers)),
    ]
    excess = moment.waiting - loads.level * period_s
    if excess > 0:
        parts.insert(1, f"{excess:,.0f} records wait beyond one batch")
    can, enough = np.isfinite(plant.rest_s(loads.level)), plant.keeps_up(loads.level)
    binding = weighed.binding(workers, pool.wanted, change, can=can, enough=enough, settled=excess <= 0)
    parts.insert(1, BINDINGS[binding])
    if binding == "ceiling" and weighed.sizes[at] < pool.max_workers and (stages := stages_of(query)):
        parts.insert(2, _tell_ceiling(max(stage.tasks for stage in stages)))
    evidence: dict[str, Json] = {
        "binding": binding,
        "arrival_rps": loads.level,
        "lasting_rps": loads.lasting,
        **loads.expected,
        "batch_s": batch_s,
        "delay_s": period_s + batch_s,
        **{f"cost_s/{size}": float(cost) for size, cost in zip(weighed.sizes, weighed.cost, strict=True)},
    }
    sentence = f"{query.name}: {'; '.join([*parts, *notes])}"
    expected: dict[str, Json] = {
        "query": query.id, "workers": workers, "fixed_s": float(plant.fixed_s[at]), "row_s": float(plant.row_s[at])
    }  # fmt: skip
    return QueryChoice(workers, sentence, evidence, float(workers), expected if workers != pool.wanted else None)


def _tell_ceiling(tasks: int) -> str:
    return f"{tasks} tasks keep at most {tasks} slots busy; raise the partitions of the widest stage to go further"


def _tell_neighbour(plant: BatchPlant, weighed: Weighed, place: int, at: int, loads: Loads) -> str:
    size, over = weighed.sizes[place], float(weighed.cost[place] - weighed.cost[at])
    rest_s = float(plant.rest_s(loads.lasting)[place])
    batch_s = float(plant.fixed_s[place] + plant.row_s[place] * loads.lasting * rest_s)
    if not weighed.keeps_up[place] or not np.isfinite(rest_s):
        return f"{size} would not keep up with {loads.lasting:,.0f}/s"
    if place < at and not weighed.allowed[place]:
        return f"{size} not before what waits is worked off"
    return f"{size}: up to {rest_s + batch_s:.1f} s, {over:+,.0f} executor-s"
