"""Stop and start of the job when its size changes or a worker is lost, and going back to the last checkpoint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from elastream.simulator.cluster import SimulatedCluster
from elastream.simulator.continuous.instances import Instances
from elastream.simulator.continuous.log import SimulatedLog
from elastream.simulator.continuous.model import RestartModel


class Restarts:
    """One change after the other. New workers start while the job goes on; then it stops, and starts with them.

    What is decided while a change is under way is carried out by another one after it.
    """

    def __init__(self, model: RestartModel, clusters: Mapping[str, SimulatedCluster], room: int | None) -> None:
        self.model = model
        self.clusters = clusters
        self.wanted = {name: cluster.wanted for name, cluster in clusters.items()}
        self.done = 0
        self._room = room
        self._carried_out = dict(self.wanted)
        self._leave_first: Sequence[str] = ()
        self._add_on: Sequence[str] = ()
        self._placed = True
        self._stop_s = self._start_s = math.inf
        self._downtime_s = 0.0

    @property
    def down(self) -> bool:
        """Whether the job stands still."""
        return self._start_s < math.inf

    def want(self, sizes: Mapping[str, int], leave_first: Sequence[str] = (), add_on: Sequence[str] = ()) -> None:
        """Have these sizes as soon as it can be."""
        self.wanted = dict(sizes)
        self._leave_first, self._add_on = leave_first, add_on
        for name, size in sizes.items():
            self.clusters[name].wanted = self.clusters[name].requested = size

    def turn(self, now_s: float) -> Literal["stop", "start"] | None:
        """What happens now, if anything; asked until it is None."""
        if self._stop_s <= now_s:
            self._stop_s, self._start_s = math.inf, now_s + self._downtime_s
            return "stop"
        if self._start_s <= now_s:
            self._start_s = math.inf
            self.done += 1
            for cluster in self.clusters.values():
                cluster.settle()
                if not self._placed:
                    cluster.move()
            return "start"
        if self._stop_s == math.inf and not self.down and self.wanted != self._carried_out:
            self._begin(now_s)
            return self.turn(now_s)
        return None

    def lose(self, workers: int, now_s: float) -> None:
        """Workers die, oldest first; the job stops at once and starts when they are replaced."""
        self._placed = True
        alive = [(worker, cluster) for cluster in self.clusters.values() for worker in cluster.in_state("ready")]
        for worker, cluster in sorted(alive, key=lambda one: one[0].since_s)[:workers]:
            cluster.remove(worker)
        sizes = self._affordable()
        started = [one for name in sizes for one in self.clusters[name].replenish(now_s, most=sizes[name])]
        ready_s = max((worker.ready_s for worker in started), default=now_s)
        self._stop_s, self._downtime_s = now_s, max(0.0, ready_s - now_s) + self.model.loss_s

    def _begin(self, now_s: float) -> None:
        sizes = self._affordable()
        grows = any(size > self._carried_out[name] for name, size in self.wanted.items())
        self._carried_out = dict(self.wanted)
        self._placed = bool(self._leave_first or self._add_on)
        started = []
        for name, cluster in self.clusters.items():
            cluster.resize(sizes[name], self._leave_first)
            cluster.wanted = cluster.requested = self.wanted[name]
        for name, cluster in self.clusters.items():
            started += cluster.replenish(now_s, add_on=self._add_on, most=sizes[name])
        self._stop_s = max((worker.ready_s for worker in started), default=now_s)
        given = self.model.downtimes_s
        self._downtime_s = (
            given[self.done] if self.done < len(given) else self.model.grow_s if grows else self.model.shrink_s
        )

    def _affordable(self) -> dict[str, int]:
        """What there is room for: pools that grow get less of it, the last one first."""
        sizes = dict(self.wanted)
        over = sum(sizes.values()) - self._room if self._room is not None else 0
        for name in reversed(sizes):
            growth = max(0, sizes[name] - max(1, len(self.clusters[name].in_state("ready"))))
            less = min(growth, max(0, over))
            sizes[name] -= less
            over -= less
        return sizes


class JobState:
    """The state of a job at one moment: where its logs were read, what waited and what windows held."""

    def __init__(self, operators: Sequence[Instances], logs: Sequence[SimulatedLog]) -> None:
        self._operators, self._logs = operators, logs
        self.take()

    def take(self) -> None:
        """Remember the present state."""
        self._read = [log.read for log in self._logs]
        self._flows = [(operator.passed[:], operator.waiting[:]) for operator in self._operators]
        self._windows = [operator.window.state() if operator.window else None for operator in self._operators]

    def restore(self) -> None:
        """Go back to it: all that was done since is done again."""
        for log, read in zip(self._logs, self._read, strict=True):
            log.read = read
        for operator, (passed, waiting) in zip(self._operators, self._flows, strict=True):
            operator.passed, operator.waiting = passed[:], waiting[:]
            operator.refill()
        for operator, kept in zip(self._operators, self._windows, strict=True):
            if operator.window is not None and kept is not None:
                operator.window.restore(kept)
