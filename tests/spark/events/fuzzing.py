"""One run of the fuzzer: an application, a bad way for its events, and what must hold at every look all the same."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

from tests.spark.events.application import MOST_STAGES, Application, Channel, Faults
from tests.spark.events.jvm import EventPlayer

ENDS = ("task-end", "stage-end", "job-end", "executor-end")
PROFILES = {
    "sound": Faults(),
    "repeated": Faults(repeat=0.2),
    "late-ends": Faults(delay=0.2, delayed=ENDS),
    "reordered": Faults(delay=0.1, delay_events=30),
    "clock-set": Faults(set_clock=0.1),
    "dropped": Faults(drop=0.1),
    "everything": Faults(drop=0.1, repeat=0.1, delay=0.1, set_clock=0.05),
}
# As the ledger promises; those of one run are far fewer.
BOUNDS = {
    "notes": 4000,
    "owners": 4000,
    "executors": 4000,
    "overdue": 4000,
    "stages": 1000,
    "ended": 1000,
    "late": 1000,
}
OVERDUE_MS = 60_000
TOTALS = ("busy_ms", "other_busy_ms", "lost", "note")


class Run:
    """Plays events and judges looks. What is wrong is an AssertionError."""

    def __init__(self, player: EventPlayer, profile: str, seed: int) -> None:
        chance = random.Random(f"{profile} {seed}")
        self.profile = profile
        self.faults = PROFILES[profile]
        self.application = Application(chance)
        self.channel = Channel(chance, self.faults)
        self.told = Counter[str]()
        """Sums over stages that have ended, and by query."""
        self.before: dict[str, Any] = {}
        self._player = player
        self._chance = chance
        self._last: dict[str, Any] = {}
        self._read: set[int] = set()

    def play(self, steps: int) -> None:
        """So many steps with a look after some of them, then until nothing runs any more."""
        for _ in range(steps):
            self._step(begins=True)
        while not self.application.is_idle:
            self._step(begins=False)
        self._player.play(self.channel.flush())
        self._player.play([("query-end", query) for query in self.application.queries])
        self.look()
        self._pass_time(OVERDUE_MS)
        self._end(self.look())

    def _step(self, *, begins: bool) -> None:
        self._player.play(self.channel.take(self.application.happen(begins=begins)))
        self._pass_time(self._chance.choice((10, 50, 250)))
        if self._chance.random() < 0.1:
            self.look()

    def _pass_time(self, ms: int) -> None:
        by_ms = 0
        if self._chance.random() < self.faults.set_clock:
            by_ms = self._chance.choice((-86_400_000, -3_600_000, -1_000, 1_000, 3_600_000))
        self.application.pass_time(ms)
        self._player.pass_time(ms, clock_set_by_ms=by_ms)

    def look(self) -> dict[str, Any]:
        """One look, and what must hold at each."""
        now: dict[str, Any] = json.loads(self._player.text())
        assert now["failures"] == 0, now["failure"]
        self._check_totals(now)
        self._check_bounds(now)
        self._check_busy(now)
        for stage in now["stages"]:
            if stage["note"]:
                assert stage["note"] not in self._read, "a note was told twice"
                self._read.add(stage["note"])
                assert stage["ended_ms"] > 0
                self._add(stage)
        self._last = {**now, "unseen_ms": self.channel.unseen_ms, "at_ms": self.application.now_ms}
        return now

    def _add(self, stage: dict[str, Any]) -> None:
        for key in ("done", "lost_tasks", "run_ms", "lost_ms", "read"):
            self.told[key] += stage[key]
        self.told[f"run_ms of {stage['query'] or '-'}"] += stage["run_ms"]

    def _check_totals(self, now: dict[str, Any]) -> None:
        for key in TOTALS:
            assert now[key] >= self._last.get(key, 0), f"{key} fell"
        for name, executor in self._last.get("executors", {}).items():
            for key in ("busy_ms", "records", "held_ms", "cpu_ms"):
                assert now["executors"][name][key] >= executor[key], f"{key} of executor {name} fell"

    def _check_bounds(self, now: dict[str, Any]) -> None:
        sizes = self._player.sizes()
        for name, most in BOUNDS.items():
            assert sizes[name] <= most, f"{name}: {sizes[name]}"
        assert sizes["running"] <= 2 * self.application.cores * sizes["executors"]
        # One batch of a query goes on; the start of another may come when it is over.
        goes_on = Counter(stage["query"] for stage in now["stages"] if not stage["note"] and stage["query"])
        assert max(goes_on.values(), default=0) <= MOST_STAGES * (2 if self.faults.delay else 1), goes_on

    def _check_busy(self, now: dict[str, Any]) -> None:
        # One whose removal we have not heard of may be thought to be busy.
        heard = {name for kind, name in self.channel.delivered if kind == "executor-end"}
        capacity_ms = 0
        for name, (came_ms, gone_ms) in self.application.lives_ms.items():
            until_ms = self.application.now_ms if gone_ms is None or self.faults.delay or name not in heard else gone_ms
            capacity_ms += self.application.cores * (until_ms - came_ms)
        assert now["busy_ms"] <= capacity_ms, "busier than all slots since the beginning"
        assert now["other_busy_ms"] <= now["busy_ms"]
        for name, executor in now["executors"].items():
            assert executor["cpu_ms"] <= executor["busy_ms"], f"executor {name} computed for longer than it was busy"
        if not self.faults.drop and not self.faults.delay:
            assert now["busy_ms"] == self.application.busy_ms

    def _end(self, now: dict[str, Any]) -> None:
        """Nothing goes on, and all that was delivered has been told once."""
        sizes = self._player.sizes()
        ends = [event for (kind, _), event in self.channel.delivered.items() if kind == "task-end"]
        done = [event for event in ends if event[5] == "done"]
        waiting = Counter[str]()
        for stage in now["stages"]:
            if not stage["note"]:
                waiting.update({key: stage[key] for key in ("done", "lost_tasks", "run_ms", "lost_ms", "read")})
        assert self.told["done"] + waiting["done"] == len(done)
        assert self.told["lost_tasks"] + waiting["lost_tasks"] == len(ends) - len(done)
        assert self.told["run_ms"] + waiting["run_ms"] == sum(int(str(event[6])) for event in done)
        assert sizes["overdue"] == 0
        self._check_owners(done)
        self._check_lost(now)
        if not self.faults.drop and not self.faults.delay:
            assert (sizes["running"], sizes["stages"]) == (0, 0)
        self._check_idle(now)

    def _check_owners(self, done: list[tuple[object, ...]]) -> None:
        """Each task is told of the query that it worked for, unless what says so was lost or late."""
        if self.faults.drop or (self.faults.delay and "job" in self.faults.delayed):
            return
        owners = {}
        for (kind, _), event in self.channel.delivered.items():
            if kind == "stage":
                owners[event[1]] = event[4]
        for query in (*self.application.queries, "-"):
            worked_ms = sum(int(str(event[6])) for event in done if owners[event[2]] == query)
            assert self.told[f"run_ms of {query}"] == worked_ms

    def _check_lost(self, now: dict[str, Any]) -> None:
        begun = {name for kind, name in self.channel.delivered if kind == "task"}
        ended = {name for kind, name in self.channel.delivered if kind == "task-end"}
        first = min(map(int, map(str, begun)))
        half_known = len(begun - ended) + sum(int(str(name)) > first for name in ended - begun)
        assert half_known <= now["lost"] <= self.channel.dropped + self.channel.delayed
        if not self.faults.drop and not self.faults.delay:
            assert now["lost"] == 0

    def _check_idle(self, now: dict[str, Any]) -> None:
        """What is over is not busy, unless everything that could say so was lost."""
        delivered = self.channel.delivered
        jobs = {}
        for (kind, number), event in delivered.items():
            if kind == "job":
                jobs.update({int(str(stage).split(":")[0]): number for stage in event[5:]})
        unheard = [
            event
            for (kind, number), event in delivered.items()
            if kind == "task"
            and ("task-end", number) not in delivered
            and ("stage-end", event[2]) not in delivered
            and ("job-end", jobs.get(int(str(event[2])))) not in delivered
        ]
        self._pass_time(OVERDUE_MS)
        later = self.look()
        assert later["busy_ms"] - now["busy_ms"] <= OVERDUE_MS * len(unheard)
