"""What Flink's autoscaler evaluates: per vertex the rate wanted, the lag to work off, and the true processing rate.

A vertex is what is sized by itself: an operator with its own pool. Operators that share a pool are one vertex: they use
its slots one after the other, so the times they want add up.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Pool, Query
from elastream.core.signals import Signal
from elastream.policies.ds2.interval import reading_rps
from elastream.policies.flink_autoscaler.formulas import Terms, Wanted, band, capacity


class Rates(NamedTuple):
    """What an operator did per second over the window."""

    in_rps: float
    out_rps: float | None
    busy_slots: float


@dataclass(frozen=True, slots=True)
class VertexPart:
    """One operator of a vertex."""

    name: str
    wanted: Wanted
    slot_rps: float
    """True processing rate of one slot; infinite without input."""


@dataclass(slots=True)
class Vertex:
    """Everything that one pool runs."""

    pool: Pool
    parts: list[VertexPart] = field(default_factory=list)
    unknown: str | None = None
    left: str | None = None
    lags: bool = False
    """Whether a source is so far behind that the backlog comes first."""

    @property
    def slots(self) -> int:
        return max(1, self.pool.wanted * self.pool.slots_per_worker)

    def use(self, utilisation: float, terms: Terms, *, with_restart: bool) -> float:
        """The capacity wanted over what there is: above one, there is too little."""
        return sum(
            capacity(part.wanted, utilisation, terms, with_restart=with_restart) / (part.slot_rps * self.slots)
            for part in self.parts
            if part.slot_rps < math.inf
        )

    def is_outside(self, low: float, high: float, terms: Terms) -> bool:
        """Whether the band of utilisation is left."""
        if len(self.parts) == 1:
            only = self.parts[0]
            return band(only.wanted, low, high, terms).is_left_by(only.slot_rps * self.slots)
        return self.use(high, terms, with_restart=False) > 1 or (
            low > 0 and self.use(low, terms, with_restart=True) < 1
        )

    def true_rps(self) -> float | None:
        """Records per second through the first of its operators if all slots were busy; None without input."""
        target = next((part.wanted.target_rps for part in self.parts if part.wanted.target_rps > 0), 0.0)
        slots = sum(part.wanted.target_rps / part.slot_rps for part in self.parts if part.slot_rps < math.inf)
        return target / slots * self.slots if slots > 0 else None


def wanted_rates(
    query: Query, known: Knowledge, window_s: float, behind: float, terms: Terms
) -> tuple[dict[str, Wanted], dict[str, Rates]] | str:
    """What every operator should take, and what it did; or why that is not known."""
    rates = _rates(query, known, window_s)
    if isinstance(rates, str):
        return rates
    arriving: dict[str, float] = {}
    for source in query.sources:
        rate = known.rate(Signal.ARRIVED, f"{query.id}/{source.name}", window_s)
        if rate is None:
            return query.not_known("arrival rate")
        arriving[source.name] = rate
    reading = reading_rps(query, arriving)
    if isinstance(reading, str):
        return reading
    try:
        levels = query.topology.levels()
    except BadInput as wrong:
        return str(wrong)
    total = sum(reading.values())
    catch_up = behind / terms.catch_up_s if terms.catch_up_s > 0 else 0.0
    wanted: dict[str, Wanted] = {}
    for operator in (operator for level in levels for operator in level):
        if operator.name in reading:
            share = reading[operator.name] / total if total else 1 / len(reading)
            wanted[operator.name] = Wanted(reading[operator.name], catch_up * share)
            continue
        feeders = query.topology.upstream(operator.name)
        ratios = [_edge_ratio(query, feeder, operator.name, rates) for feeder in feeders]
        if any(ratio is None for ratio in ratios):
            return f"what {operator.name} of {query.name} receives is not known"
        pairs = [(wanted[feeder], ratio or 0.0) for feeder, ratio in zip(feeders, ratios, strict=True)]
        wanted[operator.name] = Wanted(
            sum(one.target_rps * ratio for one, ratio in pairs), sum(one.catch_up_rps * ratio for one, ratio in pairs)
        )
    return wanted, rates


def slot_rps(rates: Rates) -> float | None:
    """Records per second that one slot could take, were it always busy; None if no time was measured for them."""
    if rates.in_rps == 0:
        return math.inf
    return rates.in_rps / rates.busy_slots if rates.busy_slots > 0 else None


def _rates(query: Query, known: Knowledge, window_s: float) -> dict[str, Rates] | str:
    found = {}
    for operator in query.topology.operators:
        subject = f"{query.id}/{operator.name}"
        taken = known.rate(Signal.RECORDS_IN, subject, window_s)
        busy = known.rate(Signal.BUSY_TIME, subject, window_s)
        if taken is None or busy is None:
            return f"{'input rate' if taken is None else 'busy time'} of {operator.name} of {query.name} is not known"
        found[operator.name] = Rates(taken, known.rate(Signal.RECORDS_OUT, subject, window_s), busy)
    return found if found else f"the operators of {query.name} are not known yet"


def _edge_ratio(query: Query, upstream: str, downstream: str, rates: Mapping[str, Rates]) -> float | None:
    """Records on an edge for one that its upstream operator takes in.

    What the downstream operator takes in tells it, if this is its only input or the others can be subtracted.
    """
    taken = rates[upstream].in_rps
    if taken == 0:
        return 0.0
    others = [name for name in query.topology.upstream(downstream) if name != upstream]
    if not others:
        return rates[downstream].in_rps / taken
    outputs = [rates[other].out_rps for other in others]
    known = [rate for rate in outputs if rate is not None]
    if len(known) == len(outputs) and all(_has_one_output(query, other) for other in others):
        return max(0.0, rates[downstream].in_rps - sum(known)) / taken
    given = rates[upstream].out_rps
    return None if given is None else given / taken


def _has_one_output(query: Query, name: str) -> bool:
    return sum(edge.upstream == name for edge in query.topology.edges) == 1
