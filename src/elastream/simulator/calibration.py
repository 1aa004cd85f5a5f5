"""A model of an application, measured from what was seen of it: work per record, fixed costs, state, executors.

Between two looks a stage was busy for as long as its records, its batches and what was new on a worker took. Over a run
whose load moves these can be told apart (`stage_costs.py`); with a steady load they cannot, and the model says so. How
executors come and go is seen where their number moved (`pool_calibration.py`). What a run did not show keeps the
simulator's defaults.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean, median

from elastream.core.errors import BadInput
from elastream.core.observation import Observation, OperatorWork, Pool, Query, Reading
from elastream.core.signals import Signal
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel, SourceModel, StageModel, StateModel
from elastream.simulator.pool_calibration import calibrated_pool
from elastream.simulator.pool_model import PoolModel
from elastream.simulator.stage_costs import CostFit, StageSteps, fit_stage, fit_stages

SKIPPED_BATCHES = 3
"""The first batches of a query cost several times what any other does."""
LEAST_BATCHES = 8
# Parts of a batch behind its last task, as Spark names them.
_COMMITTING = ("commitOffsets", "commitBatch", "commit")
_COUNTED = {Signal.RECORDS_IN, Signal.RECORDS_OUT, Signal.BUSY_TIME, Signal.DRIVER_TIME}
OFFER_EVERY_S = 1.0
"""Spark's default; no journal tells it."""
LOCALITY_WAIT_S = 0.1
"""What Elastream sets for the applications that it attaches to; no journal tells it."""
# Share of a stage's records that come in every batch, whatever the load, above which they count as a fixed cost.
_MOST_FIXED = 0.3


def measured(looks: Sequence[Observation], name: str, doc: str = "") -> ApplicationModel:
    """The model of all queries that ran long enough."""
    looks = _without_gaps(looks)
    names = list(dict.fromkeys(query.name for now in looks for query in now.queries))
    found = {each: watched for each in names if (watched := _watch(each, looks)) is not None}
    if not found:
        raise BadInput(
            f"model {name}: no query finished {SKIPPED_BATCHES + LEAST_BATCHES} batches; record a longer run"
        )
    pool = looks[-1].pools[0]
    most = max(now.pools[0].ready for now in looks)
    steps = {(query, stage): part for query, one in found.items() for stage, part in one.steps.items()}
    cores, costs = fit_stages(steps, most * pool.slots_per_worker)
    told = [doc, f"{most * pool.slots_per_worker} slots", *(_told(each, looks) for each in names)]
    model = PoolModel(
        slots_per_worker=pool.slots_per_worker,
        max_workers=max(PoolModel().max_workers, most),
        memory_bytes=pool.worker_memory_bytes,
        cores=cores,
    )
    return ApplicationModel(
        name=name,
        doc="; ".join(part for part in told if part),
        queries=tuple(_query(one, {stage: costs[query, stage] for stage in one.steps}) for query, one in found.items()),
        pool=calibrated_pool(model, looks, pool.name),
    )


def cut_into(model: ApplicationModel, partitions: int) -> ApplicationModel:
    """The model with another number of partitions, which is the most slots it can use: every task costs what it did."""
    queries = tuple(
        replace(
            query,
            sources=tuple(replace(source, partitions=partitions) for source in query.sources),
            stages=tuple(replace(stage, partitions=partitions) for stage in query.stages),
        )
        for query in model.queries
    )
    return replace(model, queries=queries, doc=f"{model.doc}; as if in {partitions} partitions")


def _told(name: str, looks: Sequence[Observation]) -> str:
    """What the measurements were made of."""
    ends = {one.finished.id: one.finished.rows for now in looks if (one := _of(now, name)) and one.finished}
    rows = [value for number, value in ends.items() if value and number >= SKIPPED_BATCHES]
    return f"{len(rows)} batches of {min(rows):,.0f} to {max(rows):,.0f} records" if rows else ""


def _without_gaps(looks: Sequence[Observation]) -> Sequence[Observation]:
    """The longest part of a run in which nothing of what is added up was lost."""
    gaps = [place for place, now in enumerate(looks) if not _COUNTED.isdisjoint(now.lacks)]
    return max((looks[start + 1 : end] for start, end in pairwise([-1, *gaps, len(looks)])), key=len)


def _of(now: Observation, name: str) -> Query | None:
    return next((query for query in now.queries if query.name == name), None)


@dataclass(frozen=True, slots=True)
class WatchedQuery:
    """A query that ran long enough, between one batch and another."""

    looks: Sequence[Query]
    """From its first useful batch on."""
    cuts: Sequence[Query]
    first_trigger_s: float
    reaching: Mapping[str, Sequence[float]]
    steps: Mapping[str, StageSteps]
    """By stage."""


