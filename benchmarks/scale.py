"""A tick with 1,000 executors, 100 queries and 10,000 tasks a batch (goal: 200 ms at the 99th percentile).

Events are made up and given to the real listener in a JVM of its own; from there on all is as in a driver: look, read,
observe, policy, guards, journal. No executor runs.

    python -m benchmarks.scale [--ticks 300] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import os
import pstats
import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

from benchmarks.machine import machine
from elastream.config import resolve
from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.core.tick import Tick
from elastream.journal.background_writer import BackgroundRecorder
from elastream.journal.format import describe
from elastream.journal.writer import Memory, Recorder
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller, pause_collector
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.spark.jvm.compiler import make
from elastream.spark.observe.observer import POOL, PROVIDES, Observer
from elastream.spark.platform import use_of
from elastream.spark.scale.executors import Executors
from elastream.spark.scale.managers import Standalone
from elastream.spark.scale.roster import Registered
from tests.spark.events.jvm import EventPlayer, compile_beside, jvm

EXECUTORS, CORES = 1_000, 4
QUERIES = [str(UUID(int=number)) for number in range(1, 101)]
WIDE, NARROW = 5_000, 5
"""Tasks of each of the two stages of a batch: of the first query, and of all others."""
TICK_S = 5.0
GOAL_MS = 200.0
Event = tuple[object, ...]


class Backend:
    """A scheduler whose executors are there."""

    manager = Standalone()

    def __init__(self) -> None:
        self._state = Registered(tuple(str(number) for number in range(EXECUTORS)))

    def state(self) -> Registered:
        return self._state

    def request(self, total: int) -> None:
        """Heard."""

    def decommission(self, ids: Sequence[str]) -> None:
        """Heard."""

    def kill(self, name: str) -> None:
        """Heard."""


class Load:
    """Batches of all queries, one a tick; at a look, all are in the middle of their second stage."""

    def __init__(self, player: EventPlayer, queries: Any) -> None:
        self._player = player
        self._queries = queries
        self._batch = -1
        self._task = 0
        self._running: list[tuple[int, int, int]] = []
        player.play(("executor", name, CORES) for name in range(EXECUTORS))

    def pass_tick(self) -> None:
        """Five seconds."""
        self._step(0, self._finish())
        self._batch += 1
        self._queries.set("\n".join("\t".join(map(str, line)) for line in self._live()))
        self._step(200, [*self._begin(), *self._start(1, 0, 4_000)])
        self._step(1_000, [*self._end(), *self._start(1, 4_000, WIDE)])
        self._step(1_000, [*self._end(), *self._next_stage(), *self._start(2, 0, 3_000)])
        self._step(1_300, [*self._end(), *self._start(2, 3_000, WIDE)])
        self._player.pass_time(1_500)

    def _step(self, ms: int, events: Sequence[Event]) -> None:
        self._player.pass_time(ms)
        self._player.play(events)

    def _numbers(self) -> Iterator[tuple[int, str, int, int]]:
        """For each query: a number of this batch of it, its id, and how wide and how partitioned it is."""
        for place, query in enumerate(QUERIES):
            yield max(0, self._batch) * len(QUERIES) + place, query, *((WIDE, 500) if place == 0 else (NARROW, 10))

    def _live(self) -> Iterator[Event]:
        for _, query, _, partitions in self._numbers():
            done = self._batch * 100
            yield query, self._batch, self._player.utc_ms, partitions, done, done + 100, done + 150

    def _begin(self) -> Iterator[Event]:
        for number, query, tasks, _ in self._numbers():
            first = 10 * number
            nodes = ("Write|Write", "HashAggregate|HashAggregate opId = 0", "Exchange|Exchange", "Scan|Scan [a#1]")
            yield "plan", number, *(f"{node}|{first + place}" for place, node in enumerate(nodes))
            yield "job", number, query, self._batch, number, f"{2 * number}:0:{tasks}", f"{2 * number + 1}:0:{tasks}"
            yield "stage", 2 * number, 0, tasks, query, self._batch, number

    def _start(self, stage: int, first: int, last: int) -> Iterator[Event]:
        for number, _, tasks, _ in self._numbers():
            # The narrow ones begin with the second wave, and of their last stage not all.
            wanted = range(first, last) if tasks == WIDE else range(tasks if stage == 1 else 3) if first else ()
            for place in wanted:
                self._task += 1
                self._running.append((self._task, 2 * number + stage - 1, place % EXECUTORS))
                yield "task", self._task, 2 * number + stage - 1, 0, place % EXECUTORS

    def _end(self) -> Iterator[Event]:
        for task, stage, executor in self._running:
            yield "task-end", task, stage, 0, executor, "done", 900, 20, 5 * (stage - stage % 2) + 3 * (1 - stage % 2)
        self._running.clear()

    def _next_stage(self) -> Iterator[Event]:
        for number, query, tasks, _ in self._numbers():
            yield "stage-end", 2 * number, 0, tasks, "done", self._player.utc_ms - 2_000, 10 * number + 3
            yield "stage", 2 * number + 1, 0, tasks, query, self._batch, number

    def _finish(self) -> list[Event]:
        if self._batch < 0:
            return []
        events = [*self._end()]
        for number, query, tasks, partitions in self._numbers():
            events.append(("stage-end", 2 * number + 1, 0, tasks, "done", self._player.utc_ms - 3_000, 10 * number))
            events.append(("job-end", number))
            events.append(("plan-end", number))
            events.append(("progress", self._progress(query, partitions)))
        return events

    def _progress(self, query: str, partitions: int) -> str:
        def offset(number: int) -> dict[str, dict[str, int]]:
            return {f"topic-{query}": {str(place): number for place in range(partitions)}}

        began = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self._player.utc_ms / 1000 - 5))
        done = 100 * self._batch
        source = {
            "description": "KafkaV2[Subscribe[topic]]",
            "startOffset": offset(done),
            "endOffset": offset(done + 100),
            "latestOffset": offset(done + 150),
            "numInputRows": 100 * partitions,
            "inputRowsPerSecond": 20.0 * partitions,
            "processedRowsPerSecond": 20.0 * partitions,
        }
        told = {
            "id": query,
            "runId": query,
            "name": f"query-{query[-3:]}",
            "timestamp": began,
            "batchId": self._batch,
            "batchDuration": 4_900,
            "numInputRows": 100 * partitions,
            "durationMs": {"addBatch": 4_500, "triggerExecution": 4_900, "walCommit": 100},
            "eventTime": {},
            "stateOperators": [],
            "sources": [source],
            "sink": {"description": "NoopTable", "numOutputRows": 10},
        }
        return json.dumps(told)


class ScalePlatform:
    """As the live one, but for the session."""

    name = "spark"
    provides = PROVIDES
    version = "none"

    def __init__(self, player: EventPlayer, clock: VirtualClock) -> None:
        self.executors = Executors(Backend(), clock)
        self.bytes = 0
        self._player = player
        self._clock = clock
        self._observing = Observer(application="scale", bounds=(1, EXECUTORS), slots_per_worker=CORES)
        self._use: Any = None

    def observe(self) -> Observation:
        look, self.bytes = self._player.look_and_size()
        registered = self.executors.look()
        now_s, utc_s = self._clock.now_s(), self._clock.utc_s()
        now = self._observing.fold(look, registered, self.executors, at_s=now_s, utc_s=utc_s)
        self._use = use_of(look, now, now_s - utc_s)
        self._observing.watched_only()
        return now

    def apply(self, decision: Decision) -> None:
        self.executors.want(decision.allocation[POOL], leave_first=decision.leave_first, use=self._use)

    def has_ended(self) -> bool:
        return False

    def close(self) -> None:
        self.executors.stop()


class WatchedRecorder(Recorder):
    """Tells when a tick is on disk: in a driver, five seconds lie between two ticks, and here hardly any."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder, **settings)
        self._done = threading.Event()
        self.took_ms: list[float] = []

    def record(self, tick: Tick, after: Memory) -> None:
        began_s = time.perf_counter()
        try:
            super().record(tick, after)
        finally:
            self.took_ms.append((time.perf_counter() - began_s) * 1000)
            self._done.set()

    def wait(self) -> None:
        """Until the tick that was handed over is written, or the next one is due."""
        self._done.wait(TICK_S)
        self._done.clear()


