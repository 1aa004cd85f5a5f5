"""An application that is made up: executors, queries with batches, other jobs; and the way its events take to us."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

Event = tuple[object, ...]

MOST_STAGES = 3
"""Of one job."""


@dataclass(slots=True)
class Task:
    """One attempt that runs."""

    id: int
    stage: Stage
    executor: int
    began_ms: int
    ends_ms: int


@dataclass(slots=True)
class Stage:
    """One attempt at a stage, and what is left of it."""

    id: int
    tasks: int
    job: Job
    todo: int
    running: int = 0
    began_ms: int = 0

    @property
    def key(self) -> tuple[int, int, int]:
        return self.id, 0, self.tasks


@dataclass(slots=True)
class Job:
    """Stages that follow each other."""

    id: int
    query: str
    batch: int
    stages: list[Stage] = field(default_factory=list)


class Application:
    """Runs jobs on the slots of its executors, in steps; tells events as they happen."""

    def __init__(self, chance: random.Random, *, executors: int = 4, cores: int = 2, queries: int = 5) -> None:
        self.now_ms = 0
        self.cores = cores
        self.busy_ms = 0
        self.lives_ms: dict[int, tuple[int, int | None]] = {}
        """When each executor came and went."""
        self.queries = [str(UUID(int=number + 1)) for number in range(queries)]
        self._chance = chance
        self._batches = dict.fromkeys(self.queries, 0)
        self._jobs: list[Job] = []
        self._running: list[Task] = []
        self._last = Counter[str]()
        self._to_come = executors

    @property
    def slots(self) -> int:
        """Of the executors that are there."""
        return self.cores * sum(gone is None for _, gone in self.lives_ms.values())

    @property
    def is_idle(self) -> bool:
        return not self._jobs

    def pass_time(self, ms: int) -> None:
        self.now_ms += ms
        self.busy_ms += ms * len(self._running)

    def happen(self, *, begins: bool = True) -> Iterator[Event]:
        """What happens at this moment; without `begins`, nothing new is begun."""
        while self._to_come:
            self._to_come -= 1
            yield self._add_executor()
        yield from self._end_tasks()
        if begins and self._chance.random() < 0.02:
            yield from self._lose_executor()
            yield self._add_executor()
        if begins:
            yield from self._begin_jobs()
        yield from self._begin_tasks()

    def _number(self, kind: str) -> int:
        self._last[kind] += 1
        return self._last[kind]

    def _add_executor(self) -> Event:
        name = self._number("executor")
        self.lives_ms[name] = self.now_ms, None
        return "executor", name, self.cores

    def _lose_executor(self) -> Iterator[Event]:
        name = self._chance.choice([name for name, (_, gone) in self.lives_ms.items() if gone is None])
        self.lives_ms[name] = self.lives_ms[name][0], self.now_ms
        yield "executor-end", name
        for task in [task for task in self._running if task.executor == name]:
            yield self._end(task, "failed")
            task.stage.todo += 1

    def _end_tasks(self) -> Iterator[Event]:
        for task in [task for task in self._running if task.ends_ms <= self.now_ms]:
            failed = self._chance.random() < 0.05
            yield self._end(task, "failed" if failed else "done")
            task.stage.todo += failed
            if not task.stage.todo and not task.stage.running:
                yield from self._end_stage(task.stage)

    def _end(self, task: Task, verdict: str) -> Event:
        self._running.remove(task)
        task.stage.running -= 1
        records = self._chance.randrange(100)
        held_ms = self.now_ms - task.began_ms
        # Clocks of an executor do not agree to the millisecond.
        cpu_ms = round(held_ms * self._chance.choice((0.0, 0.3, 0.9, 1.02)))
        return "task-end", task.id, task.stage.id, 0, task.executor, verdict, held_ms, records, "-", cpu_ms

    def _end_stage(self, stage: Stage) -> Iterator[Event]:
        job = stage.job
        yield "stage-end", *stage.key, "done", stage.began_ms
        job.stages.remove(stage)
        if job.stages:
            yield self._submit(job.stages[0])
        else:
            self._jobs.remove(job)
            yield "job-end", job.id

    def _begin_jobs(self) -> Iterator[Event]:
        for query in self.queries:
            if not any(job.query == query for job in self._jobs) and self._chance.random() < 0.3:
                self._batches[query] += 1
                yield from self._begin(query, self._batches[query])
        if self._chance.random() < 0.03:
            yield from self._begin("-", 0)

    def _begin(self, query: str, batch: int) -> Iterator[Event]:
        job = Job(self._number("job"), query, batch)
        for _ in range(self._chance.randint(1, MOST_STAGES)):
            tasks = self._chance.randint(1, 8)
            job.stages.append(Stage(self._number("stage"), tasks, job, todo=tasks))
        self._jobs.append(job)
        listed = [f"{stage.id}:0:{stage.tasks}" for stage in job.stages]
        yield "job", job.id, query, batch, "-", *listed
        yield self._submit(job.stages[0])

    def _submit(self, stage: Stage) -> Event:
        stage.began_ms = self.now_ms
        return "stage", *stage.key, stage.job.query, stage.job.batch, "-"

    def _begin_tasks(self) -> Iterator[Event]:
        free = [
            name
            for name, (_, gone) in self.lives_ms.items()
            if gone is None
            for _ in range(self.cores - sum(task.executor == name for task in self._running))
        ]
        self._chance.shuffle(free)
        for stage in [job.stages[0] for job in self._jobs]:
            while stage.todo and free:
                stage.todo -= 1
                stage.running += 1
                task = Task(self._number("task"), stage, free.pop(), self.now_ms, 0)
                task.ends_ms = self.now_ms + self._chance.choice((20, 200, 700, 3000))
                self._running.append(task)
                yield "task", task.id, stage.id, 0, task.executor


@dataclass(frozen=True, kw_only=True)
class Faults:
    """What becomes of events on their way; shares of all events."""

    drop: float = 0.0
    repeat: float = 0.0
    delay: float = 0.0
    delayed: Sequence[str] = ("executor", "executor-end", "job", "job-end", "stage", "stage-end", "task", "task-end")
    delay_events: int = 200
    set_clock: float = 0.0
    """Share of steps in which the time of day is set."""


class Channel:
    """Takes events to the listener; remembers what has become of them."""

    def __init__(self, chance: random.Random, faults: Faults) -> None:
        self.sent = self.dropped = self.repeated = self.delayed = 0
        self.delivered: dict[tuple[object, object], Event] = {}
        """By kind and number, the first time."""
        self.unseen_ms = 0
        """Of tasks that ended without having been seen to begin."""
        self._chance = chance
        self._faults = faults
        self._held: list[tuple[int, Event]] = []

    def take(self, events: Iterable[Event]) -> list[Event]:
        """What arrives of these, and of earlier ones, in this order."""
        arriving: list[Event] = []
        for event in events:
            self.sent += 1
            faults, luck = self._faults, self._chance.random()
            if luck < faults.drop:
                self.dropped += 1
            elif luck < faults.drop + faults.delay and event[0] in faults.delayed:
                self.delayed += 1
                self._held.append((self.sent + self._chance.randint(1, faults.delay_events), event))
            else:
                arriving.append(event)
                if self._chance.random() < faults.repeat:
                    self.repeated += 1
                    self._held.append((self.sent + self._chance.randint(0, faults.delay_events), event))
            arriving += self._due(self.sent)
        self._note(arriving)
        return arriving

    def flush(self) -> list[Event]:
        """All that is still on its way."""
        arriving = self._due(None)
        self._note(arriving)
        return arriving

    def _due(self, number: int | None) -> list[Event]:
        due = [event for at, event in self._held if number is None or at <= number]
        self._held = [held for held in self._held if number is not None and held[0] > number]
        return due

    def _note(self, events: Iterable[Event]) -> None:
        for event in events:
            if event[0] == "task-end" and ("task", event[1]) not in self.delivered:
                self.unseen_ms += int(str(event[6]))
            self.delivered.setdefault((event[0], event[1]), event)
