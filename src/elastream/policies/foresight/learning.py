"""What is learned of a query from look to look, without probing: plain memories, and what follows from them.

Of micro-batches: what a batch costs (`estimators.batch_cost`), how much longer its tasks take than that work spread
over its slots in whole waves (stragglers, cold executors, state that is elsewhere), and how much that scatters. Medians
of the last ones, for a single batch says little; but two in a row that are both longer than all before them scatter are
another job (new code, new data), and only what came since then counts. Of a continuous job: `capacity`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from elastream.core.decision import Json
from elastream.core.observation import FinishedBatch, Observation, Query
from elastream.estimators.batch_cost import BatchCost
from elastream.estimators.batch_history import find_cost, with_batch
from elastream.estimators.outlook import RateOutlook
from elastream.estimators.steps import Steps
from elastream.estimators.waves import Stage, stages_of, task_time_s
from elastream.policies.foresight import capacity

State = dict[str, Any]

# A size that was had for so long, and was too small for a load that stayed as it was, is not tried again until that
# moves, or the size would be enough with batches as long as they ever are.
_HELD_S, _KEPT_OUTGROWN, _MOVED = 60.0, 16, 0.1
_KEPT_WALLS, _TRUSTED = 12, 7
_FIRST_STRETCH, _STRETCHES = 1.1, (0.7, 4.0)
_FIRST_NOISE, _LEAST_NOISE, _MOST_NOISE = 0.15, 0.02, 0.5
_FIRST_DRIVER_S = 0.3
# Stands for the number of a batch of another run.
_NO_BATCH = -1

# Two batches in a row that take so many times longer than those before, and longer than these scatter; how much they
# scatter is not told by fewer than seven.
_BREAK, _BREAK_DEVIATIONS, _BREAK_BATCHES, _LEAST_BEFORE = 1.4, 3.0, 2, 7

# What the self-correction aims at, as a part of what may be late. What may still be late is counted in minutes of the
# present load in which everything is late: so many of them are plenty, and at the start some count as spent.
_AIM, _PLENTY, _SPENT = 0.4, 2.0, 0.6
_CARE_MEMORY_S = 6 * 3600.0
# Where nothing was promised: a minute, or two intervals of the trigger and a half.
_NO_PROMISE_S, _NO_PROMISE_TRIGGERS = 60.0, 2.5
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


# Of what lies ahead of batches, so many steps are told apart, and the next few of them are soon.
_STEPS_AHEAD, _STEPS_SOON = 24, 3
# Where a change stops a job it pays to know where its load is heading; where one costs seconds it does not.
STREAMS = RateOutlook(step_s=5.0, horizons_s=(30.0, 300.0), heading=(4, 8, 16), errors=400)


def start(query: Query, ahead_s: float) -> State:
    """Nothing was seen; of batches it will be told what may come in that time."""
    outlook = _outlook(query, ahead_s)
    return {
        "name": query.name,
        "ahead_s": ahead_s,
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
        "stream": capacity.start(),
    }


def warm(new: State, before: State, now_s: float) -> State:
    """A new state with what was learned in another run of the same job: costs and errors, nothing that has a time."""
    told = [{**one, **{key: old[key] for key in ("losses", "scores")}} for one, old in
            zip(new["load"]["ahead"], before["load"]["ahead"], strict=True)]  # fmt: skip
    rates = [[size, rate, trust, now_s] for size, rate, trust, _ in before["stream"]["rates"]]
    return {
        **new,
        "load": {**new["load"], "error": before["load"]["error"], "ahead": told},
        "batches": [[_NO_BATCH, *batch[1:]] for batch in before["batches"]],
        "walls": before["walls"],
        "stream": {**new["stream"], "rates": rates},
    }


def update(state: State, query: Query, now: Observation, hoped: Json = None) -> State:
    """After one more look at a query; `hoped` is what the last decision expects of a new size."""
    after, outlook = {**state}, outlook_of(state, query)
    after["hoped"] = hoped or after["hoped"]
    _update_load(after, query, outlook)
    _update_judged(after, query, now.at_s)
    _update_outgrown(after, query, now)
    if is_continuous(query):
        after["stream"] = capacity.update(state["stream"], query, now.pools[0], now.at_s)
        _update_stream_effect(after, now)
    else:
        _update_batches(after, query, now)
    return after


def outlook_of(state: State, query: Query) -> RateOutlook:
    """How its load is forecast."""
    return _outlook(query, state["ahead_s"])


def _outlook(query: Query, ahead_s: float) -> RateOutlook:
    if is_continuous(query):
        return STREAMS
    step_s = ahead_s / _STEPS_AHEAD
    return RateOutlook(step_s=step_s, horizons_s=(_STEPS_SOON * step_s, ahead_s))


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
    expected = outlook_of(after, query).expect(after["load"])
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
    expected = outlook_of(state, query).expect(state["load"])
    level = max((one.rps for one in expected), default=0.0)
    if query.slo is None or state["judged"] is None or level <= 0:
        return 0.0
    *_, judged, late = state["judged"]
    left = (_AIM * (1 - query.slo.share) * judged - late) / (60 * level)
    return float(min(1.0, max(-1.0, (_SPENT - left) / _PLENTY)))


def planned_bound_s(care: float, query: Query) -> float:
    """The bound that is planned for."""
    usual_s = max(_NO_PROMISE_S, _NO_PROMISE_TRIGGERS * (query.trigger.interval_s or 0.0))
    return (query.slo.delay_s if query.slo else usual_s) * (1 - _MOST_LEFT * max(0.0, care))


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


def _update_stream_effect(after: State, now: Observation) -> None:
    """What came of a change of a continuous job, once it was measured there: the size, records per second, when."""
    hoped = after["hoped"]
    if hoped is not None and (found := capacity.measured_at(after["stream"], hoped["workers"])) is not None:
        after["effect"] = [hoped["workers"], round(hoped["rate_rps"]), round(found), now.at_s]
        after["hoped"] = None


def _wall(batch: FinishedBatch, slots: int) -> list[list[float]]:
    if batch.driver_s is None or not batch.rows or not slots:
        return []
    return [[batch.rows, batch.duration_s - batch.driver_s, batch.driver_s, slots]]


def waves_of(query: Query, without: str = "nothing") -> Sequence[Stage]:
    """How its batches are cut into tasks; empty where that is not known, or not to be known."""
    return stages_of(query) if without != "waves" else ()


def wave_share(stages: Sequence[Stage], slots: int) -> float:
    """Time of tasks on so many slots, over that on one slot that is always busy."""
    return task_time_s(1.0, stages, slots) if stages else 1.0 / slots


def batch_model(state: State, query: Query, now_s: float | None = None, without: str = "nothing") -> BatchModel | None:
    """What its batches cost; None before one is known. `without` names what is left out (`choice.Ingredient`)."""
    cost = find_cost(state["batches"], query)
    if cost is None:
        return None
    drivers = [driver_s for _, _, driver_s, _ in state["walls"]]
    driver_s = median(drivers) if drivers else _FIRST_DRIVER_S
    stages = waves_of(query, without)
    ratios = [
        math.log(taken_s / expected_s)
        for rows, taken_s, _, slots in state["walls"]
        if (expected_s := cost.slot_s(rows) * wave_share(stages, int(slots))) > 0 and taken_s > 0
    ]
    stretch, noise = _FIRST_STRETCH, _FIRST_NOISE
    if ratios:
        if without != "breaks":
            ratios = _since_break(ratios, _overdue(state, query, cost, driver_s, now_s))
        middle = median(ratios[-_TRUSTED:])
        stretch = min(_STRETCHES[1], max(_STRETCHES[0], math.exp(middle)))
        if len(ratios) > 3:
            noise = min(_MOST_NOISE, _scatter(ratios))
    return BatchModel(cost, driver_s, stretch, noise if without != "noise" else 0.0)


def _overdue(state: State, query: Query, cost: BatchCost, driver_s: float, now_s: float | None) -> float | None:
    """What the running batch has taken so far, over what it should take: it will have taken more."""
    running, began = query.running, state["running"]
    if now_s is None or running is None or not running.rows or began is None or began[0] != running.id or not began[1]:
        return None
    taken_s = now_s - running.started_s - driver_s
    expected_s = cost.slot_s(running.rows) * wave_share(waves_of(query), began[1])
    return math.log(taken_s / expected_s) if taken_s > 0 and expected_s > 0 else None


def _since_break(ratios: list[float], overdue: float | None) -> list[float]:
    """Those since they became longer than all before them, for good as far as can be told; all where they did not.

    A running batch that is overdue bears out a break that the one before it has shown, and says nothing else: of
    batches that scatter, half are longer than usual. Who became faster can wait until most of the last ones are.
    """
    told = ratios if overdue is None else [*ratios, overdue]
    for begin in range(_LEAST_BEFORE, len(told) - _BREAK_BATCHES + 1):
        before, since = told[:begin], told[begin:]
        if min(since) - median(before) > max(math.log(_BREAK), _BREAK_DEVIATIONS * _deviation(before)):
            return since
    return ratios if overdue is None else _since_break(ratios, None)


def _deviation(values: list[float]) -> float:
    """The standard deviation of a sample. That of the standard library is exact, and a hundred times slower."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _scatter(ratios: list[float]) -> float:
    middle = median(ratios)
    return 1.48 * median(abs(ratio - middle) for ratio in ratios) + _LEAST_NOISE