class Driver:
    """What both processes of a driver hold and use."""

    def __init__(self, gateway: Any) -> None:
        self._gateway = gateway
        self._threads = Path(f"/proc/{gateway.java_process.pid}/task")

    def cpu_s(self) -> float:
        """Processor time of all threads so far."""
        spent_ns = 0
        for thread in self._threads.iterdir():
            with suppress(OSError):
                spent_ns += int((thread / "schedstat").read_text().split()[0])
        return time.process_time() + spent_ns / 1e9

    def heap(self) -> float:
        """Of the JVM after a collection, in MB."""
        runtime = self._gateway.jvm.java.lang.Runtime.getRuntime()
        runtime.gc()
        return float(runtime.totalMemory() - runtime.freeMemory()) / 1e6

    def python(self) -> float:
        """Resident, in MB."""
        gc.collect()
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Print percentiles and memory, with and without a journal."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ticks", type=int, default=300)
    parser.add_argument("--profile", action="store_true", help="where the time goes, instead of how much it is")
    chosen = parser.parse_args()
    print(machine())
    print(
        f"{EXECUTORS:,} executors of {CORES} slots, {len(QUERIES)} queries, {2 * WIDE:,} tasks a batch in one of them; "
        f"{os.getloadavg()[0]:.0f} processes run already"
    )
    for journal in (False,) if chosen.profile else (False, True):
        with jvm(("-Xmx1g",)) as gateway, TemporaryDirectory() as folder:
            run(gateway, chosen.ticks, Path(folder) / "journal" if journal else None, profile=chosen.profile)


