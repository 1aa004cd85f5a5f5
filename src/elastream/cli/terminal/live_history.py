"""What ticks say in numbers: the present ones, and strips of all."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from elastream.cli.terminal.strips import Strip
from elastream.core.observation import Observation, Worker
from elastream.core.slo import Judged, Slo, worst_of
from elastream.core.tick import Tick

RATE_WINDOW_S = 10.0
"""Long enough to be steady, short enough to follow a spike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """One look over all pools and queries. None is unknown."""

    ready: int | None = None
    wanted: int | None = None
    leaving: int | None = None
    rate_rps: float | None = None
    backlog: float | None = None
    delay_p95_s: float | None = None
    """Of the query that is slowest."""
    window_s: float | None = None
    """What the delay was measured over."""
    slo: Slo | None = None
    judged: Judged | None = None
    """The promise that was kept least, and how."""

    @property
    def is_late(self) -> bool:
        """Whether the delay is beyond the promised bound now."""
        return self.slo is not None and self.delay_p95_s is not None and self.delay_p95_s > self.slo.delay_s

    @property
    def is_broken(self) -> bool:
        """Whether too many records were late, over the run."""
        return self.judged is not None and self.judged[1].keeps(self.judged[0]) is False

    def delay_name(self) -> str:
        """`delay p95 of the last 60 s`."""
        return "delay p95" if self.window_s is None else f"delay p95 of the last {self.window_s:g} s"

    def slo_sentence(self) -> str | None:
        """`within SLO 98.7 % of records (99 % promised within 30 s)`; None where nothing is promised."""
        if self.judged is not None and (share := self.judged[1].share) is not None:
            slo = self.judged[0]
            # Rounded down: 98.997 % of 99 % is not kept and must not read as if it were.
            shown = f"{int(share * 1000) / 10:g} %"
            return f"within SLO {shown} of records ({slo.share * 100:g} % promised within {slo.delay_s:g} s)"
        return f"SLO: {self.slo.sentence()}; none judged yet" if self.slo is not None else None


class LiveHistory:
    """All ticks of a run so far."""

    def __init__(self, slo: Slo | None = None) -> None:
        self._slo = slo
        self._arrivals: deque[tuple[float, float]] = deque()
        self._times: list[float] = []
        self._seen: list[Numbers] = []
        self.last: Tick | None = None

    @property
    def now(self) -> Numbers:
        """The last look."""
        return self._seen[-1] if self._seen else Numbers(slo=self._slo)

    @property
    def workers(self) -> tuple[Worker, ...]:
        """Executors as of the last look."""
        now = self.last.observation if self.last else None
        return tuple(worker for pool in now.pools for worker in pool.workers) if now else ()

    @property
    def has_batch(self) -> bool:
        """Whether a batch has been committed."""
        now = self.last.observation if self.last else None
        return now is not None and any(query.finished is not None for query in now.queries)

    def add(self, tick: Tick) -> None:
        """Take in one tick."""
        self.last = tick
        self._times.append(tick.utc_s)
        now = tick.observation
        self._seen.append(Numbers(slo=self._slo, judged=self.now.judged) if now is None else self._numbers(now))

    def strips(self, zero_utc_s: float) -> list[Strip]:
        """Everything since a time."""
        at_s = [utc_s - zero_utc_s for utc_s in self._times]
        limit = self.now.slo.delay_s if self.now.slo else None
        ready = [None if seen.ready is None else float(seen.ready) for seen in self._seen]
        wanted = [None if seen.wanted is None else float(seen.wanted) for seen in self._seen]
        backlog = [seen.backlog for seen in self._seen]
        delay = [seen.delay_p95_s for seen in self._seen]
        # One scale for both, so that a gap between them is seen.
        most = max((value for value in (*ready, *wanted) if value is not None), default=None)
        return [
            Strip(label="rate", at_s=at_s, values=[seen.rate_rps for seen in self._seen], unit="/s", style="cyan"),
            Strip(label="backlog", at_s=at_s, values=backlog, by="max", style="yellow"),
            Strip(label="delay p95", at_s=at_s, values=delay, unit="s", by="max", style="green", limit=limit),
            Strip(label="wanted", at_s=at_s, values=wanted, by="max", style="blue", top=most),
            Strip(label="ready", at_s=at_s, values=ready, by="max", style="bright_blue", top=most),
        ]

    def _numbers(self, now: Observation) -> Numbers:
        slowest = max((query.delay for query in now.queries if query.delay), key=lambda one: one.p95_s, default=None)
        promised = [query.slo for query in now.queries if query.slo is not None]
        return Numbers(
            ready=sum(pool.ready for pool in now.pools),
            wanted=sum(pool.wanted for pool in now.pools),
            leaving=sum(pool.leaving for pool in now.pools),
            rate_rps=self._rate(now),
            backlog=_backlog(now),
            delay_p95_s=slowest.p95_s if slowest else None,
            window_s=slowest.window_s if slowest else None,
            slo=min(promised, key=lambda slo: slo.delay_s, default=self._slo),
            judged=self._judge(now),
        )

    def _judge(self, now: Observation) -> Judged | None:
        """When its queries have ended, what they kept stays kept."""
        found = worst_of((query.slo, query.on_time) for query in now.queries if query.slo and query.on_time)
        return found or self.now.judged

    def _rate(self, now: Observation) -> float | None:
        """Arrivals per second over the last looks."""
        arrived = [source.arrived for query in now.queries for source in query.sources]
        if not arrived or None in arrived:
            return None
        total = sum(reading.value for reading in arrived if reading)
        if self._arrivals and total < self._arrivals[-1][1]:
            # A query has gone, and what it had counted with it.
            self._arrivals.clear()
        self._arrivals.append((now.at_s, total))
        while now.at_s - self._arrivals[0][0] > RATE_WINDOW_S:
            self._arrivals.popleft()
        before_s, before = self._arrivals[0]
        return (total - before) / (now.at_s - before_s) if now.at_s > before_s else None


def _backlog(now: Observation) -> float | None:
    backlogs = [query.backlog for query in now.queries]
    return None if not backlogs or None in backlogs else sum(one for one in backlogs if one is not None)
