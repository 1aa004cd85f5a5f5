"""What arrives for some queries and what they take in, as two totals that only grow.

Sources come and go and a restarted one counts from zero, so differences are added up source by source. A look at which
one source is silent is left out as a whole: the next difference spans it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from elastream.core.observation import Query

State = dict[str, Any]

_MOST_POINTS = 256


def start() -> State:
    """Nothing was seen."""
    return {"seen": {}, "points": [], "unknown": "no look yet"}


def after(state: State, queries: Iterable[Query], at_s: float, keep_s: float) -> State:
    """The load after one more look; points older than `keep_s` are dropped, but for the one that opens the window."""
    last = state["points"][-1] if state["points"] else [at_s, 0.0, 0.0]
    seen: dict[str, list[float]] = {}
    arrived = committed = 0.0
    for query in queries:
        for source in query.sources:
            if source.arrived is None or source.committed is None:
                what = "arrival rate" if source.arrived is None else "throughput"
                return {**state, "unknown": query.not_known(what)}
            name = f"{query.id}/{source.name}"
            seen[name] = [source.arrived.value, source.committed.value]
            before = state["seen"].get(name, seen[name])
            arrived += max(0.0, seen[name][0] - before[0])
            committed += max(0.0, seen[name][1] - before[1])
    if not seen:
        return {**state, "unknown": "no source is known"}
    if state["points"] and at_s <= last[0]:
        return state
    points = [*state["points"], [at_s, last[1] + arrived, last[2] + committed]][-_MOST_POINTS:]
    while len(points) > 2 and points[1][0] <= at_s - keep_s:
        points = points[1:]
    return {"seen": seen, "points": points, "unknown": None}


def rates(state: State, window_s: float) -> tuple[float, float] | None:
    """Records/s that arrived and that were taken in over a window that ends now, or None without two points in it."""
    points = state["points"]
    if len(points) < 2:
        return None
    last = points[-1]
    first = next((p for p in reversed(points[:-1]) if p[0] <= last[0] - window_s), points[0])
    elapsed_s = last[0] - first[0]
    return (last[1] - first[1]) / elapsed_s, (last[2] - first[2]) / elapsed_s


def arrivals(state: State) -> list[tuple[float, float]]:
    """(time, records/s that arrived) between the points."""
    points = state["points"]
    return [
        ((b[0] + a[0]) / 2, (b[1] - a[1]) / (b[0] - a[0])) for a, b in pairwise(points)
    ]  # fmt: skip
