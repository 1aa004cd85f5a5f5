"""DS2's equations on an application: from rates of operators to sizes of pools.

Where every operator has a pool of its own, a pool gets the instances of its operator. Where operators share one, theirs
add up (section 4.3): an operator that needs three instances needs three slots' worth of time, whoever's slots.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from types import MappingProxyType
from typing import Literal

from elastream.core.observation import Observation, Query
from elastream.core.topology import Operator
from elastream.policies.ds2.batches import BatchWork, batch_work
from elastream.policies.ds2.equations import Answer, Required, TrueRates, required
from elastream.policies.ds2.interval import Numbers, Parts

Rounding = Literal["per_pool", "per_operator"]
Sources = Literal["count", "leave"]

# A reason is read by a person: of a large graph only the operators that need most are named.
_NAMED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """How sizes are made of rates."""

    rounding: Rounding
    sources: Sources
    factor: float
    driver_s: Mapping[str, float] | None = None
    """Query -> seconds of a batch in which only the driver works; None: what slots cannot help is not counted."""


@dataclass(slots=True)
class Sizing:
    """What every pool needs, as far as that is known."""

    slots: dict[str, float] = field(default_factory=dict)
    """Pool -> slots, of pools that can be sized."""
    unknown: dict[str, str] = field(default_factory=dict)
    """Pool -> why it cannot, and so keeps its size."""
    left: dict[str, str] = field(default_factory=dict)
    """Pool -> why it is left alone."""
    needs: list[tuple[float, str, Required]] = field(default_factory=list)
    """Slots, the operator that needs them, and why."""
    batches: dict[str, list[BatchWork]] = field(default_factory=dict)
    """Pool -> the batches that run in it, where what slots cannot help is counted."""

    def workers(self, now: Observation) -> dict[str, int]:
        """Workers for the pools that can be sized."""
        slots = self.slots
        return {name: pool.workers_for(slots[name]) or 1 for pool in now.pools if (name := pool.name) in slots}

    def sentence(self) -> str:
        """What a person should know."""
        parts = [_need(*need) for need in nlargest(_NAMED, self.needs, key=itemgetter(0))]
        if len(self.needs) > _NAMED:
            parts.append(f"{len(self.needs) - _NAMED} operators need less")
        kept = [*self.left.values(), *self.unknown.values()]
        parts += kept[:_NAMED]
        if len(kept) > _NAMED:
            parts.append(f"{len(kept) - _NAMED} more keep their size")
        shared = [batch for pool, batches in self.batches.items() if pool in self.slots for batch in batches]
        parts += [batch.sentence() for batch in shared[:_NAMED]]
        return "; ".join(parts) or "no operator runs"


def has_own_pools(now: Observation) -> bool:
    """Whether every operator has a pool of its own."""
    if len(now.pools) < 2:
        return False
    pools = [operator.pool for query in now.queries for operator in query.topology.operators]
    return bool(pools) and len(set(pools)) == len(pools)


def sized(
    now: Observation,
    flows: Mapping[str, Mapping[str, float]],
    rates: Mapping[str, Numbers],
    serial: Collection[str],
    rules: Rules,
    parts: Mapping[str, Parts] = MappingProxyType({}),
) -> Sizing:
    """Slots for every pool. `flows` says of every query what arrives at the operators that read its sources, `parts`
    how the output of its operators is parted."""
    sizing, own = Sizing(), has_own_pools(now)
    is_alone = sum(query.phase != "terminated" for query in now.queries) == 1
    for query in now.queries:
        if query.phase == "terminated":
            # It needs nothing any more, and what it used is free.
            for operator in query.topology.operators:
                sizing.slots.setdefault(operator.pool, 0.0)
            continue
        answers, before = _answers(query, flows[query.id], rates, rules, parts.get(query.id, {})), dict(sizing.slots)
        for operator in query.topology.operators:
            if operator.name not in answers:
                _leave(sizing, operator, own, rules)
                continue
            tag = not operator.parallel or (bool(serial) and f"{query.id}/{operator.name}" in serial)
            _add(sizing, operator, answers[operator.name], own, tag, rules)
        if rules.driver_s is not None and not own:
            _fit_batches(sizing, query, before, rules.driver_s.get(query.id, 0.0), is_alone)
    for name in {**sizing.unknown, **sizing.left}:
        slots = sizing.slots.pop(name, 0.0)
        # A stage that no batch has come to yet keeps those before it waiting for as long as they take on too few slots.
        if rules.driver_s is not None and not own and slots > now.pool(name).wanted * now.pool(name).slots_per_worker:
            sizing.slots[name] = slots
    return sizing


def _answers(
    query: Query,
    flow: Mapping[str, float],
    rates: Mapping[str, Numbers],
    rules: Rules,
    parts: Parts,
) -> dict[str, Answer]:
    """The equations for one query. Where readers count, the logs in front of them are the equations' sources."""
    prefix = f"{query.id}/"
    true: dict[str, TrueRates | None] = {}
    for operator in query.topology.operators:
        name = operator.name
        found = rates.get(prefix + name)
        true[name] = None if found is None or found[0] is None else TrueRates(1, found[0], found[1])
    feeds = [(edge.upstream, edge.downstream) for edge in query.topology.edges]
    # A source that makes its records itself takes none in: what it gives out is the rate, as in the paper.
    takes_in = {work.name for work in query.operators if work.records_in is not None}
    if rules.sources == "count" and takes_in.issuperset(flow):
        logs = {f"the log of {name}": rps for name, rps in flow.items()}
        feeds += zip(logs, flow, strict=True)
        return required(feeds, logs, true, factor=rules.factor, parts=parts)
    given = {name: rps * _selectivity(true[name]) for name, rps in flow.items()}
    return required(feeds, given, true, factor=rules.factor, parts=parts)


