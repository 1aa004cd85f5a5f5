"""What DS2 measures over one policy interval: true rates of operators, and rates at which records arrive.

Useful time and records are totals over all slots of an operator, so the mean true rate of an instance is their
quotient; the mean of the instances' own quotients, as in equation 5, differs from it only under skew.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypedDict

from elastream.core.observation import Observation, Query
from elastream.core.topology import Edge, Operator

Numbers = list[float | None]


Parts = dict[str, dict[str, float]]
"""Downstream -> upstream -> the part of the output of the latter that goes to the former."""


class Totals(TypedDict):
    """What had been done and had arrived at one look."""

    at_s: float
    work: dict[str, Numbers]
    """'query/operator' -> records in, records out (if known) and useful seconds."""
    logs: dict[str, list[float]]
    """'query/source' -> records arrived, and when that was true."""
    queues: dict[str, float]
    """'query/operator' -> records that wait in front of it, where that is known."""
    drivers: dict[str, list[float]]
    """Query -> batches that have finished, and seconds of them in which only the driver worked."""


Grown = tuple[float, float | None, float]
"""What an operator has done between two looks: records taken in, records given out if known, useful seconds."""


_NOTHING: Grown = (0.0, None, 0.0)


def totals(now: Observation) -> Totals:
    """The totals of a look; what is unknown is left out."""
    work: dict[str, Numbers] = {}
    logs: dict[str, list[float]] = {}
    queues: dict[str, float] = {}
    drivers: dict[str, list[float]] = {}
    for query in now.queries:
        for done in query.operators:
            if done.records_in is not None and done.busy_s is not None:
                out = None if done.records_out is None else done.records_out.value
                work[f"{query.id}/{done.name}"] = [done.records_in.value, out, done.busy_s.value]
            if done.queue is not None:
                queues[f"{query.id}/{done.name}"] = done.queue.value
        if query.batches is not None and query.driver_s is not None:
            drivers[query.id] = [query.batches.value, query.driver_s.value]
        for source in query.sources:
            if source.arrived is not None:
                logs[f"{query.id}/{source.name}"] = list(source.arrived)
    return {"at_s": now.at_s, "work": work, "logs": logs, "queues": queues, "drivers": drivers}


def growth(began: Totals, ended: Totals) -> dict[str, Grown]:
    """What every operator has done in between that has worked in both looks and was not reset."""
    found: dict[str, Grown] = {}
    before = began["work"]
    for name, (records_in, records_out, busy_s) in ended["work"].items():
        if name not in before or records_in is None or busy_s is None:
            continue
        in_before, out_before, busy_before = before[name]
        taken, useful_s = records_in - (in_before or 0.0), busy_s - (busy_before or 0.0)
        # A total that fell was reset: the interval says nothing.
        if useful_s < 0 or taken < 0:
            continue
        given = None if records_out is None or out_before is None else records_out - out_before
        found[name] = taken, None if given is None or given < 0 else given, useful_s
    return found


def true_rates(grown: Mapping[str, Grown], at_s: float, max_busy: float) -> dict[str, Numbers]:
    """Records in and out per second of useful time of every operator that worked, and when that was.

    Where an operator can be busy for a share of `max_busy` at most, that much counts as all of its time.
    """
    rates: dict[str, Numbers] = {}
    for name, (taken, given, useful_s) in grown.items():
        if useful_s > 0:
            per_s = max_busy / useful_s
            rates[name] = [taken * per_s, None if given is None else given * per_s, at_s]
    return rates


def driver_times(before: Mapping[str, float], began: Totals, ended: Totals, now: Observation) -> dict[str, float]:
    """Of every query, the driver's seconds of a batch within an interval, or before where none has finished in it."""
    found = {query.id: before[query.id] for query in now.queries if query.id in before}
    for name, (batches, driver_s) in ended["drivers"].items():
        first, first_s = began["drivers"].get(name, (batches, driver_s))
        if batches > first and driver_s >= first_s:
            found[name] = (driver_s - first_s) / (batches - first)
    return found


