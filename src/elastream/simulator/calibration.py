"""A model of an application, measured from what was seen of it: work per record, fixed costs, state.

Between two looks a stage was busy for as long as its records and its batches took: busy = work * records + fixed *
batches. Over a run whose load moves, both can be told apart by least squares; with a steady load they cannot, and the
model says so. What a journal does not tell (how executors start) keeps the simulator's defaults.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

import numpy as np

from elastream.core.errors import BadInput
from elastream.core.observation import Observation, OperatorWork, Query, Reading
from elastream.core.signals import Signal
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel, SourceModel, StageModel, StateModel
from elastream.simulator.pool_model import PoolModel

SKIPPED_BATCHES = 3
"""The first batches of a query cost several times what any other does."""
LEAST_BATCHES = 8
# Parts of a batch behind its last task, as Spark names them.
_COMMITTING = ("commitOffsets", "commitBatch", "commit")
# Below this, the records of batches are too much alike to tell work per record from what a batch costs anyway.
_LEAST_SPREAD = 0.1
_COUNTED = {Signal.RECORDS_IN, Signal.RECORDS_OUT, Signal.BUSY_TIME, Signal.DRIVER_TIME}
# Share of a stage's records that come in every batch, whatever the load, above which they count as a fixed cost.
_MOST_FIXED = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFit:
    """Busy time as work per record and a fixed part per batch."""

    per_record_s: float
    per_batch_s: float
    noise: float
    """Standard deviation of the logarithm of a batch's time over what the fit says."""


def measured(looks: Sequence[Observation], name: str, doc: str = "") -> ApplicationModel:
    """The model of all queries that ran long enough."""
    looks = _without_gaps(looks)
    names = list(dict.fromkeys(query.name for now in looks for query in now.queries))
    queries = [_query(each, [_of(now, each) for now in looks]) for each in names]
    found = [query for query in queries if query is not None]
    if not found:
        raise BadInput(
            f"model {name}: no query finished {SKIPPED_BATCHES + LEAST_BATCHES} batches; record a longer run"
        )
    pool = looks[-1].pools[0]
    most = max(now.pools[0].ready for now in looks)
    told = [doc, f"{most * pool.slots_per_worker} slots", *(_told(each, looks) for each in names)]
    return ApplicationModel(
        name=name,
        doc="; ".join(part for part in told if part),
        queries=tuple(found),
        pool=PoolModel(
            slots_per_worker=pool.slots_per_worker,
            max_workers=max(PoolModel().max_workers, most),
            memory_bytes=pool.worker_memory_bytes,
        ),
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


def fitted(records: Sequence[float], batches: Sequence[float], busy_s: Sequence[float]) -> CostFit:
    """Least squares with nothing below zero. Batches that are all alike have their whole time put on the records."""
    taken, ran, spent = (np.asarray(values, dtype=float) for values in (records, batches, busy_s))
    total = taken.sum()
    if total <= 0:
        return CostFit(per_record_s=0.0, per_batch_s=float(spent.sum() / max(ran.sum(), 1.0)), noise=0.0)
    per_batch = taken / np.maximum(ran, 1.0)
    work, fixed = float(spent.sum() / total), 0.0
    if per_batch.std() >= _LEAST_SPREAD * per_batch.mean():
        (work, fixed), *_ = np.linalg.lstsq(np.stack([taken, ran], axis=1), spent, rcond=None)
        if fixed < 0:
            work, fixed = float(spent.sum() / total), 0.0
        if work < 0:
            work, fixed = 0.0, float(spent.sum() / ran.sum())
    said = work * taken + fixed * ran
    known = (spent > 0) & (said > 0)
    # Noise of several batches together is smaller by the root of their number.
    off = np.log(spent[known] / said[known]) * np.sqrt(ran[known])
    return CostFit(
        per_record_s=float(work), per_batch_s=float(fixed), noise=float(off.std()) if known.sum() > 2 else 0.0
    )


def _without_gaps(looks: Sequence[Observation]) -> Sequence[Observation]:
    """The longest part of a run in which nothing of what is added up was lost."""
    gaps = [place for place, now in enumerate(looks) if not _COUNTED.isdisjoint(now.lacks)]
    return max((looks[start + 1 : end] for start, end in pairwise([-1, *gaps, len(looks)])), key=len)


def _of(now: Observation, name: str) -> Query | None:
    return next((query for query in now.queries if query.name == name), None)


def _query(name: str, seen: Sequence[Query | None]) -> QueryModel | None:
    looks = [query for query in seen if query is not None and query.batches is not None and query.topology.operators]
    looks = [query for query in looks if query.batches and query.batches.value >= SKIPPED_BATCHES]
    cuts = _cuts(looks)
    ran = _steps([query.batches for query in cuts])
    if len(cuts) < 3 or sum(ran) < LEAST_BATCHES:
        return None
    last = cuts[-1]
    sources = tuple(
        SourceModel(name=source.name, share=share, partitions=source.partitions)
        for source, share in zip(last.sources, _shares(cuts), strict=True)
    )
    read_by = _reading(last)
    out = {operator.name: _selectivity(cuts, operator.name) for operator in last.topology.operators}
    reaching: dict[str, list[float]] = {}
    stages, noises = [], []
    for operator in (one for level in last.topology.levels() for one in level):
        stage, before = operator.name, last.topology.upstream(operator.name)
        works = [_work(query, stage) for query in cuts]
        taken, busy_s = _steps([work.records_in for work in works]), _steps([work.busy_s for work in works])
        reaching[stage] = _reaching([(reaching[up], out[up]) for up in before]) or taken
        follows = _follows(taken, reaching[stage], ran)
        fit = fitted(taken if follows else reaching[stage], ran, busy_s)
        noises.append(fit.noise)
        tasks = _work(last, stage).tasks or operator.partitions or 1
        stages.append(
            StageModel(
                name=stage,
                after=before or read_by[stage],
                partitions=tasks,
                slot_s_per_record=fit.per_record_s,
                records_out=out[stage],
                task_s=fit.per_batch_s / tasks,
                stateful=operator.stateful,
            )
        )
    commit_s = _commit_s(looks)
    driver_s = sum(_steps([query.driver_s for query in cuts])) / sum(ran)
    return QueryModel(
        name=name,
        sources=sources,
        stages=tuple(stages),
        trigger=last.trigger,
        plan_s=max(driver_s - commit_s, 0.0),
        commit_s=commit_s,
        state=_state(cuts),
        noise=median(noises),
        slo=last.slo,
    )


def _cuts(looks: Sequence[Query]) -> list[Query]:
    """Looks between which batches ended: the last look at each, before the next one ends."""
    return [
        before
        for before, after in pairwise(looks)
        if before.batches and after.batches and after.batches.value > before.batches.value
    ]


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
    fixed = fitted(reaching, ran, taken).per_batch_s * sum(ran)
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
