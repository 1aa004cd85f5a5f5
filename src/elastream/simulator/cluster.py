"""Executors that come and go: start-up, coldness, leaving, loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal

from elastream.simulator.continuous.model import PlacesModel
from elastream.simulator.pool_model import PoolModel


@dataclass(slots=True, eq=False)
class SimulatedWorker:
    """One executor and what it has done. The engine counts its running tasks: that is the inner loop."""

    id: str
    since_s: float
    slots: int
    node: str | None = None
    state: Literal["starting", "ready", "leaving", "gone"] = "starting"
    ready_s: float = 0.0
    cold_until_s: float = 0.0
    slow_until_s: float = 0.0
    slow_factor: float = 1.0
    running: int = 0
    records: float = 0.0
    busy_slot_s: float = 0.0
    """Slot-seconds of tasks that ended here; those that run are counted by their waves."""
    looked_busy_s: float = 0.0
    looked_s: float = 0.0
    used: set[tuple[str, str]] | None = field(default_factory=set)
    """Query and stage of which it has run a task; None: it is warm, as those that an application begins with."""

    def use(self, query: str, stage: str) -> bool:
        """Note that it runs a task; whether that is its first of the stage."""
        if self.used is None or (query, stage) in self.used:
            return False
        self.used.add((query, stage))
        return True

    def slowness(self, now_s: float, cold_factor: float) -> float:
        """How many times longer a task takes that begins now."""
        factor = cold_factor if now_s < self.cold_until_s else 1.0
        return factor * self.slow_factor if now_s < self.slow_until_s else factor


class FreeNodes:
    """Which nodes have no worker: each takes one. Several pools may draw from them."""

    def __init__(self, model: PlacesModel) -> None:
        self.model = model
        self.free = list(model.nodes)

    def take(self, random: Random, wished: Sequence[str] = ()) -> str:
        """The first free node of those wished for, or any."""
        node = next((node for node in wished if node in self.free), None) or random.choice(self.free)
        self.free.remove(node)
        return node

    def give_back(self, node: str) -> None:
        """A worker has left; nodes keep their order, so that draws depend on nothing but the seed."""
        self.free = [one for one in self.model.nodes if one in self.free or one == node]


class SimulatedCluster:
    """The workers of one pool. Asked for a size, it starts and stops workers until it has it."""

    def __init__(self, model: PoolModel, random: Random, *, name: str = "", places: FreeNodes | None = None) -> None:
        self.model = model
        self.name = name
        self.wanted = self.requested = model.initial_workers
        self.workers: list[SimulatedWorker] = []
        self.extra_start_s = 0.0
        self.gone_busy_slot_s = 0.0
        self._random = random
        self._places = places
        self._named = 0
        # The application begins with workers that are up and warm: what is studied is change.
        for _ in range(self._affordable(model.initial_workers)):
            worker = self._new_worker(0.0, places.model.start if places is not None else ())
            worker.state, worker.used = "ready", None
            self.workers.append(worker)

    def free(self) -> list[SimulatedWorker]:
        """Workers that could take a task now."""
        return [worker for worker in self.workers if worker.running < worker.slots and worker.state == "ready"]

    def in_state(self, state: str) -> list[SimulatedWorker]:
        """Workers in one state, oldest first."""
        return [worker for worker in self.workers if worker.state == state]

    def resize(self, size: int, leave_first: Sequence[str] = ()) -> list[SimulatedWorker]:
        """Begin to have another size: workers that are not needed leave. Returns those that leave after their tasks."""
        self.wanted = self.requested = size
        staying = [worker for worker in self.workers if worker.state in ("starting", "ready")]
        leaving = []
        for worker in self._leavers(staying, len(staying) - size, leave_first):
            if worker.state == "ready":
                leaving.append(worker)
            worker.state = "gone" if worker.state == "starting" else "leaving"
        self._drop_gone()
        return leaving

    def replenish(self, now_s: float, *, most: int | None = None, add_on: Sequence[str] = ()) -> list[SimulatedWorker]:
        """Start what is missing, as far as there is room. Returns the workers that were started."""
        alive = sum(worker.state in ("starting", "ready") for worker in self.workers)
        leaving = len(self.workers) - alive
        size = self.requested if most is None else min(most, self.requested)
        room = self._affordable(size + leaving) - leaving
        if self.model.leavers_hold_room:
            room = min(room, self.model.max_workers - leaving)
        if self._places is not None:
            room = min(room, alive + len(self._places.free))
        started = [self._new_worker(now_s, add_on) for _ in range(room - alive)]
        for worker in started:
            spread = self.model.start_spread * (2 * self._random.random() - 1)
            worker.ready_s = now_s + self.model.start_s * (1 + spread) + self.extra_start_s
        self.workers.extend(started)
        return started

    def settle(self) -> None:
        """Workers that were starting are ready, and those that were leaving are gone."""
        for worker in self.workers:
            worker.state = "gone" if worker.state == "leaving" else "ready"
        self._drop_gone()

    def move(self) -> None:
        """Place all workers anew, where nodes are drawn anew."""
        if self._places is None or not self._places.model.anew:
            return
        for worker in self.workers:
            if worker.node is not None:
                self._places.give_back(worker.node)
        for worker in self.workers:
            worker.node = self._places.take(self._random)

    def remove(self, worker: SimulatedWorker) -> None:
        """A worker has left or died."""
        worker.state = "gone"
        self._drop_gone()

    def _leavers(
        self, staying: list[SimulatedWorker], surplus: int, leave_first: Sequence[str]
    ) -> list[SimulatedWorker]:
        """Those a policy prefers, then those that cost least: not yet started, then idle, then young."""
        rank = {name: i for i, name in enumerate(leave_first)}
        if self._places is not None:
            # Workers differ by their place, and who does not know the places chooses any.
            any_order = self._random.sample(staying, len(staying))
            return sorted(any_order, key=lambda worker: rank.get(worker.id, len(rank)))[: max(0, surplus)]

        def cost(worker: SimulatedWorker) -> tuple[int, bool, int, float]:
            return rank.get(worker.id, len(rank)), worker.state == "ready", worker.running, -worker.since_s

        return sorted(staying, key=cost)[: max(0, surplus)]

    def _affordable(self, size: int) -> int:
        room = self.model.cluster_workers
        return size if room is None else min(size, room)

    def _new_worker(self, now_s: float, add_on: Sequence[str] = ()) -> SimulatedWorker:
        self._named += 1
        return SimulatedWorker(
            # Names are unique over all pools, because a decision names workers and not their pools.
            id=f"{self.name}-{self._named}" if self.name else str(self._named),
            since_s=now_s,
            slots=self.model.slots_per_worker,
            node=self._places.take(self._random, add_on) if self._places is not None else None,
            looked_s=now_s,
        )

    def _drop_gone(self) -> None:
        gone = [worker for worker in self.workers if worker.state == "gone"]
        self.gone_busy_slot_s += sum(worker.busy_slot_s for worker in gone)
        for worker in gone:
            if self._places is not None and worker.node is not None:
                self._places.give_back(worker.node)
        self.workers = [worker for worker in self.workers if worker.state != "gone"]