def run(gateway: Any, ticks: int, folder: Path | None, *, profile: bool) -> None:
    """So many ticks, and what they took."""
    player = EventPlayer(gateway, lambda loader: scale_queries(gateway, loader))
    clock = VirtualClock(utc_s=player.utc_ms / 1000)
    platform = ScalePlatform(player, clock)
    settings = resolve(
        {"policy": "lag-proportional", "executors.max": EXECUTORS}, {}, {}, None, defaults=live_guards()
    ).settings
    planner = Planner(policies.build(settings.policy, {}), settings.build_guards(), PROVIDES)
    controller = Controller(platform=platform, planner=planner, clock=clock, tick_s=TICK_S)
    recorder = None
    if folder is not None:
        header = describe(planner, platform, policy=settings.policy, tick_s=TICK_S, max_age_s=15.0, utc_s=clock.utc_s())
        recorder = WatchedRecorder(folder, planner=planner, header=header)
        controller.journals = [BackgroundRecorder(recorder).open()]
    load, driver, took, held = Load(player, player.queries), Driver(gateway), [], []
    profiler = cProfile.Profile(time.thread_time)
    spent = []
    troubles: set[str] = set()
    for number in range(ticks):
        load.pass_tick()
        clock.sleep_until(TICK_S * (number + 1))
        if profile and number >= ticks // 2:
            profiler.enable()
        began_s, cpu_s = time.perf_counter(), driver.cpu_s()
        with pause_collector():
            tick = controller.tick()
        took.append((time.perf_counter() - began_s) * 1000)
        spent.append((driver.cpu_s() - cpu_s) * 1000)
        profiler.disable()
        troubles.update(tick.troubles)
        if recorder is not None:
            recorder.wait()
        if number in (ticks // 3, ticks - 1):
            held.append((driver.heap(), driver.python()))
    controller.close()
    platform.close()
    tell(took, spent, held, platform.bytes, "off" if folder is None else "on")
    if recorder is not None:
        median, p99 = statistics.median(recorder.took_ms), statistics.quantiles(recorder.took_ms, n=100)[98]
        print(f"written between two ticks, ms: {median:.0f} at the median, {p99:.0f} at p99")
    for trouble in sorted(troubles):
        print(f"trouble: {trouble}")
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(60)


def tell(
    took: Sequence[float],
    spent: Sequence[float],
    held: Sequence[tuple[float, float]],
    look_bytes: int,
    journal: str,
) -> None:
    """Without the first ticks, in which the JVM compiles. A shared machine takes longer than it computes."""
    first = min(20, len(took) // 4)
    for what, times in (("by the clock", took), ("of processor time", spent)):
        steady = sorted(times[first:])
        p99 = statistics.quantiles(steady, n=100)[98]
        verdict = "met" if p99 < GOAL_MS else "MISSED"
        print(
            f"tick, journal {journal}, ms {what}: {statistics.median(steady):.0f} at the median, {p99:.0f} at p99, "
            f"{steady[-1]:.0f} at most of {len(steady)}   goal {GOAL_MS:.0f}: {verdict}"
        )
    (heap, python), (heap_end, python_end) = held[0], held[-1]
    print(
        f"memory after a third and at the end: JVM's heap {heap:.0f} and {heap_end:.0f} MB, "
        f"Python {python:.0f} and {python_end:.0f} MB; a look has {look_bytes / 1024:.0f} KiB"
    )


def live_guards() -> dict[str, Any]:
    """As a live run has them."""
    from elastream.attachment.assembly import CALMING, GUARDS

    return {**GUARDS, f"guards.{CALMING}": True}


def scale_queries(gateway: Any, loader: Any) -> tuple[Any, Any]:
    """What moves the queries, and the real class that asks them."""
    source = Path(__file__).with_name("ScaleQueries.java")
    made = compile_beside(gateway, loader, source, "elastream.testing.ScaleQueries")
    queries = make(gateway, "Queries", made)
    logs = compile_beside(gateway, loader, source, "elastream.testing.ScaleQueries$Logs")
    queries.askLogs("KafkaMicroBatchStream", logs)
    return made, queries


if __name__ == "__main__":
    main()