def _selectivity(rates: TrueRates | None) -> float:
    """Records that a source gives out for one that arrives; one, where that was not measured."""
    if rates is None or rates.output_rps is None or not rates.processing_rps:
        return 1.0
    return rates.output_rps / rates.processing_rps


def _leave(sizing: Sizing, operator: Operator, own: bool, rules: Rules) -> None:
    """An operator that is a source in the sense of the paper. What it takes of a shared pool is not counted."""
    if own:
        sizing.left[operator.pool] = f"{operator.name} is a source and keeps its size"
    elif rules.sources == "count":
        sizing.unknown[operator.pool] = f"{operator.name} does not tell what it takes in"
    else:
        sizing.slots.setdefault(operator.pool, 0.0)


def _add(sizing: Sizing, operator: Operator, answer: Answer, own: bool, serial: bool, rules: Rules) -> None:
    pool = operator.pool
    if serial and own:
        sizing.left[pool] = f"{operator.name} is not data-parallel and keeps its size"
        return
    if isinstance(answer, str):
        what = f"{operator.name} keeps its size" if own else f"what {operator.name} needs is not known"
        sizing.unknown[pool] = f"{what}: {answer}"
        return
    slots = answer.unrounded * (1.0 + rules.factor)
    if serial:
        # More slots do not make it faster: it takes one, for as long as it needs.
        slots = min(1.0, answer.unrounded)
    elif rules.rounding == "per_operator":
        # What was measured is never exact: 4.000000001 instances are four.
        slots = float(max(1, math.ceil(slots - 1e-9)))
    sizing.slots[pool] = sizing.slots.get(pool, 0.0) + slots
    sizing.needs.append((slots, operator.name, answer))


def _fit_batches(sizing: Sizing, query: Query, before: Mapping[str, float], driver_s: float, is_alone: bool) -> None:
    """What a query adds to a shared pool becomes the slots that end its batches in time."""
    for pool, slots in sizing.slots.items():
        added = slots - before.get(pool, 0.0)
        batch = batch_work(query, added, driver_s, is_alone=is_alone) if added > 0 else None
        if batch is not None:
            sizing.slots[pool] = before.get(pool, 0.0) + batch.slots()
            sizing.batches.setdefault(pool, []).append(batch)


def _need(slots: float, name: str, answer: Required) -> str:
    if not answer.unrounded:
        return f"{name}: no records reach it"
    each = answer.input_rps / answer.unrounded
    return f"{name}: {answer.input_rps:,.0f}/s at {each:,.0f}/s per slot: {slots:.1f} slots"
