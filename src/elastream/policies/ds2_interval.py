"""What DS2 measures over one policy interval: true rates of operators, and rates at which records arrive.

Useful time and records are totals over all slots of an operator, so the mean true rate of an instance is their
quotient; the mean of the instances' own quotients, as in equation 5, differs from it only under skew.
"""

from collections import Counter
from collections.abc import Mapping
from typing import TypedDict

from elastream.core.observation import Observation, Query
from elastream.core.topology import Operator

Numbers = list[float | None]


class Totals(TypedDict):
    """What had been done and had arrived at one look."""

    at_s: float
    work: dict[str, Numbers]
    """'query/operator' -> records in, records out (if known) and useful seconds."""
    logs: dict[str, list[float]]
    """'query/source' -> records arrived, and when that was true."""
    queues: dict[str, float]
    """'query/operator' -> records that wait in front of it, where that is known."""


def totals(now: Observation) -> Totals:
    """The totals of a look; what is unknown is left out."""
    work: dict[str, Numbers] = {}
    logs: dict[str, list[float]] = {}
    queues: dict[str, float] = {}
    for query in now.queries:
        for done in query.operators:
            if done.records_in is not None and done.busy_s is not None:
                out = None if done.records_out is None else done.records_out.value
                work[f"{query.id}/{done.name}"] = [done.records_in.value, out, done.busy_s.value]
            if done.queue is not None:
                queues[f"{query.id}/{done.name}"] = done.queue.value
        for source in query.sources:
            if source.arrived is not None:
                logs[f"{query.id}/{source.name}"] = list(source.arrived)
    return {"at_s": now.at_s, "work": work, "logs": logs, "queues": queues}


def true_rates(began: Totals, ended: Totals, max_busy: float) -> dict[str, Numbers]:
    """Records in and out per second of useful time of every operator that worked in between, and when that was.

    Where an operator can be busy for a share of `max_busy` at most, that much counts as all of its time.
    """
    rates: dict[str, Numbers] = {}
    before, at_s = began["work"], ended["at_s"]
    for name, (records_in, records_out, busy_s) in ended["work"].items():
        if name not in before or records_in is None or busy_s is None:
            continue
        in_before, out_before, busy_before = before[name]
        taken, useful_s = records_in - (in_before or 0.0), busy_s - (busy_before or 0.0)
        # A total that fell was reset: the interval says nothing.
        if useful_s <= 0 or taken < 0:
            continue
        given = None if records_out is None or out_before is None else records_out - out_before
        per_s = max_busy / useful_s
        rates[name] = [taken * per_s, None if given is None or given < 0 else given * per_s, at_s]
    return rates


def parts_of_output(query: Query, began: Totals, ended: Totals) -> dict[str, float]:
    """'upstream > downstream' -> the part of its output that goes there, of operators that feed several others.

    The paper's equations let each of these receive all of it. What an operator has received, taken in or still waiting,
    tells how much it was, unless two such operators feed it; then, and where nothing was measured, it is all of it.
    """
    feeds = [(edge.upstream, edge.downstream) for edge in query.topology.edges]
    followers = Counter(upstream for upstream, _ in feeds)
    if not followers or max(followers.values()) == 1:
        return {}
    given = {name: _grown(query, name, 1, began, ended) for name in followers}
    on_edge = {feed: given[feed[0]] for feed in feeds if followers[feed[0]] == 1}
    found: dict[str, float] = {}
    for upstream, downstream in feeds:
        others = [feed for feed in feeds if feed[1] == downstream and feed[0] != upstream]
        received, whole = _received(query, downstream, began, ended), given[upstream]
        known = [amount for feed in others if (amount := on_edge.get(feed)) is not None]
        if followers[upstream] > 1 and received is not None and whole and len(known) == len(others):
            found[f"{upstream} > {downstream}"] = min(1.0, max(0.0, received - sum(known)) / whole)
    return found


def _received(query: Query, name: str, began: Totals, ended: Totals) -> float | None:
    taken, subject = _grown(query, name, 0, began, ended), f"{query.id}/{name}"
    waiting = ended["queues"].get(subject, 0.0) - began["queues"].get(subject, 0.0)
    return None if taken is None else taken + waiting


def _grown(query: Query, name: str, place: int, began: Totals, ended: Totals) -> float | None:
    """How much a total of an operator has grown; None if that is not known or it was reset."""
    subject = f"{query.id}/{name}"
    before, after = began["work"].get(subject), ended["work"].get(subject)
    if before is None or after is None:
        return None
    first, last = before[place], after[place]
    return None if first is None or last is None or last < first else last - first


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

    An operator named like a source reads that one. The others share the rest as they have shared what they read so
    far: a join of a wide and a narrow stream does not get half of each.
    """
    readers = query.topology.sources()
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
