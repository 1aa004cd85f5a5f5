"""From raw looks to observations.

`fold` is called once per tick with everything that is new, keeps running totals, and never raises for what Spark left
out: a part that cannot be read stays as it was or is None. More than a fifth of a query's useful time that can be
matched with no operator (`other_s`) would make figures per operator wrong, so such a query is shown as a whole: one
operator named "query", with all of its time and the records of its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from elastream.core.observation import Observation, Query, Reading
from elastream.core.signals import Signal
from elastream.core.slo import Slo
from elastream.spark.jvm.snapshot import QuerySeen, Snapshot, StageSeen
from elastream.spark.observe.host_usage import HostUsage, Usage
from elastream.spark.observe.losses import ADDED_UP, REASON, Losses
from elastream.spark.observe.pool_tracker import NOBODY, POOL, PoolSeen, PoolTracker
from elastream.spark.observe.prometheus.background import OutsideReadings
from elastream.spark.observe.prometheus.executor_use import OutsideUse, outside_use
from elastream.spark.observe.prometheus.questions import ALONE
from elastream.spark.observe.query_tracker import QueryTracker, SnapshotTime, without_totals
from elastream.spark.scale.managers import Manager
from elastream.spark.scale.roster import Registered

__all__ = ["POOL", "PROVIDES", "Observer", "PoolSizes", "provided"]

PROVIDES = frozenset(
    {
        Signal.ARRIVED,
        Signal.COMMITTED,
        Signal.BACKLOG_AGE,
        Signal.BATCHES,
        Signal.DRIVER_TIME,
        Signal.DELAY,
        Signal.STATE_BYTES,
        Signal.RECORDS_IN,
        Signal.RECORDS_OUT,
        Signal.BUSY_TIME,
        Signal.WORKER_CPU,
        Signal.WORKER_MEMORY,
        Signal.WORKER_RECORDS,
        Signal.BUSY_SLOTS,
        Signal.READY,
        Signal.WORKER_CHOICE,
    }
)


def provided(manager: Manager, *, emulated: bool) -> frozenset[Signal]:
    """Signals of one application. What executors on other hosts do not tell is said look by look."""
    # Emulated slots sleep: what the processor does says nothing of them.
    signals = PROVIDES - {Signal.WORKER_CPU} if emulated else PROVIDES
    return signals | {Signal.PLACE_CHOICE} if manager.takes_places else signals


# A query that has ended is shown for a while, so that its end is seen, and forgotten after that.
_SHOWN_AFTER_END_S = 120.0
_REMEMBERED_AFTER_END_S = 3600.0
_MOST_REMEMBERED = 64
# Clocks drift by less between two looks; more, and UTC was set.
_CLOCK_JUMP_S = 0.5


class PoolSizes(Protocol):
    """What was decided and asked for, and what there is room for."""

    @property
    def wanted(self) -> int: ...

    @property
    def requested(self) -> int: ...

    @property
    def room(self) -> int | None: ...


class Observer:
    """Folds looks at one application into observations."""

    def __init__(
        self,
        *,
        application: str,
        bounds: tuple[int, int],
        slots_per_worker: int,
        slo: Slo | None = None,
        worker_memory_bytes: float | None = None,
        emulated: bool = False,
        usage: Callable[[], Mapping[str, Usage]] | None = None,
        outside: OutsideReadings | None = None,
    ) -> None:
        self.malformed = 0
        """Things in looks that could not be read, so far."""
        self._application = application
        self._bounds = bounds
        self._slots_per_worker = slots_per_worker
        self._slo = slo
        self._worker_memory_bytes = worker_memory_bytes
        self._usage = HostUsage(application).read if usage is None else usage
        # What executors elsewhere use, and lags that Spark does not know.
        self._outside = outside
        self._pooling = PoolTracker(emulated=emulated)
        self._losses = Losses()
        self._queries: dict[str, QueryTracker] = {}
        self._ahead_s: float | None = None

    def fold(
        self, look: Snapshot, registered: Registered, sizes: PoolSizes, *, at_s: float, utc_s: float
    ) -> Observation:
        """The application as of a look that ended at `at_s` on the loop's clock."""
        moment = self._moment(look, at_s)
        self.malformed += look.malformed
        is_lossy = self._losses.update(look, self.malformed, at_s)
        self._take_events(look, moment, is_lossy=is_lossy)
        queries = self._shown(look, moment)
        seen = PoolSeen(
            slots_per_worker=self._slots_per_worker,
            min_workers=self._bounds[0],
            max_workers=self._bounds[1],
            wanted=sizes.wanted,
            requested=sizes.requested,
            ready=registered.ready,
            leaving=registered.leaving,
            worker_memory_bytes=self._worker_memory_bytes,
        )
        others = sum(executor.other_running for executor in look.executors.values() if executor.removed_s is None)
        pool = self._pooling.pool(
            seen, look, self._usage(), at_s, is_lossy=is_lossy, outside=self._used_outside(look, registered, moment)
        )
        return Observation(
            at_s=at_s,
            utc_s=utc_s,
            application=self._application,
            pools=(pool,),
            queries=tuple(map(without_totals, queries)) if is_lossy else queries,
            other_busy_slots=Reading(float(others), at_s),
            cluster_workers=sizes.room,
            lacks=self._lacks(is_lossy=is_lossy),
            troubles=(*self._losses.troubles(), *(self._outside.troubles() if self._outside is not None else ())),
        )

    def _used_outside(self, look: Snapshot, registered: Registered, moment: SnapshotTime) -> OutsideUse:
        if self._outside is None:
            return NOBODY
        there = dict.fromkeys((*registered.ready, *registered.leaving))
        hosts = {name: seen.host if (seen := look.executors.get(name)) is not None else None for name in there}
        return outside_use(self._outside, hosts, at_s=moment.at_s, ahead_s=moment.ahead_s)

    def _waiting_outside(self, queries: Sequence[QuerySeen], moment: SnapshotTime) -> dict[str, Reading]:
        """Query -> how many of its records wait, by whoever is asked outside of Spark."""
        if self._outside is None or not (lag := self._outside.latest().lag):
            return {}
        keys = {seen.id: seen.name or "" for seen in queries}
        if self._outside.labels.query is None:
            keys = {seen.id: ALONE for seen in queries} if len(queries) == 1 else {}
        found = {query: lag[key] for query, key in keys.items() if key in lag}
        return {query: Reading(one.value, moment.monotonic(one.at_s)) for query, one in found.items()}

    def _lacks(self, *, is_lossy: bool) -> dict[Signal, str]:
        lost = dict.fromkeys(ADDED_UP, REASON) if is_lossy else {}
        # A batch of which events were lost may end later than the look that found it out.
        if any(query.has_lost_driver_time for query in self._queries.values()):
            lost[Signal.DRIVER_TIME] = REASON
        lacks = lost | self._pooling.lacks()
        # Where processes cannot be seen, tasks tell what they computed.
        return lacks | {Signal.WORKER_CPU: REASON} if is_lossy and self._pooling.reads_tasks else lacks

    def watched_only(self) -> tuple[str, ...]:
        """What was seen so far that no policy can act on, a sentence for each source."""
        return tuple(line for following in self._queries.values() for line in following.watched_only())

    def _moment(self, look: Snapshot, at_s: float) -> SnapshotTime:
        ahead_s = look.utc_s - at_s
        # Once for all: anew at each look, the same moment would differ by a millisecond or two.
        if self._ahead_s is None or abs(ahead_s - self._ahead_s) > _CLOCK_JUMP_S:
            self._ahead_s = ahead_s
        return SnapshotTime(at_s=at_s, utc_s=look.utc_s, ahead_s=self._ahead_s)

    def _take_events(self, look: Snapshot, moment: SnapshotTime, *, is_lossy: bool) -> None:
        for known in self._queries.values():
            known.has_lost_driver_time = False
        ended: dict[str, list[StageSeen]] = {}
        for stage in look.stages:
            if stage.query is not None and stage.ended_s is not None:
                ended.setdefault(stage.query, []).append(stage)
        for event in look.events:
            following = self._following(event.query)
            if event.kind == "started" or not following.run:
                following.started(event.run, event.name)
        waiting = self._waiting_outside(look.queries, moment)
        for seen in look.queries:
            following = self._following(seen.id)
            following.started(seen.run, seen.name)
            following.see(seen, moment, waiting.get(seen.id))
            if is_lossy:
                following.lose_events(seen.batch)
        # Stages before the progress of their batch, which asks for their totals.
        for query, stages in ended.items():
            for stage in stages:
                self._following(query).take_stage(stage, look.shapes)
        for event in look.events:
            following = self._following(event.query)
            if event.kind == "progress" and event.progress is not None and event.run == following.run:
                try:
                    following.take_progress(event.progress, moment)
                except (KeyError, TypeError, ValueError, AttributeError):
                    self.malformed += 1
            elif event.kind == "terminated":
                following.terminated(event, moment.at_s)

    def _following(self, query: str) -> QueryTracker:
        if query not in self._queries:
            self._queries[query] = QueryTracker(query, self._slo)
        return self._queries[query]

    def _shown(self, look: Snapshot, moment: SnapshotTime) -> tuple[Query, ...]:
        active = {seen.id: seen for seen in look.queries}
        for name, following in list(self._queries.items()):
            if name not in active and following.ended_s is None:
                following.ended_s = moment.at_s
        self._forget(moment.at_s)
        live: dict[str | None, list[StageSeen]] = {}
        for stage in look.stages:
            if stage.ended_s is None:
                live.setdefault(stage.query, []).append(stage)
        shown = []
        for name, following in self._queries.items():
            if following.ended_s is not None and moment.at_s - following.ended_s > _SHOWN_AFTER_END_S:
                continue
            shown.append(following.query(active.get(name), live.get(name, ()), look.shapes, moment))
        return tuple(shown)

    def _forget(self, at_s: float) -> None:
        """A query that comes back is known again for an hour; of many that do not, the last are remembered."""
        over = {name: query.ended_s for name, query in self._queries.items() if query.ended_s is not None}
        for place, (name, ended_s) in enumerate(sorted(over.items(), key=lambda item: -item[1])):
            if place >= _MOST_REMEMBERED or at_s - ended_s > _REMEMBERED_AFTER_END_S:
                del self._queries[name]