def _watch(name: str, looks: Sequence[Observation]) -> WatchedQuery | None:
    seen = [(now, query) for now in looks if (query := _of(now, name)) is not None]
    seen = [(now, one) for now, one in seen if one.batches is not None and one.topology.operators]
    used = [(now, one) for now, one in seen if one.batches and one.batches.value >= SKIPPED_BATCHES]
    places = _cuts([query for _, query in used])
    between = [[now.pools[0] for now, _ in used[since : until + 1]] for since, until in pairwise(places)]
    before, *new = _new_workers([[now.pools[0] for now, _ in seen[: len(seen) - len(used) + 1]], *between])
    if before:
        # Some of what was new for these workers belongs to the first step; the rest of it was not seen.
        places, between, new = places[1:], between[1:], new[1:]
    cuts = [used[place][1] for place in places]
    ran = _steps([query.batches for query in cuts])
    if len(cuts) < 3 or sum(ran) < LEAST_BATCHES:
        return None
    last = cuts[-1]
    reaching: dict[str, list[float]] = {}
    out = {operator.name: _selectivity(cuts, operator.name) for operator in last.topology.operators}
    steps: dict[str, StageSteps] = {}
    for operator in (one for level in last.topology.levels() for one in level):
        stage, feeders = operator.name, last.topology.upstream(operator.name)
        works = [_work(query, stage) for query in cuts]
        taken = _steps([work.records_in for work in works])
        reaching[stage] = _reaching([(reaching[up], out[up]) for up in feeders]) or taken
        tasks = _work(last, stage).tasks or operator.partitions or 1
        steps[stage] = StageSteps(
            records=taken if _follows(taken, reaching[stage], ran) else reaching[stage],
            batches=ran,
            busy_s=_steps([work.busy_s for work in works]),
            running=[min(tasks, fmean(pool.slots for pool in pools)) for pools in between],
            new_workers=new,
        )
    return WatchedQuery([query for _, query in used], cuts, _first_trigger_s(seen), reaching, steps)


def _query(watched: WatchedQuery, costs: Mapping[str, CostFit]) -> QueryModel:
    cuts, last = watched.cuts, watched.cuts[-1]
    ran = _steps([query.batches for query in cuts])
    read_by = _reading(last)
    stages = tuple(
        _stage(last, operator.name, costs[operator.name], _selectivity(cuts, operator.name), read_by)
        for level in last.topology.levels()
        for operator in level
    )
    commit_s = _commit_s(watched.looks)
    driver_s = sum(_steps([query.driver_s for query in cuts])) / sum(ran)
    return QueryModel(
        name=last.name,
        sources=tuple(
            SourceModel(name=source.name, share=share, partitions=source.partitions)
            for source, share in zip(last.sources, _shares(cuts), strict=True)
        ),
        stages=stages,
        trigger=last.trigger,
        first_trigger_s=watched.first_trigger_s,
        is_aligned=False,
        plan_s=max(driver_s - commit_s, 0.0),
        commit_s=commit_s,
        state=_state(cuts),
        locality_wait_s=LOCALITY_WAIT_S,
        offer_every_s=OFFER_EVERY_S,
        noise=median(fit.noise for fit in costs.values()),
        slo=last.slo,
    )


def _stage(
    last: Query, name: str, fit: CostFit, records_out: float, read_by: Mapping[str, tuple[str, ...]]
) -> StageModel:
    operator = next(one for one in last.topology.operators if one.name == name)
    tasks = _work(last, name).tasks or operator.partitions or 1
    return StageModel(
        name=name,
        after=last.topology.upstream(name) or read_by[name],
        partitions=tasks,
        slot_s_per_record=fit.per_record_s,
        waiting_share=fit.waiting_share,
        records_out=records_out,
        task_s=fit.per_batch_s / tasks,
        first_task_s=fit.first_task_s,
        stateful=operator.stateful,
    )


def _cuts(looks: Sequence[Query]) -> list[int]:
    """A look for each number of batches that had ended: one between two batches, or else the last before the next."""
    places: dict[float, int] = {}
    for place, query in enumerate(looks):
        ended = query.batches.value if query.batches else 0.0
        if ended not in places or looks[places[ended]].running is not None:
            places[ended] = place
    return list(places.values())


def _new_workers(steps: Sequence[Sequence[Pool]]) -> list[float]:
    """How many workers ran their first task in each step; those that are there at the very first look are warm."""
    used = {worker.id for worker in steps[0][0].workers} if steps[0] else set()
    new: list[float] = []
    for pools in steps:
        active = set[str]().union(*(_active(pool) for pool in pools))
        new.append(float(len(active - used)))
        used |= active
    return new


def _active(pool: Pool) -> set[str]:
    """Workers that have run a task, or run one."""
    return {
        worker.id
        for worker in pool.workers
        if worker.running_tasks or (worker.records is not None and worker.records.value > 0)
    }


