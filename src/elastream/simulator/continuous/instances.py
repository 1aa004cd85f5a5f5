"""The instances of one operator: how fast they are, how much of the input each gets, and what waits in front of them.

Instances that get equally much and are equally fast behave alike, so they are one group: usually there is one, with a
hot key two. A step then costs the same whatever the number of instances, and plain floats are faster than arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from elastream.simulator.continuous.assignment import loads
from elastream.simulator.continuous.model import OperatorModel

if TYPE_CHECKING:
    from elastream.simulator.continuous.flow import Out
    from elastream.simulator.continuous.log import SimulatedLog
    from elastream.simulator.continuous.turns import Turns


class Group:
    """Instances that are alike."""

    __slots__ = ("capacity", "count", "done", "members", "part", "queue", "room", "share", "worked")

    def __init__(self, members: list[int], share: float, capacity: float, room: float) -> None:
        self.members = members
        self.count = len(members)
        self.share = share
        """Of the operator's input."""
        self.capacity = capacity
        """Records per step, all of them together."""
        self.room = room
        self.queue = 0.0
        self.part = 0.0
        """Records in this step."""
        self.done = 0.0
        """Records since the instances were set."""
        self.worked = 0.0
        """Instance-seconds of work since then, as a processor sees them."""


class Window:
    """What a window operator holds, and what it has yet to work through."""

    __slots__ = ("ended", "every_s", "fired", "firing", "held", "panes")

    def __init__(self, every_s: float, panes: int) -> None:
        self.every_s = every_s
        self.ended = 0
        self.held = 0.0
        """Taken in since the last window ended."""
        self.panes = [0.0] * (panes - 1)
        """Of earlier slides that are still part of the next window, oldest first."""
        self.firing = 0.0
        """Records of windows that have ended and were not worked through."""
        self.fired = 0.0
        """Records that were worked through."""

    def state(self) -> tuple[float, list[float], float, float]:
        """What a checkpoint keeps."""
        return self.held, self.panes[:], self.firing, self.fired

    def restore(self, state: tuple[float, list[float], float, float]) -> None:
        """Hold again what a checkpoint kept."""
        self.held, panes, self.firing, self.fired = state
        self.panes = panes[:]

    def end_if_due(self, now_s: float) -> None:
        """Where a window ends, all that is in it is to be worked through."""
        number = int(now_s / self.every_s + 1e-9)
        if number == self.ended:
            return
        self.ended = number
        self.firing += self.held + sum(self.panes)
        if self.panes:
            self.panes = [*self.panes[1:], self.held]
        self.held = 0.0