def parts_of_output(query: Query, before: Parts, grown: Mapping[str, Grown], began: Totals, ended: Totals) -> Parts:
    """The part of the output of an operator with several followers that each of these receives, where it is not all.

    The paper's equations let each of them receive all of it. What an operator has received, taken in or still waiting,
    tells how much it was, unless two such operators feed it; then, and where nothing was measured, it is all of it, or
    what it was before.
    """
    found = dict(before)
    first, last = began["queues"], ended["queues"]
    for name, feeder, subject, feeder_subject, others in _forks(query.id, query.topology.edges):
        if subject not in grown or feeder_subject not in grown:
            continue
        (taken, _, _), (_, whole, _) = grown[subject], grown[feeder_subject]
        if not whole:
            continue
        received = taken + last.get(subject, 0.0) - first.get(subject, 0.0)
        for other in others:
            _, given, _ = grown.get(other, _NOTHING)
            if given is None:
                break
            received -= given
        else:
            part = max(0.0, received) / whole
            if part < 1.0:
                found[name] = {feeder: part}
            else:
                found.pop(name, None)
    return found


class _Fork(NamedTuple):
    """An operator that one with several followers feeds. A subject is 'query/operator'."""

    name: str
    feeder: str
    subject: str
    feeder_subject: str
    other_subjects: tuple[str, ...]
    """Of all else that feeds it."""


# Like the way through the graph, its forks stay the same for hours.
@lru_cache(maxsize=64)
def _forks(query: str, edges: tuple[Edge, ...]) -> list[_Fork]:
    """Operators of which one feeder, and no more than one, has several followers."""
    followers = Counter(edge.upstream for edge in edges)
    feeders: dict[str, list[str]] = {}
    for edge in edges:
        feeders.setdefault(edge.downstream, []).append(edge.upstream)
    found = []
    for name, those in feeders.items():
        parted = [feeder for feeder in those if followers[feeder] > 1]
        if len(parted) == 1:
            others = tuple(f"{query}/{feeder}" for feeder in those if feeder != parted[0])
            found.append(_Fork(name, parted[0], f"{query}/{name}", f"{query}/{parted[0]}", others))
    return found


def arrivals(query: Query, began: Totals, ended: Totals) -> dict[str, float] | str:
    """Records per second that arrive at each source, or why that is not known."""
    found: dict[str, float] = {}
    for source in query.sources:
        name = f"{query.id}/{source.name}"
        if name not in began["logs"] or name not in ended["logs"]:
            return query.not_known("arrival rate")
        (before, before_s), (after, after_s) = began["logs"][name], ended["logs"][name]
        if after_s <= before_s or after < before:
            return query.not_known("arrival rate")
        found[source.name] = (after - before) / (after_s - before_s)
    return found if found else f"{query.name} has no source whose rate could be measured"


def reading_rps(query: Query, arriving: Mapping[str, float]) -> dict[str, float] | str:
    """What arrives at every operator that reads a source, or why that is not known.

    Where it is not told which operator reads which source, one named like a source reads that one. The others share
    the rest as they have shared what they read so far: a join of a wide and a narrow stream does not get half of each.
    """
    readers = query.topology.sources()
    told = {reader.name: reader.reads for reader in readers if reader.reads}
    if len(told) == len(readers) and all(source in arriving for sources in told.values() for source in sources):
        return {name: sum(arriving[source] for source in sources) for name, sources in told.items()}
    named = {reader.name: arriving[reader.name] for reader in readers if reader.name in arriving}
    others = [reader for reader in readers if reader.name not in named]
    if not others:
        return named
    rest = sum(rps for name, rps in arriving.items() if name not in named)
    if len(others) == 1 or rest == 0:
        return named | {reader.name: rest for reader in others}
    return _shared(query, others, rest, named)


def _shared(query: Query, readers: list[Operator], rest: float, named: dict[str, float]) -> dict[str, float] | str:
    read = {work.name: work.records_in.value for work in query.operators if work.records_in is not None}
    total = sum(read.get(reader.name, 0.0) for reader in readers)
    if total <= 0:
        return f"which operator of {query.name} reads how much is not known yet"
    return named | {reader.name: rest * read.get(reader.name, 0.0) / total for reader in readers}
