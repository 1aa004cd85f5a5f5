"""The continuous engine: operators that run all the time, as a fluid that flows in steps.

A step has two passes. Against the stream: how much could each operator take in, given its own speed, its free buffer
and what those behind it could take? That is how back-pressure travels. With the stream: what is really read,
processed and passed on. Data pass all operators within a step, so a job that keeps up adds no delay of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from random import Random

from elastream.core.slo import OnTime
from elastream.estimators.delay import DelayWindow, Punctuality, Stretch
from elastream.simulator.cluster import FreeNodes, SimulatedCluster, SimulatedWorker
from elastream.simulator.continuous.flow import connect, ends
from elastream.simulator.continuous.instances import Instances
from elastream.simulator.continuous.log import SimulatedLog
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.continuous.restart import JobState, Restarts
from elastream.simulator.continuous.stops import Stops
from elastream.simulator.continuous.turns import Turns
from elastream.simulator.delay import DELAY_WINDOW_S
from elastream.simulator.faults import Fault, SinkBlocked, SlowStart, Straggler, WorkerLoss
from elastream.workloads.series import RateSeries

# Less than this share of a step's work is arithmetic and no waiting.
_ROUNDING = 1e-9


class ContinuousEngine:
    """A job, its workers, and the steps between now and then."""

    def __init__(
        self,
        model: DataflowModel,
        curves: Mapping[str, RateSeries],
        *,
        seed: int,
        faults: Sequence[Fault] = (),
    ) -> None:
        self.model = model
        self.now_s = self.running_since_s = 0.0
        self.logs = [SimulatedLog(log, curves[log.name]) for log in model.logs]
        self.operators = connect(model, self.logs)
        places = FreeNodes(model.places) if model.places else None
        self.clusters = {
            name: SimulatedCluster(pool, Random(f"{seed}/{name}/cluster"), name=name, places=places)
            for name, pool in model.pools.items()
        }
        self.restarts = Restarts(model.restart, self.clusters, model.cluster_workers)
        self.delay = DelayWindow(DELAY_WINDOW_S)
        self.punctuality = Punctuality(model.slo)
        self.delays: list[Stretch] = []
        """All that was committed, for the result of the run."""
        self.lagging = False
        """Whether records wait in a log."""
        self._steps, self._step_s = 0, model.step_s
        self._busy_ceiling = model.measuring.busy_ceiling
        self._random = Random(f"{seed}/measuring")
        self._slow_starts = [fault for fault in faults if isinstance(fault, SlowStart)]
        self._blocks = [fault for fault in faults if isinstance(fault, SinkBlocked)]
        self._sudden = sorted((f for f in faults if isinstance(f, (WorkerLoss, Straggler))), key=lambda f: f.at_s)
        self._against = self.operators[::-1]
        self._ends = [ends(self.operators, number) for number in range(len(self.logs))]
        by_pool = {name: [op for op in self.operators if op.model.pool_name == name] for name in model.pools}
        self._turns = [Turns(shared, model.gains()) for shared in by_pool.values() if len(shared) > 1]
        # In a pool with operators that read logs, its workers' records are those read from there.
        self._counts_records = [
            bool(op.logs) or not any(mate.logs for mate in by_pool[op.model.pool_name]) for op in self.operators
        ]
        until = model.stops_sources_until
        self._stops = None if until is None else Stops(self.operators, until)
        self._crews: list[list[SimulatedWorker]] = [[] for _ in self.operators]
        for operator in self.operators:
            operator.always_has_work = operator.shared is None and all(
                log.model.retention_s != 0 for log in operator.logs
            )
        self._slow_until_s = math.inf
        self._checkpoint = JobState(self.operators, self.logs)
        self._checkpoint_s = 0.0
        self._set_instances()

    def advance(self, to_s: float) -> None:
        """Let whole steps happen up to and including a time."""
        step_s = self._step_s
        while (self._steps + 1) * step_s <= to_s + 1e-9:
            self._before_step()
            self._steps += 1
            start_s, self.now_s = self.now_s, self._steps * step_s
            for log in self.logs:
                log.arrive(self.now_s)
            if not self.restarts.down:
                self._flow(start_s)
                self._commit(start_s)
            for log in self.logs:
                log.expire(self.now_s)
            self.lagging = any(log.waiting > 1e-6 * log.arrived for log in self.logs)

    def resize(self, sizes: Mapping[str, int], leave_first: Sequence[str] = (), add_on: Sequence[str] = ()) -> None:
        """Begin to have other numbers of workers."""
        self.restarts.want(sizes, leave_first, add_on)
        self._restart_if_due()

    def counted(self) -> tuple[int, int]:
        """Records that were committed, and records that wait."""
        committed = round(sum(log.committed for log in self.logs))
        return committed, round(sum(log.arrived - log.expired for log in self.logs)) - committed

    # Between steps.

    def _before_step(self) -> None:
        now_s = self.now_s
        while self._sudden and self._sudden[0].at_s <= now_s:
            self._strike(self._sudden.pop(0))
        if now_s >= self._slow_until_s:
            self._slow_until_s = math.inf
            self._set_speeds()
        self._restart_if_due()
        if self.model.restart.checkpoint_s is not None and now_s >= self._checkpoint_s and not self.restarts.down:
            self._checkpoint.take()
            self._checkpoint_s += self.model.restart.checkpoint_s

    def _restart_if_due(self) -> None:
        for fault in self._slow_starts:
            for cluster in self.clusters.values():
                cluster.extra_start_s = fault.by_s if fault.holds(self.now_s) else 0.0
        while (turn := self.restarts.turn(self.now_s)) is not None:
            if turn == "stop":
                self.settle_accounts()
                if self.model.restart.checkpoint_s is not None:
                    self._checkpoint.restore()
            else:
                self.running_since_s = self.now_s
                self._set_instances()
                # A job that starts takes its first checkpoint after a whole interval.
                self._checkpoint_s = self.now_s + (self.model.restart.checkpoint_s or 0.0)

    def _strike(self, fault: Fault) -> None:
        if isinstance(fault, WorkerLoss):
            self.settle_accounts()
            self.restarts.lose(fault.workers, self.now_s)
        elif isinstance(fault, Straggler):
            ready = [worker for cluster in self.clusters.values() for worker in cluster.in_state("ready")]
            for worker in sorted(ready, key=lambda worker: worker.since_s)[: fault.workers]:
                worker.slow_factor, worker.slow_until_s = fault.factor, fault.at_s + fault.for_s
            self._slow_until_s = min(self._slow_until_s, fault.at_s + fault.for_s)
            self._set_speeds()

    def _set_instances(self) -> None:
        """Let operators have the workers that are ready, each as many instances as it has slots."""
        self.settle_accounts()
        for operator in self.operators:
            workers = self.clusters[operator.model.pool_name].in_state("ready")
            self._crews[operator.number] = [worker for worker in workers for _ in range(worker.slots)]
        self._set_speeds()

    def _set_speeds(self) -> None:
        """Let instances be as fast as their workers are now."""
        self.settle_accounts()
        room = self.model.machine_slots
        apart = room is not None and max(map(len, self._crews)) > room
        for operator in self.operators:
            crew = self._crews[operator.number]
            normal = 1.0 / (1.0 - operator.model.apart_cost) if apart else 1.0
            slowness = [worker.slowness(self.now_s, 1.0) * normal for worker in crew]
            nodes = list(dict.fromkeys(worker.node for worker in crew if worker.node is not None))
            longest_ms = self.model.places.longest_ms(nodes) if self.model.places else 0.0
            operator.set(len(slowness), slowness, longest_ms, self.model.step_s)
            for log in operator.logs:
                log.assign(operator.shares(operator.useful), operator.powers(), operator.grouping())

    def settle_accounts(self) -> None:
        """Bring what workers have done up to date: groups count for all their members."""
        for operator in self.operators:
            crew, counts = self._crews[operator.number], self._counts_records[operator.number]
            for group in operator.groups:
                if group.worked or group.done:
                    for member in group.members:
                        crew[member].busy_slot_s += operator.cpu_share * group.worked / group.count
                        if counts:
                            crew[member].records += group.done / group.count
                group.worked = group.done = 0.0

    # A step.

    def _flow(self, start_s: float) -> None:
        blocked = bool(self._blocks) and any(block.holds(start_s) for block in self._blocks)
        for turns in self._turns:
            turns.deal()
        for operator in self._against:
            _look_ahead(operator, start_s, blocked)
        if self._stops is not None:
            self._stops.hold()
        unsteady = self.model.measuring.unsteady if self.lagging else 0.0
        for operator in self.operators:
            self._process(operator, unsteady)
        if self._stops is not None:
            self._stops.account(self.model.step_s)

    def _process(self, op: Instances, unsteady: float) -> None:
        capacity, limit = op.capacity, op.limit
        if op.shared is not None:
            turns, place = op.shared
            capacity *= min(1.0, turns.allotted[place] + turns.left)
        if op.window is not None:
            capacity = min(capacity, op.can)
            limit = math.inf
        if op.logs:
            supply, done, flows = _read(op, capacity, limit)
        else:
            supply, done, flows = _drain(op, capacity, limit)
        op.supply = supply
        self._account(op, supply, done, unsteady)
        if op.window is not None:
            op.window.held += done
            done, flows = op.fired, [op.fired]
        for to, selectivity, _, ways in op.outs:
            op.records_out += done * selectivity
            inbox = to.inbox
            for here, there in ways:
                inbox[there] += flows[here] * selectivity

    def _account(self, op: Instances, supply: float, done: float, unsteady: float) -> None:
        """Count what was done, and the time it took, as it is and as it is measured."""
        op.records_in += done
        capacity = op.capacity
        if not capacity:
            return
        step_s, useful = self._step_s, op.useful
        # Working through a window costs as much as taking in so many records.
        fired = op.fired / op.fire_ratio if op.fired else 0.0
        worked = used = 0.0
        if len(op.groups) == 1:
            group = op.groups[0]
            worked = used = (done + fired) / capacity
            group.done += done
            group.worked += worked * useful * step_s
        else:
            for group in op.groups:
                busy = (group.part + fired * group.share) / group.capacity if group.capacity else 0.0
                group.done += group.part
                group.worked += busy * group.count * step_s
                worked += busy * group.count / useful
                used = max(used, busy)
        if op.shared is not None:
            turns, place = op.shared
            # The busiest worker is the one that has no time left for other operators.
            turns.left = max(0.0, turns.left + turns.allotted[place] - used)
        idle = 1 - worked
        if idle > 0.0 and self._stops is None and (supply - done > _ROUNDING * capacity or op.blocked):
            # With something to do all the time, whenever it does nothing it waits for those downstream. A generator
            # rests between its records: it is held for the share of them that it could not make. In a shared pool
            # others use the time.
            if op.always_has_work:
                held = idle
            else:
                short = (supply - done) / (capacity if op.shared is not None else supply or 1.0)
                held = min(idle, max(op.blocked, short))
            op.backpressure_s += held * useful * step_s
        seen = worked * (1 - op.model.unseen * (1 - worked)) * self._busy_ceiling
        if unsteady:
            seen *= 1 - unsteady * self._random.random()
        op.busy_s += seen * useful * step_s

    def on_time(self) -> OnTime | None:
        """How many records have kept the promise by now."""
        if self.model.slo is None:
            return None
        due_s = self.now_s - self.model.slo.delay_s
        waits = (log.curve.arrived(due_s) - log.committed - log.expired for log in self.logs) if due_s > 0 else ()
        return self.punctuality.at(sum(max(0.0, records) for records in waits))

    def _commit(self, start_s: float) -> None:
        base_s = self.model.base_latency_s
        for log, places in zip(self.logs, self._ends, strict=True):
            through = min([operator.passed[place] / gain for operator, place, gain in places])
            parts = log.commit(through, start_s, self.now_s, base_s)
            if parts:
                self.delay.add(parts)
                self.punctuality.add(parts)
                self.delays += parts


def _look_ahead(op: Instances, start_s: float, blocked: bool) -> None:
    """How much could be processed, given what those downstream could take in, and so how much could be taken in."""
    limit = math.inf
    for to, selectivity, place, _ in op.outs:
        if selectivity:
            room = to.accept / selectivity if to.single else to.accept * to.weights[place] / selectivity
            if room < limit:
                limit = room
    if blocked and not op.outs:
        limit = 0.0
    op.limit = limit
    capacity = op.capacity
    if op.shared is not None:
        capacity *= op.shared[0].allotted[op.shared[1]]
    # A window gives out what it fires: what it takes in is limited by its own speed alone.
    can = _fire(op, capacity, start_s) if op.window is not None else min(capacity, limit)
    op.can = can
    if op.logs:
        return
    if len(op.groups) == 1:
        group = op.groups[0]
        accept = group.room - group.queue + can
    else:
        whole = op.capacity or 1.0
        accept = min([(g.room - g.queue + can * g.capacity / whole) / g.share for g in op.groups if g.share])
    op.accept = accept if accept > 0.0 else 0.0
    if not op.single:
        op.weigh()


def _fire(op: Instances, capacity: float, start_s: float) -> float:
    """Work through windows that have ended; returns how much can be taken in beside that."""
    window = op.window
    assert window is not None
    window.end_if_due(start_s)
    op.fired = op.blocked = 0.0
    if not window.firing or not capacity:
        return capacity
    most = op.fire_capacity * capacity / op.capacity
    op.fired = min(window.firing, most, op.limit)
    op.blocked = 1 - op.fired / most if op.limit < min(window.firing, most) else 0.0
    window.firing -= op.fired
    window.fired += op.fired
    # One who waits to give out results takes nothing in.
    return 0.0 if window.firing else capacity * (1 - op.fired / most)


def _read(op: Instances, capacity: float, limit: float) -> tuple[float, float, list[float]]:
    """Take records from logs: what there is to read, what was read, and how much of it from each log."""
    if len(op.logs) == 1:
        log = op.logs[0]
        supply = log.supply(capacity)
        done = supply if supply < limit else limit
        log.take(done, capacity)
        op.passed[0] += done
        flows = [done]
    else:
        supplies = [log.supply(capacity) for log in op.logs]
        whole = sum(supplies)
        supply = min(whole, capacity)
        done = min(supply, limit)
        flows = [done * part / whole if whole else 0.0 for part in supplies]
        for place, (log, part) in enumerate(zip(op.logs, flows, strict=True)):
            log.take(part, capacity)
            op.passed[place] += part
    if len(op.groups) > 1:
        op.deal_read(done, capacity)
    return supply, done, flows


def _drain(op: Instances, capacity: float, limit: float) -> tuple[float, float, list[float]]:
    """Process what waits and what has just come: what could be, what was, and how much of it of each origin."""
    inbox, waiting = op.inbox, op.waiting
    if len(op.groups) == 1:
        group = op.groups[0]
        if len(inbox) == 1:
            queue = waiting[0] + inbox[0]
            inbox[0] = 0.0
            supply = queue if queue < capacity else capacity
            done = supply if supply < limit else limit
            waiting[0] = group.queue = queue - done
            op.passed[0] += done
            return supply, done, [done]
        inflow = op.collect()
        group.queue += inflow
        supply = min(group.queue, capacity)
        done = min(supply, limit)
        group.queue -= done
    else:
        supply, done = op.drain_groups(op.collect(), capacity, limit)
    whole = sum(waiting)
    part = min(1.0, done / whole) if whole else 0.0
    flows = [amount * part for amount in waiting]
    for place, amount in enumerate(flows):
        waiting[place] -= amount
        op.passed[place] += amount
    return supply, done, flows
