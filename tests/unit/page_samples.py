"""Recordings to make pages of, without a file and without a loop."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from elastream.core.decision import Decision
from elastream.core.observation import Delay, Observation, Query, Reading, Source
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.journal.reader import Part, Recording
from tests.unit.journal_samples import TOPOLOGY, UTC_S, header, observation, planner, tick


def recording(ticks: Iterable[Tick], *, start_s: float = 0.0) -> Recording:
    """One run."""
    part = Part(name="here", header=header(planner(), utc_s=UTC_S + start_s), snapshot=None, ticks=tuple(ticks))
    return Recording(parts=(part,))


def query(
    at_s: float, *, name: str = "clicks", rps: float = 100.0, backlog: float = 50.0, p95_s: float | None = 4.0
) -> Query:
    """A query to which records come evenly."""
    arrived = rps * at_s + backlog
    source = Source(name="kafka", arrived=Reading(arrived, at_s), committed=Reading(arrived - backlog, at_s))
    delay = p95_s and Delay(at_s=at_s, window_s=60, records=100, p50_s=p95_s / 2, p95_s=p95_s, p99_s=p95_s, max_s=p95_s)
    return Query(
        id=f"id-{name}",
        name=name,
        phase="running",
        topology=TOPOLOGY,
        sources=(source,),
        delay=delay or None,
        slo=Slo(delay_s=10.0),
    )


def look(at_s: float, *queries: Query, wanted: int = 2, ready: int = 2, leaving: int = 0) -> Observation:
    """A calm look unless told otherwise."""
    now = observation(at_s, wanted=wanted, ready=ready)
    pools = tuple(replace(pool, leaving=leaving) for pool in now.pools)
    return replace(now, pools=pools, queries=queries or (query(at_s),))


def kept(number: int, now: Observation, *troubles: str) -> Tick:
    """A tick on which nothing changes."""
    return tick(number, now, Decision.keep(now, f"{number} of 100 slots busy"), *troubles)


def calm(numbers: Sequence[int]) -> list[Tick]:
    """Ticks every five seconds on which nothing changes."""
    return [kept(number, look(5.0 * number)) for number in numbers]


def grown(number: int, *, reason: str = "more arrives", to: int = 5) -> Tick:
    """A tick on which two executors become more."""
    now = look(5.0 * number)
    return tick(number, now, Decision(allocation={"executors": to}, reason=reason))
