"""One streaming query in the simulator: where its sources are, which batch runs, what it has done."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from random import Random

from elastream.core.observation import FinishedBatch, LongestTask
from elastream.core.slo import OnTime
from elastream.core.topology import Topology
from elastream.estimators.delay import DelayWindow, Punctuality, Stretch
from elastream.simulator.cluster import SimulatedWorker
from elastream.simulator.delay import DELAY_WINDOW_S, stretches
from elastream.simulator.microbatch.model import QueryModel, SourceModel, StageModel
from elastream.simulator.microbatch.stage import StageTotals
from elastream.workloads.series import RateSeries

# Spark looks for new data this often when a query runs as fast as possible (spark.sql.streaming.pollingDelay).
_POLL_S = 0.01


@dataclass(slots=True)
class SimulatedSource:
    """One input: records are counted from its beginning."""

    model: SourceModel
    curve: RateSeries
    committed: int = 0
    planned: int = 0
    """Where the running batch ends; equal to `committed` when none runs."""

    def arrived(self, now_s: float) -> int:
        """Whole records that exist by now."""
        # The epsilon is for sums that fall short of a whole record by rounding alone.
        return math.floor(self.curve.arrived(now_s) + 1e-6)

    def limited(self, records: int) -> int:
        """How many of the waiting records one batch takes."""
        limit = self.model.read_limit
        return records if limit is None else min(records, max(1, int(limit)))

    def oldest_s(self) -> float:
        """When the first record that is not committed arrived, or will arrive."""
        return self.curve.when(self.committed + 1)


@dataclass(slots=True)
class SimulatedBatch:
    """The running batch."""

    id: int
    started_s: float
    rows: int
    limited: bool
    level: int = 0
    reaching: dict[str, float] = field(default_factory=dict)
    """Records that sources and finished stages give to the next ones."""
    stages_left: int = 0
    tasks_done: int = 0
    busy_s: float = 0.0
    planned_s: float = 0.0
    tasks_end_s: float = 0.0
    critical_s: float = 0.0
    """Of the levels that have ended."""
    level_s: float = 0.0
    """The longest task of the present level."""
    longest: LongestTask | None = None


class SimulatedQuery:
    """The state of one query between events."""

    def __init__(self, model: QueryModel, curve: RateSeries, random: Random) -> None:
        self.model = model
        self.random = random
        self.topology: Topology = model.topology()
        stages = {stage.name: stage for stage in model.stages}
        self.levels: list[list[StageModel]] = [[stages[op.name] for op in level] for level in self.topology.levels()]
        self.tasks = sum(stage.partitions for stage in model.stages)
        self.sources = [SimulatedSource(source, curve * source.share) for source in model.sources]
        self.totals = {stage.name: StageTotals() for stage in model.stages}
        self.homes: dict[str, list[SimulatedWorker | None]] = {
            stage.name: [None] * stage.partitions for stage in model.stages if stage.stateful
        }
        self.batch: SimulatedBatch | None = None
        self.finished: FinishedBatch | None = None
        self.batches = 0
        self.driver_s = 0.0
        self.delay = DelayWindow(DELAY_WINDOW_S)
        self.punctuality = Punctuality(model.slo)
        self.delays: list[Stretch] = []
        """All that was committed, for the result of the run."""
        interval = model.trigger.interval_s
        self.phase_s = model.phase_s if model.is_aligned or interval is None else random.random() * interval

    def plan(self, now_s: float) -> SimulatedBatch | None:
        """Cut off the next batch, or None if there is nothing to read."""
        waiting = [source.arrived(now_s) - source.committed for source in self.sources]
        if not any(waiting):
            return None
        taken = [source.limited(records) for source, records in zip(self.sources, waiting, strict=True)]
        for source, records in zip(self.sources, taken, strict=True):
            source.planned = source.committed + records
        batch = SimulatedBatch(id=self.batches, started_s=now_s, rows=sum(taken), limited=taken != waiting)
        batch.reaching = {s.model.name: float(n) for s, n in zip(self.sources, taken, strict=True)}
        self.batch = batch
        return batch

    def commit(self, now_s: float) -> None:
        """The running batch has ended: its records are no backlog any more."""
        batch = self.batch
        if batch is None:
            raise RuntimeError("commit without a batch")
        for source in self.sources:
            parts = stretches(source.curve, source.committed, source.planned, now_s)
            self.delay.add(parts)
            self.punctuality.add(parts)
            self.delays.extend(parts)
            source.committed = source.planned
        self.batches += 1
        self.finished = FinishedBatch(
            id=batch.id,
            started_s=batch.started_s,
            ended_s=now_s,
            rows=float(batch.rows),
            busy_s=batch.busy_s,
            limited=batch.limited,
            driver_s=batch.planned_s - batch.started_s + now_s - batch.tasks_end_s,
            critical_s=batch.critical_s,
            longest=batch.longest,
            parts_s={
                "plan": batch.planned_s - batch.started_s,
                "tasks": batch.tasks_end_s - batch.planned_s,
                "commit": now_s - batch.tasks_end_s,
            },
        )
        self.batch = None

    def next_trigger_s(self, started_s: float, now_s: float) -> float:
        """When to look for data again after a batch, or a look in vain, that began at `started_s`."""
        interval = self.model.trigger.interval_s
        if interval is None:
            return now_s
        # A late batch is followed at once, an early one at the next boundary.
        passed = math.floor((started_s - self.phase_s) / interval + 1e-9)
        return max(now_s, self.phase_s + (passed + 1) * interval)

    def next_data_s(self, now_s: float) -> float:
        """When there will be something to read, for a query that runs as fast as possible."""
        return max(now_s + _POLL_S, min(source.oldest_s() for source in self.sources))

    def on_time(self, now_s: float) -> OnTime | None:
        """How many records have kept the promise by now."""
        if self.model.slo is None:
            return None
        due_s = now_s - self.model.slo.delay_s
        overdue = sum(max(0, source.arrived(due_s) - source.committed) for source in self.sources) if due_s > 0 else 0
        return self.punctuality.at(overdue)

    def state_bytes(self) -> float:
        """State after the last committed batch."""
        state = self.model.state
        committed = sum(source.committed for source in self.sources)
        return min(state.max_bytes, committed * state.bytes_per_record) if self.homes else 0.0

    def jitter(self) -> float:
        """A factor around 1 for the work of one stage."""
        sigma = self.model.noise
        return math.exp(self.random.gauss(-sigma * sigma / 2, sigma)) if sigma else 1.0
