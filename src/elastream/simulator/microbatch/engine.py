"""The micro-batch engine: what Spark does between a trigger and a commit, as a discrete-event simulation.

Tasks that begin together and take equally long are one event (a wave), so the cost of simulating a batch does not grow
with its tasks. Queries share the slots first come, first served, which is Spark's default.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any

from elastream.core.observation import RunningStage
from elastream.estimators.delay import Stretch
from elastream.simulator.cluster import SimulatedCluster, SimulatedWorker
from elastream.simulator.faults import AdHocJob, Fault, SinkBlocked, SkewDrift, SlowStart, Straggler, WorkerLoss
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel
from elastream.simulator.microbatch.other_work import OtherTask, OtherWork
from elastream.simulator.microbatch.query import SimulatedBatch, SimulatedQuery
from elastream.simulator.microbatch.stage import Member, StageRun, Wave, drifted
from elastream.workloads.series import RateSeries

_Event = tuple[float, int, Callable[[object], None], object]


class MicroBatchEngine:
    """Queries, their workers, and the events between now and then."""

    def __init__(
        self,
        model: ApplicationModel,
        curves: Mapping[str, RateSeries],
        *,
        seed: int,
        faults: Iterable[Fault] = (),
    ) -> None:
        self.now_s = 0.0
        self.model = model
        self.cluster = SimulatedCluster(model.pool, Random(f"{seed}/cluster"))
        self.queries = [
            SimulatedQuery(query, curves[query.name], Random(f"{seed}/{query.name}")) for query in model.queries
        ]
        self._blocks = [fault for fault in faults if isinstance(fault, SinkBlocked)]
        self._drifts = [fault for fault in faults if isinstance(fault, SkewDrift)]
        self._events: list[_Event] = []
        self._sequence = 0
        self._running: list[StageRun] = []
        self._waves: set[Wave] = set()
        self._other = OtherWork()
        for query in self.queries:
            self._at(query.model.first_trigger_s, self._trigger, query)
        for fault in faults:
            self._plant(fault)

    def advance(self, to_s: float) -> None:
        """Let everything happen up to and including a time."""
        events = self._events
        while events and events[0][0] <= to_s:
            at_s, _, action, subject = heapq.heappop(events)
            self.now_s = at_s
            action(subject)
        self.now_s = max(self.now_s, to_s)

    def resize(self, size: int, leave_first: Sequence[str] = ()) -> None:
        """Begin to have another number of workers."""
        for worker in self.cluster.resize(size, leave_first):
            self._forget_homes_on(worker)
            self._leave_if_idle(worker)
        self._await(self.cluster.replenish(self.now_s))

    @property
    def delays(self) -> list[Stretch]:
        """Delays of all that was committed."""
        return [part for query in self.queries for part in query.delays]

    def counted(self) -> tuple[int, int]:
        """Records that were committed, and records that wait."""
        sources = [source for query in self.queries for source in query.sources]
        committed = sum(source.committed for source in sources)
        return committed, sum(source.arrived(self.now_s) for source in sources) - committed

    def _at(self, at_s: float, action: Callable[[Any], None], subject: object) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (at_s, self._sequence, action, subject))

    # A batch: trigger, plan, stages level by level, commit.

    def _trigger(self, query: SimulatedQuery) -> None:
        batch = query.plan(self.now_s)
        if batch is None:
            asap = query.model.trigger.interval_s is None
            again_s = query.next_data_s(self.now_s) if asap else query.next_trigger_s(self.now_s, self.now_s)
            if math.isfinite(again_s):
                self._at(again_s, self._trigger, query)
            return
        plan_s = query.model.plan_s * query.jitter()
        query.driver_s += plan_s
        self._at(self.now_s + plan_s, self._begin_level, query)

    def _begin_level(self, query: SimulatedQuery) -> None:
        batch = _batch(query)
        if batch.level == 0:
            batch.planned_s = self.now_s
        stages = query.levels[batch.level]
        batch.stages_left = len(stages)
        slots = len(self.cluster.in_state("ready")) * self.model.pool.slots_per_worker
        for model in (drifted(stage, self._drifts, self.now_s) for stage in stages):
            records = sum(batch.reaching[name] for name in model.after)
            noise = query.jitter() * model.longer_on(slots)
            self._running.append(StageRun(query, model, query.totals[model.name], records, self.now_s, noise))
        self._dispatch()

    def _end_stage(self, run: StageRun) -> None:
        self._running.remove(run)
        query, batch = run.query, _batch(run.query)
        batch.reaching[run.model.name] = run.records * run.model.records_out
        batch.level_s = max(batch.level_s, run.longest_s)
        if batch.longest is None or run.longest_s > batch.longest.task_s:
            batch.longest = run.longest_task()
        batch.stages_left -= 1
        if batch.stages_left:
            return
        batch.critical_s, batch.level_s = batch.critical_s + batch.level_s, 0.0
        batch.level += 1
        if batch.level < len(query.levels):
            self._begin_level(query)
            return
        batch.tasks_end_s = self.now_s
        commit_s = query.model.commit_s * query.jitter()
        query.driver_s += commit_s
        self._at(self._unblocked(self.now_s + commit_s), self._commit, query)

    def _commit(self, query: SimulatedQuery) -> None:
        started_s = _batch(query).started_s
        query.commit(self.now_s)
        self._at(query.next_trigger_s(started_s, self.now_s), self._trigger, query)

    def _unblocked(self, at_s: float) -> float:
        """The first time from then on at which the sink takes data."""
        for block in sorted(self._blocks, key=lambda fault: fault.at_s):
            if block.holds(at_s):
                at_s = block.at_s + block.for_s
        return at_s

    # Tasks on slots.

    def _dispatch(self) -> None:
        for task in self._other.take(self.cluster.free(), self.now_s):
            self._at(task.ends_s, self._end_other, task)
        for run in self._running:
            if not run.waiting:
                continue
            free = self.cluster.free()
            if not free:
                return
            if run.at_home:
                self._launch_stateful(run, free)
            else:
                self._launch_plain(run, free)

    def _launch_plain(self, run: StageRun, free: list[SimulatedWorker]) -> None:
        """Spread tasks over free slots, the large one first."""
        if run.large:
            run.large = 0
            self._start(run, [(free[0], 1, [])], is_large=True)
        if members := run.take_plain(free):
            self._start(run, members)

    def _launch_stateful(self, run: StageRun, free: list[SimulatedWorker]) -> None:
        """First where the state is; elsewhere only if its worker is gone or was waited for long enough."""
        if local := run.take_at_home(free):
            self._start(run, local)
        wait_until_s = _next_offer_s(run.refused_s, run.query.model)
        anywhere = self.now_s >= wait_until_s - 1e-9
        reload_s = self._reload_s(run)
        for worker in free:
            if run.at_home and (moved := run.take_moved(worker.slots - worker.running, anywhere=anywhere)):
                self._start(run, [(worker, len(moved), moved)], reload_s=reload_s)
        if not any(worker.running < worker.slots for worker in free):
            # No slot was refused: the wait begins when one is.
            run.refused_s = self.now_s
        elif run.at_home and not anywhere:
            self._at(wait_until_s, self._retry, run)

    def _retry(self, run: StageRun) -> None:
        if run.at_home:
            self._dispatch()

    def _reload_s(self, run: StageRun) -> float:
        state = run.query.model.state
        return run.query.state_bytes() / run.model.partitions / state.reload_bytes_per_s

    def _start(self, run: StageRun, members: list[Member], *, is_large: bool = False, reload_s: float = 0.0) -> None:
        """Run tasks; those on slower workers end later, so they are another wave."""
        now_s, name = self.now_s, run.model.name
        homes = run.query.homes.get(name)
        crowd = self._crowd(members)
        plain_s, large_s = run.plain_s(crowd), run.large_s(crowd)
        task_s = (large_s if is_large else plain_s) + reload_s
        # Where nothing is new on a worker, all that ends together stays one wave.
        costs = run.model.first_task_s > 0
        new = {worker for worker, _, _ in members if costs and worker.use(run.query.model.name, name)}
        first_s = self._first_task_s(run, len(new))
        cold_factor, skewed = self.cluster.model.cold_factor, run.model.skew > 1
        waves: dict[tuple[float, bool], list[Member]] = {}
        for worker, tasks, partitions in members:
            worker.running += tasks
            if homes is not None:
                for partition in partitions:
                    homes[partition] = worker
            slowness, is_first = worker.slowness(now_s, cold_factor), worker in new
            longer_s = first_s if is_first else 0.0
            if skewed and 0 in partitions:
                # With state, partition 0 is the one that most keys fall into.
                most_s = (task_s + large_s - plain_s) * slowness + longer_s
                waves.setdefault((most_s, is_first), []).append((worker, 1, [0]))
                tasks, partitions = tasks - 1, partitions[1:]
            if tasks:
                waves.setdefault((task_s * slowness + longer_s, is_first), []).append((worker, tasks, partitions))
        for (duration_s, is_first), part in waves.items():
            wave = Wave(run, now_s, duration_s, part, is_first)
            self._waves.add(wave)
            self._at(now_s + duration_s, self._end_wave, wave)

    def _first_task_s(self, run: StageRun, new: int) -> float:
        """How much longer first tasks take; where workers share cores, as many times as there are new ones for each.

        Those that are starting are among them. Other tasks are left out: those that wait need no core, and those that
        do not are short beside a first one.
        """
        first_s, cores = run.model.first_task_s, self.cluster.model.cores
        if not first_s or not new or not cores:
            return first_s
        running = sum(len(wave.members) for wave in self._waves if wave.is_first)
        return first_s * max(1.0, (running + new + len(self.cluster.in_state("starting"))) / cores)

    def _crowd(self, members: list[Member]) -> float:
        """How many tasks there are for each core, with those that begin now; never less than one."""
        cores = self.cluster.model.cores
        if not cores:
            return 1.0
        running = sum(worker.running for worker in self.cluster.workers) + sum(tasks for _, tasks, _ in members)
        return max(1.0, running / cores)

    def _end_wave(self, wave: Wave) -> None:
        self._waves.discard(wave)
        run, task_s, done = wave.stage, wave.task_s, 0
        records_per_task = run.records / run.model.partitions
        for worker, tasks, _ in wave.members:
            worker.running -= tasks
            worker.busy_slot_s += tasks * task_s
            worker.records += tasks * records_per_task
            done += tasks
            if worker.state == "leaving":
                self._leave_if_idle(worker)
        if done:
            run.finish(done, task_s)
            batch = _batch(run.query)
            batch.tasks_done += done
            batch.busy_s += done * task_s
            if not run.unfinished:
                self._end_stage(run)
        if self._running:
            self._dispatch()

    def running_slot_s(self) -> dict[SimulatedWorker, float]:
        """Slot-seconds of tasks that have not ended."""
        so_far: dict[SimulatedWorker, float] = {}
        for wave in self._waves:
            for worker, tasks, _ in wave.members:
                so_far[worker] = so_far.get(worker, 0.0) + tasks * (self.now_s - wave.started_s)
        for task in self._other.running:
            so_far[task.worker] = so_far.get(task.worker, 0.0) + self.now_s - task.started_s
        return so_far

    @property
    def other_busy_slots(self) -> int:
        """Slots that run work of no query."""
        return len(self._other.running)

    def running_stages(self, query: SimulatedQuery) -> tuple[RunningStage, ...]:
        """The stages of a query that have begun and have not ended."""
        return tuple(self._running_stage(run) for run in self._running if run.query is query)

    def _running_stage(self, run: StageRun) -> RunningStage:
        waves = [wave for wave in self._waves if wave.stage is run and wave.members]
        return RunningStage(
            name=run.model.name,
            tasks=run.model.partitions,
            done=run.done,
            running=sum(tasks for wave in waves for _, tasks, _ in wave.members),
            mean_s=run.busy_s / run.done if run.done else None,
            oldest_s=self.now_s - min(wave.started_s for wave in waves) if waves else None,
        )

    # Workers.

    def _await(self, started: list[SimulatedWorker]) -> None:
        for worker in started:
            self._at(worker.ready_s, self._become_ready, worker)

    def _become_ready(self, worker: SimulatedWorker) -> None:
        if worker.state != "starting":
            return
        worker.state = "ready"
        worker.looked_s = self.now_s
        worker.cold_until_s = self.now_s + self.cluster.model.cold_s
        self._dispatch()

    def _leave_if_idle(self, worker: SimulatedWorker) -> None:
        if worker.running == 0:
            self._at(self.now_s + self.cluster.model.leave_s, self._leave, worker)

    def _leave(self, worker: SimulatedWorker) -> None:
        if worker.state == "leaving":
            self._remove(worker)

    def _lose(self, fault: WorkerLoss) -> None:
        for worker in self.cluster.in_state("ready")[: fault.workers]:
            self._rerun_tasks_of(worker)
            self._other.rerun(worker, self.now_s)
            self._remove(worker)
        self._dispatch()

    def _remove(self, worker: SimulatedWorker) -> None:
        self.cluster.remove(worker)
        self._forget_homes_on(worker)
        # There may be room now for a worker that had to wait for it, or one to replace.
        self._await(self.cluster.replenish(self.now_s))

    def _rerun_tasks_of(self, worker: SimulatedWorker) -> None:
        for wave in self._waves:
            for member in [member for member in wave.members if member[0] is worker]:
                wave.members.remove(member)
                _, tasks, partitions = member
                worker.busy_slot_s += tasks * (self.now_s - wave.started_s)
                if partitions:
                    wave.stage.at_home.setdefault(None, []).extend(partitions)
                else:
                    wave.stage.plain += tasks

    def _forget_homes_on(self, worker: SimulatedWorker) -> None:
        for query in self.queries:
            for homes in query.homes.values():
                for partition, home in enumerate(homes):
                    if home is worker:
                        homes[partition] = None
        for run in self._running:
            if worker in run.at_home:
                run.at_home.setdefault(None, []).extend(run.at_home.pop(worker))

    # Faults that happen to the cluster; those of measuring are the platform's.

    def _plant(self, fault: Fault) -> None:
        if isinstance(fault, WorkerLoss):
            self._at(fault.at_s, self._lose, fault)
        elif isinstance(fault, Straggler):
            self._at(fault.at_s, self._slow_down, fault)
        elif isinstance(fault, AdHocJob):
            self._at(fault.at_s, self._submit_other, fault)
        elif isinstance(fault, SlowStart):
            self._at(fault.at_s, self._set_extra_start, fault.by_s)
            if math.isfinite(fault.for_s):
                self._at(fault.at_s + fault.for_s, self._set_extra_start, 0.0)

    def _submit_other(self, job: AdHocJob) -> None:
        self._other.submit(job)
        self._dispatch()

    def _end_other(self, task: OtherTask) -> None:
        if self._other.end(task, self.now_s):
            if task.worker.state == "leaving":
                self._leave_if_idle(task.worker)
            self._dispatch()

    def _slow_down(self, fault: Straggler) -> None:
        for worker in self.cluster.in_state("ready")[: fault.workers]:
            worker.slow_factor, worker.slow_until_s = fault.factor, fault.at_s + fault.for_s

    def _set_extra_start(self, extra_s: float) -> None:
        self.cluster.extra_start_s = extra_s


def _next_offer_s(refused_s: float, model: QueryModel) -> float:
    """When a task that waits for its home is offered others: at the first round of offers after its patience."""
    wait_s, every_s = model.locality_wait_s, model.offer_every_s
    if wait_s <= 0 or every_s <= 0:
        return refused_s + wait_s
    return math.ceil((refused_s + wait_s) / every_s - 1e-9) * every_s


def _batch(query: SimulatedQuery) -> SimulatedBatch:
    if query.batch is None:
        raise RuntimeError(f"query {query.model.name} has no running batch")
    return query.batch
