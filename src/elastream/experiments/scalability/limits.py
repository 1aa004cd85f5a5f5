"""What kept a job from a rate, with the evidence: from all looks of a probe, once that has failed.

While it runs, the loop names what keeps a query back (`core/bottleneck`): a hot key, a blocked sink, the driver, too
few partitions, a read limit. That comes first. What batches were spent on instead of records (garbage, state, waiting)
the same module concludes from all batches of the probe. Of a probe there is more to say, because it lasted at one rate
and one size: whether processors were the limit, which more executors do help, whether slots stood idle at barriers,
whether records waited for a trigger rather than for work, and whether it was the start that was not caught up with.

Where nothing stands out nothing is named, and of a rate that was sustained nothing is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from elastream.core.bottleneck import Bottleneck, Kind, find_bottlenecks
from elastream.core.bottleneck.costs import find_costs
from elastream.core.bottleneck.driver import explain_driver
from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import FinishedBatch, Observation, Query
from elastream.estimators.batch_cost import batch_cost
from elastream.experiments.scalability.probe import ProbeMoment, ProbeTerms, ProbeVerdict

LimitKind = Kind | Literal["start-up", "processor", "slots", "fixed-cost", "barriers", "trigger"]
# Named by the loop on so many of the looks, it is no passing thing.
_OFTEN = 0.2
# Of the time of a batch, or of its work: more than half is what the other half waits for.
_MOST_OF_IT = 0.5
_DRIVER = 0.6
# Slots that are idle for less than this while tasks run are what barriers of even tasks cost.
_IDLE = 0.4
_LEAST_BATCHES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeLimit:
    """What kept the job from the rate."""

    kind: LimitKind
    sentence: str
    evidence: dict[str, Json] = field(default_factory=dict)


class ProbeLimits:
    """Takes in looks while a probe runs, and says at its end what its limit was."""

    def __init__(self) -> None:
        self._known = Knowledge()
        self._looks = 0
        self._slots = 0
        self._often: Counter[Kind] = Counter()
        self._last: dict[Kind, Bottleneck] = {}
        self._batches: dict[str, dict[int, FinishedBatch]] = {}
        self._every: dict[str, dict[int, FinishedBatch]] = {}
        self._queries: dict[str, Query] = {}
        self._last_look: Observation | None = None
        self._first_system_s: float | None = None
        self._system_s: float | None = None
        self._began_s: float | None = None

    def add(self, now: Observation, warm_up_s: float) -> None:
        """One look; of those of the warm-up nothing is concluded but what batches of other sizes cost."""
        self._known.fold(now)
        for query in now.queries:
            # The first batch compiles, and costs what no other does.
            if query.finished is not None and query.finished.id > 0:
                self._every.setdefault(query.id, {})[query.finished.id] = query.finished
        self._began_s = now.at_s if self._began_s is None else self._began_s
        if now.at_s - self._began_s < warm_up_s:
            return
        self._looks += 1
        self._last_look = now
        system = [pool.system_s.value for pool in now.pools if pool.system_s is not None]
        if len(system) == len(now.pools):
            self._system_s = sum(system)
            self._first_system_s = self._system_s if self._first_system_s is None else self._first_system_s
        self._slots = sum(pool.slots for pool in now.pools)
        for found in find_bottlenecks(now, self._known):
            # Partitions follow the layout: as many as there are slots keep nothing back here.
            if found.kind == "few-partitions" and (found.useful_slots or 0) >= self._slots:
                continue
            self._often[found.kind] += 1
            self._last[found.kind] = found
        for query in now.queries:
            self._queries[query.id] = query
            if query.finished is not None:
                self._batches.setdefault(query.id, {})[query.finished.id] = query.finished

    def find(self, verdict: ProbeVerdict, moments: Sequence[ProbeMoment], terms: ProbeTerms) -> tuple[ProbeLimit, ...]:
        """The most telling first; empty for a rate that was sustained, and where nothing stands out."""
        if verdict.state != "unsustained":
            return ()
        named = [_told(self._last[kind]) for kind, times in self._often.most_common() if times >= _OFTEN * self._looks]
        # What keeps results back and no record is no reason why a rate was not sustained, and yet worth to know.
        beside = [one for one in named if one.kind == "watermarks"]
        named = [one for one in named if one.kind != "watermarks"]
        found = [*named, *_find_start(moments, terms)]
        for name, batches in self._batches.items():
            shape = _shape(list(batches.values()), self._slots)
            if shape is None:
                continue
            query = self._queries[name]
            processor = _find_processor(verdict, terms, self._kernel_s)
            fixed = _find_fixed_cost(query, shape, self._every.get(name, {}))
            # One cause explains a batch; the ones behind it would repeat it in other words. What processors are busy
            # with may be the cost of batches.
            ways = (
                [_find_driver(query, shape, named)],
                self._find_costs(query, shape),
                [processor, fixed],
                [_find_barriers(query, shape, named)],
                [_find_trigger(query, shape, terms)],
            )
            found += next((known for way in ways if (known := [one for one in way if one is not None])), [])
        kinds: dict[LimitKind, ProbeLimit] = {}
        for one in [*found, *beside]:
            kinds.setdefault(one.kind, one)
        return tuple(kinds.values())

    def _find_costs(self, query: Query, shape: _BatchShape) -> list[ProbeLimit | None]:
        """What its batches were spent on, as the loop concludes it, of all of them."""
        if self._last_look is None:
            return []
        return [_told(one) for one in find_costs(query, shape.batches, self._last_look, self._known)]

    @property
    def _kernel_s(self) -> float | None:
        """Processor time of executors in the kernel, since the warm-up."""
        return None if self._system_s is None else self._system_s - (self._first_system_s or 0.0)


def _told(found: Bottleneck) -> ProbeLimit:
    return ProbeLimit(kind=found.kind, sentence=found.sentence, evidence=dict(found.evidence))


@dataclass(frozen=True, slots=True, kw_only=True)
class _BatchShape:
    """Where the time of batches went, all of them together."""

    batches: Sequence[FinishedBatch]
    duration_s: float
    driver_s: float
    busy_s: float
    slots: int

    @property
    def mean_s(self) -> float:
        return self.duration_s / len(self.batches)

    @property
    def tasks_s(self) -> float:
        """In which stages ran."""
        return max(0.0, self.duration_s - self.driver_s)


def _shape(batches: Sequence[FinishedBatch], slots: int) -> _BatchShape | None:
    known = [one for one in batches if one.busy_s is not None and one.driver_s is not None and one.duration_s > 0]
    if len(known) < _LEAST_BATCHES or not slots:
        return None
    return _BatchShape(
        batches=known, duration_s=sum(one.duration_s for one in known),
        driver_s=sum(one.driver_s or 0 for one in known), busy_s=sum(one.busy_s or 0 for one in known), slots=slots,
    )  # fmt: skip


def _find_start(moments: Sequence[ProbeMoment], terms: ProbeTerms) -> list[ProbeLimit]:
    """It was late only because it had not caught up: what waited after the warm-up became less and less."""
    measured = [one for one in moments if one.at_s >= terms.warm_up_s]
    if len(measured) < 2:
        return []
    waited, waits = (one.arrived - one.committed for one in (measured[0], measured[-1]))
    lasted_s = measured[-1].at_s - measured[0].at_s
    if lasted_s <= 0 or waited < terms.delay_s * terms.rate_rps or waits > 0.8 * waited:
        return []
    shrinks = (waited - waits) / lasted_s
    return [
        ProbeLimit(
            kind="start-up",
            sentence=(
                f"after {terms.warm_up_s:g} s of warm-up {waited:,.0f} records waited, and {shrinks:,.0f}/s of them "
                "were worked off: it keeps up, and has too little room to catch up with its start"
            ),
            evidence={"waited": waited, "waits": waits, "shrinks_rps": shrinks},
        )
    ]


def _find_driver(query: Query, shape: _BatchShape, named: Sequence[ProbeLimit]) -> ProbeLimit | None:
    share = shape.driver_s / shape.duration_s
    if share < _DRIVER or any(one.kind in ("driver", "blocked-sink", "source", "sink") for one in named):
        return None
    found = _told(explain_driver(query, shape.batches))
    if found.kind != "driver":
        return found
    remedy = f"; batches of {shape.mean_s:.1f} s are too short, a longer trigger makes fewer"
    return replace(found, sentence=found.sentence + remedy, evidence={**found.evidence, "driver_share": share})


def _find_fixed_cost(query: Query, shape: _BatchShape, every: Mapping[int, FinishedBatch]) -> ProbeLimit | None:
    cost = batch_cost([(one.rows or 0.0, one.busy_s or 0.0) for one in every.values()])
    if cost is None or not cost.told_apart:
        return None
    share = cost.per_batch_s * len(shape.batches) / shape.busy_s if shape.busy_s > 0 else 0.0
    if share < _MOST_OF_IT:
        return None
    return ProbeLimit(
        kind="fixed-cost",
        sentence=(
            f"{query.name}: a batch costs {cost.per_batch_s:.1f} slot-seconds whatever it reads, {share:.0%} of all "
            "work: fewer partitions or a longer trigger would help more than executors"
        ),
        evidence={"per_batch_s": cost.per_batch_s, "per_record_s": cost.per_record_s, "share": share},
    )


def _find_processor(verdict: ProbeVerdict, terms: ProbeTerms, kernel_s: float | None) -> ProbeLimit | None:
    used, lasted_s = verdict.evidence.get("processor"), verdict.evidence.get("seconds")
    if not isinstance(used, float) or used < terms.processor:
        return None
    what = "slots" if terms.is_emulated else "processors"
    kernel, evidence = "", {"used": used}
    if kernel_s is not None and isinstance(lasted_s, float) and lasted_s > 0 and not terms.is_emulated:
        evidence["kernel"] = min(1.0, kernel_s / (used * terms.cores * lasted_s))
        kernel = f" ({1 - evidence['kernel']:.0%} of that for the job, {evidence['kernel']:.0%} in the kernel)"
    return ProbeLimit(
        kind="slots" if terms.is_emulated else "processor",
        sentence=f"executors use {used:.0%} of their {what}{kernel}: with more of them it sustains more",
        evidence=dict(evidence),
    )


def _find_barriers(query: Query, shape: _BatchShape, named: Sequence[ProbeLimit]) -> ProbeLimit | None:
    """Slots stand idle while tasks run, and no single task explains it."""
    idle = 1 - shape.busy_s / (shape.slots * shape.tasks_s) if shape.tasks_s > 0 else 0.0
    if named or idle < _IDLE or shape.tasks_s < _MOST_OF_IT * shape.duration_s:
        return None
    evidence: dict[str, Json] = {"idle": idle, "slots": shape.slots}
    head = f"{query.name}: while its tasks run {idle:.0%} of the slots stand idle"
    widths = [operator.partitions for operator in query.topology.operators if operator.partitions]
    if widths and max(widths) < shape.slots:
        return ProbeLimit(
            kind="few-partitions",
            sentence=(
                f"{head}: no stage has more than {max(widths)} tasks for {shape.slots} slots; raise its partitions"
            ),
            evidence={**evidence, "tasks": max(widths)},
        )
    return ProbeLimit(
        kind="barriers", sentence=f"{head}: each stage waits for the last task of the one before", evidence=evidence
    )


def _find_trigger(query: Query, shape: _BatchShape, terms: ProbeTerms) -> ProbeLimit | None:
    """Batches have long ended when the next one begins, and records wait for that."""
    interval_s = query.trigger.interval_s
    if interval_s is None or shape.mean_s > interval_s or interval_s / 2 + shape.mean_s < 0.8 * terms.delay_s:
        return None
    return ProbeLimit(
        kind="trigger",
        sentence=(
            f"{query.name}: a batch takes {shape.mean_s:.1f} s and begins every {interval_s:g} s, for which records "
            f"wait although slots are free: with a bound of {terms.delay_s:g} s the trigger is the limit"
        ),
        evidence={"batch_s": shape.mean_s, "interval_s": interval_s},
    )
