"""A live Spark application as a Platform: looks at all its queries, and changes its executors while they run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elastream.core.decision import Decision
from elastream.core.errors import ApplyFailed, CannotRun, ObservationFailed
from elastream.core.log import log
from elastream.core.observation import Observation
from elastream.core.protocols import Clock
from elastream.core.slo import Slo
from elastream.spark.jvm.listener import JvmListener
from elastream.spark.jvm.snapshot import QuerySeen, Snapshot
from elastream.spark.observe.observer import POOL, Observer, provided
from elastream.spark.observe.prometheus.background import OutsideReadings
from elastream.spark.scale.executors import Executors, ExecutorUse, ScaleLimits, ShrinkBy
from elastream.spark.scale.scheduler_backend import SparkBackend
from elastream.spark.session import check, expected_executors, memory_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNFIT_TRIGGERS = {
    "ContinuousTrigger": "holds its slots for ever, so that no executor could leave",
    "RealTimeTrigger": "holds its slots for ever, so that no executor could leave",
    "AvailableNowTrigger": "ends by itself; it needs no autoscaler",
    "OneTimeTrigger": "ends by itself; it needs no autoscaler",
}


class SparkPlatform:
    """All queries of one application. Watches it from the moment it is made; `close` takes everything away again."""

    name = "spark"

    def __init__(
        self,
        spark: SparkSession,
        clock: Clock,
        *,
        bounds: tuple[int, int],
        initial: int | None = None,
        slo: Slo | None = None,
        shrink_by: ShrinkBy = "decommission",
        emulated: bool = False,
        limits: ScaleLimits | None = None,
        asks_kafka: bool = True,
        outside: OutsideReadings | None = None,
    ) -> None:
        check(spark, shrink_by=shrink_by)
        self.version = str(spark.version)
        self.application_name = str(spark.sparkContext.appName)
        backend = SparkBackend(spark)
        self.provides = provided(backend.manager, emulated=emulated)
        self._context: Any = spark.sparkContext
        self._clock = clock
        self._watch = JvmListener.install(spark, asks_kafka=asks_kafka)
        expected = expected_executors(self._context, clock.utc_s())
        self.executors = Executors(
            backend, clock, shrink_by=shrink_by, expected=expected, initial=initial, limits=limits
        )
        self._observing = Observer(
            application=str(spark.sparkContext.applicationId),
            bounds=bounds,
            slots_per_worker=int(self._context.getConf().get("spark.executor.cores", "1")),
            slo=slo,
            worker_memory_bytes=memory_bytes(self._context.getConf().get("spark.executor.memory", "1g")),
            emulated=emulated,
            usage=None if backend.manager.sees_processes else dict,
            outside=outside,
        )
        self._outside = outside
        self._use = ExecutorUse()
        self._told: set[str] = set()
        unfit = next((query for query in self._watch.look().queries if query.active and _unfit(query)), None)
        if unfit is not None:
            self.close()
            raise CannotRun(f"query {unfit.name or unfit.id}: {_unfit(unfit)}")

    def observe(self) -> Observation:
        """One look at every query and every executor."""
        look = self._watch.look()
        for query in look.queries:
            if query.active and (reason := _unfit(query)):
                raise ObservationFailed(f"query {query.name or query.id}: {reason}")
        registered = self.executors.look()
        now_s, utc_s = self._clock.now_s(), self._clock.utc_s()
        now = self._observing.fold(look, registered, self.executors, at_s=now_s, utc_s=utc_s)
        self._use = use_of(look, now, now_s - utc_s)
        self._tell_watched_only()
        return now

    def _tell_watched_only(self) -> None:
        for line in self._observing.watched_only():
            if line not in self._told:
                self._told.add(line)
                log.warning("%s", line)

    def apply(self, decision: Decision) -> None:
        """Begin to have the size that was decided; a thread does the asking."""
        self.executors.want(decision.allocation[POOL], leave_first=decision.leave_first, use=self._use)
        troubles = self.executors.troubles()
        if troubles:
            raise ApplyFailed("; ".join(troubles))

    def has_ended(self) -> bool:
        """Whether the application is over."""
        try:
            return self._context._jsc is None or bool(self._context._jsc.sc().isStopped())
        except Exception:
            # The gateway itself is gone.
            return True

    def close(self) -> None:
        """Take the listener away; executors stay as they are."""
        self.executors.stop()
        if self._outside is not None:
            self._outside.stop()
        if not self.has_ended():
            self._watch.remove()


def _unfit(query: QuerySeen) -> str | None:
    """Why a query's trigger rules out changing executors, with the remedy."""
    for trigger, reason in UNFIT_TRIGGERS.items():
        if trigger in query.trigger:
            return f"its trigger ({trigger.removesuffix('Trigger')}) {reason}; use a processing-time trigger"
    return None


def use_of(look: Snapshot, now: Observation, clock_ahead_s: float) -> ExecutorUse:
    """What executors are doing, by a look."""
    return ExecutorUse(
        tasks={name: seen.running for name, seen in look.executors.items()},
        other_tasks={name: seen.other_running for name, seen in look.executors.items()},
        first_task_s={
            name: seen.first_task_s + clock_ahead_s
            for name, seen in look.executors.items()
            if seen.first_task_s is not None
        },
        starting=tuple(worker.id for pool in now.pools for worker in pool.workers if worker.state == "starting"),
        between_batches=all(query.running is None for query in now.queries),
        retrying=any(stage.attempt > 0 and stage.ended_s is None for stage in look.stages),
    )