class Instances:
    """One operator of a running job. What is per step is set by the engine, which is the inner loop."""

    __slots__ = (
        "accept",
        "always_has_work",
        "backpressure_s",
        "blocked",
        "bounded",
        "busy_s",
        "can",
        "capacity",
        "count",
        "cpu_share",
        "fire_capacity",
        "fire_ratio",
        "fired",
        "gains",
        "groups",
        "inbox",
        "limit",
        "logs",
        "model",
        "number",
        "origins",
        "outs",
        "passed",
        "records_in",
        "records_out",
        "shared",
        "single",
        "supply",
        "ups",
        "useful",
        "waiting",
        "weights",
        "window",
    )

    def __init__(self, model: OperatorModel, number: int) -> None:
        self.model = model
        self.number = number
        self.count = 1
        self.capacity = 0.0
        self.fire_capacity = 0.0
        self.fire_ratio = 1.0
        self.groups: list[Group] = []
        self.useful = 1
        self.always_has_work = True
        self.bounded = True
        """Whether a full buffer takes no more in."""
        self.blocked = 0.0
        """Share of a step in which results of a window could not be given out."""
        self.records_in = self.records_out = 0.0
        self.busy_s = self.backpressure_s = 0.0
        self.accept = self.can = self.limit = self.supply = self.fired = 0.0
        self.logs: list[SimulatedLog] = []
        self.outs: list[Out] = []
        self.ups: list[tuple[Instances, float]] = []
        self.shared: tuple[Turns, int] | None = None
        self.single = True
        self.cpu_share = 1.0
        self.weights: list[float] = []
        self.origins: list[int] = []
        self.gains: list[float] = []
        self.passed: list[float] = []
        self.waiting: list[float] = []
        self.inbox: list[float] = []
        self.window = Window(model.window.every_s, model.window.panes) if model.window else None

    def set(self, count: int, slowness: Sequence[float], longest_ms: float, step_s: float) -> None:
        """Have so many instances, some of them slower; what waits is dealt out anew."""
        model = self.model
        useful = count if model.partitions is None else min(count, model.partitions)
        alone, lost = model.rate_rps * model.speedup(useful), model.delay_cost_rps * longest_ms
        rate = max(0.0, alone - lost)
        self.cpu_share = 1.0 - model.delay_idle * min(1.0, lost / alone) if alone else 1.0
        shares = self.shares(useful)
        alike: dict[tuple[float, float], list[int]] = {}
        for i, share in enumerate(shares):
            alike.setdefault((round(share, 12), slowness[i]), []).append(i)
        room = math.inf if model.buffer is None or not self.bounded else model.buffer
        self.count, self.useful = count, useful
        self.groups = []
        for (_, slow), members in alike.items():
            capacity = rate * step_s * len(members) / useful / slow if useful else 0.0
            self.groups.append(Group(members, sum(shares[i] for i in members), capacity, room * len(members)))
        self.capacity = sum(group.capacity for group in self.groups)
        if model.window:
            # A window is through when its slowest instance is.
            slowest = min(group.capacity / group.share for group in self.groups if group.share)
            self.fire_ratio = model.window.fire_rps / model.rate_rps
            self.fire_capacity = slowest * self.fire_ratio
        self.supply = 0.0
        self.refill()

    def shares(self, instances: int) -> list[float]:
        """Of the input, the part of each instance: of partitions where it reads logs, else of keys."""
        if any(log.model.partitions is not None for log in self.logs):
            whole = sum(log.model.share for log in self.logs) or 1.0
            each = [(log.model.share / whole, loads(log.model, instances)) for log in self.logs]
            return [sum(share * of_log[i] for share, of_log in each) for i in range(instances)]
        even = (1 - self.model.hot_share) / instances if instances else 0.0
        return [even + (self.model.hot_share if i == 0 else 0.0) for i in range(instances)]

    def refill(self) -> None:
        """Deal out what waits."""
        waiting = sum(self.waiting)
        for group in self.groups:
            group.queue = waiting * group.share

    def powers(self) -> list[float]:
        """Of the capacity, the part of each instance."""
        found = [0.0] * sum(group.count for group in self.groups)
        for group in self.groups:
            for member in group.members:
                found[member] = group.capacity / self.capacity / group.count if self.capacity else 0.0
        return found

    def grouping(self) -> list[int]:
        """The group of each instance."""
        found = {member: place for place, group in enumerate(self.groups) for member in group.members}
        return [found[member] for member in sorted(found)]

    @property
    def queue(self) -> float:
        """Records that wait in front of all instances."""
        return sum(group.queue for group in self.groups)

    @property
    def room(self) -> float:
        """Records that can wait in front of all instances."""
        return sum(group.room for group in self.groups)

    def weigh(self) -> None:
        """Those that feed it share its room in proportion to what they could send."""
        could = [up.supply * selectivity for up, selectivity in self.ups]
        whole = sum(could)
        self.weights = [part / whole for part in could] if whole else [1 / len(could)] * len(could)

    def collect(self) -> float:
        """Let what has come wait with the rest; returns how much that is."""
        total = 0.0
        for place, amount in enumerate(self.inbox):
            if amount:
                total += amount
                self.waiting[place] += amount
                self.inbox[place] = 0.0
        return total

    def drain_groups(self, inflow: float, capacity: float, limit: float) -> tuple[float, float]:
        """What the groups could process of what waits, and what they did."""
        speed = capacity / self.capacity if self.capacity else 0.0
        supply = 0.0
        for group in self.groups:
            group.queue += inflow * group.share
            group.part = min(group.queue, group.capacity * speed)
            supply += group.part
        if supply > limit:
            for group in self.groups:
                group.part *= limit / supply
        for group in self.groups:
            group.queue -= group.part
        return supply, min(supply, limit)

    def deal_read(self, done: float, capacity: float) -> None:
        """Who has read what: each what was taken from its partitions, and what is read again who has time for it."""
        speed = capacity / self.capacity if self.capacity else 0.0
        parts = [0.0] * len(self.groups)
        for log in self.logs:
            for lane in log.lanes:
                parts[lane.group] += lane.taken
                lane.taken = 0.0
        free = 0.0
        for group, part in zip(self.groups, parts, strict=True):
            group.part = min(part, group.capacity * speed)
            done -= group.part
            free += group.capacity * speed - group.part
        if done > 0.0 and free > 0.0:
            for group in self.groups:
                group.part += (group.capacity * speed - group.part) * min(1.0, done / free)
