"""A start is not idleness: keep what the application was given until its queries have been measured."""

from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Query
from elastream.core.protocols import LetsThePolicySpeak

_IDLE_S = 30.0
"""A query to which nothing came for so long has nothing to be measured by."""


class Seen(TypedDict):
    """What was seen of one query."""

    batch: int | None
    """The first batch that was seen to have ended."""
    arrived: float | None
    since_s: float
    """For how long nothing has arrived."""


class Begun(TypedDict):
    """What the application began with, and how far its queries are known."""

    given: dict[str, int] | None
    queries: dict[str, Seen]
    waits_for: str | None
    """What has not been measured yet; None once everything was."""


@dataclass(frozen=True, kw_only=True)
class Start(LetsThePolicySpeak):
    """No fewer workers than there were on the first look, until a second batch of every query has ended.

    A policy that sees no query, or none that it can measure, would shrink to the minimum; the first batch after a
    restart is the largest, and would then run on one worker. A query to which nothing comes is known to be idle.
    """

    def start(self) -> Begun:
        """Nothing was seen."""
        return {"given": None, "queries": {}, "waits_for": "nothing was seen yet"}

    def learn(self, memory: Begun, now: Observation, last: Decision | None) -> Begun:
        """Note what is measured by now; what once was, stays so."""
        if memory["waits_for"] is None:
            return memory
        running = [query for query in now.queries if query.phase != "terminated"]
        queries = {query.id: _seen(memory["queries"].get(query.id), query, now.at_s) for query in running}
        waits = next((why for query in running if (why := _waits_for(query, queries[query.id], now.at_s))), None)
        return {
            "given": memory["given"] or now.wanted(),
            "queries": queries,
            "waits_for": waits if running else "no query has started yet",
        }

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: Begun) -> Decision:
        """Growing is free; shrinking waits."""
        given, waits = memory["given"], memory["waits_for"]
        if given is None or waits is None:
            return decision
        allocation = {pool: max(size, given.get(pool, size)) for pool, size in decision.allocation.items()}
        return decision.adjusted("start", allocation, f"{waits}; until then it keeps what it was given")


def _seen(before: Seen | None, query: Query, now_s: float) -> Seen:
    arrivals = [source.arrived for source in query.sources]
    known = [reading.value for reading in arrivals if reading is not None]
    arrived = sum(known) if known and len(known) == len(arrivals) else None
    batch = query.finished.id if query.finished is not None else None
    if before is None:
        return {"batch": batch, "arrived": arrived, "since_s": now_s}
    still = arrived is not None and arrived == before["arrived"]
    return {
        "batch": before["batch"] if before["batch"] is not None else batch,
        "arrived": arrived,
        "since_s": before["since_s"] if still else now_s,
    }


def _waits_for(query: Query, seen: Seen, now_s: float) -> str | None:
    # The first batch loads classes and starts workers: it says little about any other.
    if query.finished is not None and seen["batch"] is not None and query.finished.id > seen["batch"]:
        return None
    if query.backlog == 0 and seen["arrived"] is not None and now_s - seen["since_s"] >= _IDLE_S:
        return None
    return f"{query.name} has not been measured yet"