def _first_trigger_s(seen: Sequence[tuple[Observation, Query]]) -> float:
    """How long after its load began a query planned its first batch, by what that read and what came then."""
    first = next((one.finished for _, one in seen if one.finished and one.finished.id == 0), None)
    arrived = [reading for _, query in seen if (reading := _arrived(query)) is not None and reading.value > 0]
    if first is None or not first.rows or len(arrived) < 2 or arrived[1].at_s <= arrived[0].at_s:
        return 0.0
    rps = (arrived[1].value - arrived[0].value) / (arrived[1].at_s - arrived[0].at_s)
    return first.rows / rps if rps > 0 else 0.0


def _arrived(query: Query) -> Reading | None:
    readings = [source.arrived for source in query.sources]
    known = [reading for reading in readings if reading is not None]
    if not known or len(known) < len(readings):
        return None
    return Reading(sum(reading.value for reading in known), known[0].at_s)


def _steps(totals: Sequence[Reading | None]) -> list[float]:
    """What was added from each to the next."""
    return [max(_value(after) - _value(before), 0.0) for before, after in pairwise(totals)]


def _value(reading: Reading | None) -> float:
    return reading.value if reading is not None else 0.0


def _work(query: Query, name: str) -> OperatorWork:
    return next((work for work in query.operators if work.name == name), OperatorWork(name=name))


def _shares(cuts: Sequence[Query]) -> list[float]:
    read = [_value(source.committed) for source in cuts[-1].sources]
    total = sum(read)
    return [each / total if total else 1.0 / len(read) for each in read]


def _reading(cut: Query) -> dict[str, tuple[str, ...]]:
    """The sources of each operator that no other feeds, as told: else the one whose records it took in, or all."""
    told = {operator.name: operator.reads for operator in cut.topology.sources() if operator.reads}
    readers = [operator.name for operator in cut.topology.sources()]
    if len(told) == len(readers):
        return told
    sources = [source.name for source in cut.sources]
    if len(readers) != len(sources):
        return dict.fromkeys(readers, tuple(sources))
    # As many of one as of the other: each has its own, and they stand in the same order where their records are equal.
    off = {
        (abs(_value(source.committed) - _value(_work(cut, reader).records_in)), abs(place - at), reader, source.name)
        for place, source in enumerate(cut.sources)
        for at, reader in enumerate(readers)
    }
    found: dict[str, tuple[str, ...]] = {}
    for *_, reader, source in sorted(off):
        if reader not in found and (source,) not in found.values():
            found[reader] = (source,)
    return found


def _selectivity(cuts: Sequence[Query], name: str) -> float:
    first, last = _work(cuts[0], name), _work(cuts[-1], name)
    taken = _value(last.records_in) - _value(first.records_in)
    given = _value(last.records_out) - _value(first.records_out)
    return given / taken if last.records_out is not None and taken > 0 else 1.0


def _reaching(feeding: Sequence[tuple[list[float], float]]) -> list[float]:
    """What reaches a stage as a model has it: a fixed share of what its feeders took in."""
    return [
        float(sum(parts)) for parts in zip(*([taken * out for taken in each] for each, out in feeding), strict=True)
    ]


def _follows(taken: Sequence[float], reaching: Sequence[float], ran: Sequence[float]) -> bool:
    """Whether what a stage takes in grows with the load.

    It does not if its feeders sum up, and there are as many groups in every batch. Work on these is then a fixed cost:
    with twice the load there would not be twice as much of it. Where it does, what was really taken in is the better
    measure, because a look within a batch finds feeders ahead of those they feed.
    """
    fixed = fit_stage(StageSteps(records=reaching, batches=ran, busy_s=taken)).per_batch_s * sum(ran)
    return fixed <= _MOST_FIXED * sum(taken)


def _commit_s(looks: Sequence[Query]) -> float:
    """Driver time behind the last task, where the parts of a batch are told."""
    batches = {query.finished.id: query.finished.parts_s for query in looks if query.finished is not None}
    return median([sum(parts.get(part, 0.0) for part in _COMMITTING) for parts in batches.values()] or [0.0])


def _state(cuts: Sequence[Query]) -> StateModel:
    """What it grew by per record until it was nearly as large as it ever was."""
    sizes = [(_read(query), query.state.bytes.value) for query in cuts if query.state and query.state.bytes]
    if not sizes or max(size for _, size in sizes) <= 0:
        return StateModel()
    most = max(size for _, size in sizes)
    first_read, first_size = sizes[0]
    until = next((read, size) for read, size in sizes if size >= 0.9 * most)
    grown = (until[1] - first_size) / (until[0] - first_read) if until[0] > first_read else most / max(until[0], 1.0)
    # Still growing at the end: no bound was seen.
    bounded = until != sizes[-1]
    return StateModel(bytes_per_record=max(grown, 0.0), max_bytes=most if bounded else math.inf)


def _read(query: Query) -> float:
    return sum(_value(source.committed) for source in query.sources)
