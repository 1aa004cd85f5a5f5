"""From looks to observations: a recording read as the live platform will have to read a query.

Totals are kept over all looks, since a line holds only what is new. An observation has the time at which its look
ended, so that nothing in it lies ahead of it; what is known from a finished batch or stage carries its end. What Spark
does not tell stays None, and README.md says why.
"""

import json
import re
from bisect import insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from elastream.core.observation import (
    FinishedBatch,
    KeyedState,
    Observation,
    OperatorWork,
    Phase,
    Pool,
    Query,
    Reading,
    ReadLimit,
    RunningBatch,
    Source,
    Trigger,
    Worker,
)
from elastream.core.topology import Edge, Operator, Topology
from elastream.estimators.delay import DelayWindow, Stretch

Json = dict[str, Any]
POOL = "executors"
DELAY_WINDOW_S = 60.0


class Recording(NamedTuple):
    """The first line of a file and the others."""

    header: Json
    looks: list[Json]


def read(file: Path) -> Recording:
    header, *looks = (json.loads(line) for line in file.read_text().splitlines())
    return Recording(header, looks)


def observations(recording: Recording) -> list[Observation]:
    """One observation per look."""
    known = Known(recording)
    return [known.observe(look) for look in recording.looks]


@dataclass(slots=True)
class Part:
    """What a plan holds between exchanges: it runs as one stage, and we call it an operator."""

    name: str = ""
    feeds: "Part | None" = None
    nodes: list[str] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)
    own: set[int] = field(default_factory=set)
    """Ids of the metrics of its nodes."""
    reads: set[int] = field(default_factory=set)
    """Ids of the metrics of the exchanges it reads."""

    @property
    def stateful(self) -> bool:
        return any("StateStore" in node or "SymmetricHashJoin" in node for node in self.nodes)


def parts_of(nodes: Sequence[tuple[int, str]], metrics: Sequence[list[int]]) -> list[Part]:
    """Cuts a plan, given in order and with depths, at its exchanges; the part that writes comes first."""
    parts, leaves = [Part()], 0
    above = [(-1, parts[0])]
    following = [*(depth for depth, _ in nodes[1:]), 0]
    for (depth, node), ids, next_depth in zip(nodes, metrics, following, strict=True):
        while above[-1][0] >= depth:
            above.pop()
        part = above[-1][1]
        if node == "Exchange":
            part.reads.update(ids)
            part = Part(feeds=part)
            parts.append(part)
        else:
            part.nodes.append(node)
            part.own.update(ids)
            if next_depth <= depth:
                part.leaves.append(leaves)
                leaves += 1
        above.append((depth, part))
    for place, part in enumerate(parts):
        part.name = _name(part, place)
    return parts


def _name(part: Part, place: int) -> str:
    # A source without new data leaves another node in its place, so leaves are told apart by their order alone.
    if part.leaves:
        return "-".join(["read", *map(str, part.leaves)])
    kinds = {"SymmetricHashJoin": "join", "StateStoreSave": "aggregate"}
    kind = next((name for mark, name in kinds.items() if any(mark in node for node in part.nodes)), "work")
    return f"{kind}-{place}"


def part_with(ids: set[int], parts: Sequence[Part]) -> Part | None:
    """The part whose metrics a stage has updated; a stage that only reads an exchange shows by that alone."""
    found = max(parts, key=lambda part: len(ids & part.own))
    if ids & found.own:
        return found
    return next((part for part in parts if ids & part.reads), None)


@dataclass(slots=True)
class Stage:
    """One attempt at a stage: the latest that was seen of it."""

    seen: Json
    job: Json | None = None
    ids: set[int] | None = None
    """Ids of its metrics, known when it has ended."""
    judged: bool = False
    operator: str | None = None

    @property
    def ended(self) -> bool:
        return self.seen["status"] in ("COMPLETE", "FAILED")

    def batch_of(self, query: str) -> int | None:
        """The batch it belongs to, if it is one of that query."""
        if self.job is None or self.job["sql.streaming.queryId"] != query:
            return None
        return int(self.job["streaming.sql.batchId"])

    @property
    def is_of_no_query(self) -> bool:
        return self.job is not None and self.job["sql.streaming.queryId"] is None

    @property
    def busy_s(self) -> float:
        """Time for which its ended tasks held a slot."""
        times = ("executorRunTime", "executorDeserializeTime", "resultSerializationTime")
        return float(sum(self.seen[name] for name in times)) / 1000

    @property
    def useful_s(self) -> float:
        return max(0.0, self.busy_s - float(self.seen["shuffleFetchWaitTime"]) / 1000)

    @property
    def records_in(self) -> int:
        return int(self.seen["inputRecords"] + self.seen["shuffleReadRecords"])


def utc_s(text: str) -> float:
    return datetime.fromisoformat(text.replace("GMT", "Z")).timestamp()


def count(offset: Any) -> float | None:
    """Records before an offset, if it counts records; those of files count batches."""
    if not isinstance(offset, dict):
        return None
    return next((float(offset[key]) for key in ("records", "offset") if key in offset), None)


def rows_between(start: Any, end: Any) -> float | None:
    """Records between two offsets; there is none before the first offset."""
    if start == end:
        return 0.0
    first, last = count(start) if start is not None else 0.0, count(end)
    return None if first is None or last is None else last - first


def read_limit(text: str | None) -> ReadLimit | None:
    if text is None:
        return None
    for pattern, unit in ((r"(?:MaxRows: |\"max_rows\": )(\d+)", "records"), (r"MaxFiles: (\d+)", "files")):
        if found := re.search(pattern, text):
            return ReadLimit(float(found[1]), "files" if unit == "files" else "records")
    return None


class Curve:
    """How many records had arrived by when, as far as a source reported it."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float]] = []

    def add(self, at_s: float, records: float) -> None:
        if (at_s, records) not in self.points:
            insort(self.points, (at_s, records))

    def arrived_s(self, number: float) -> float | None:
        """When a record arrived, between the two reports around it; None for what was there before the first."""
        for (from_s, low), (to_s, high) in pairwise(self.points):
            if low < number <= high:
                return from_s + (number - low) / (high - low) * (to_s - from_s)
        return None

    def delays(self, first: float, last: float, committed_s: float) -> Iterator[Stretch]:
        """Delays of the records after number `first` up to number `last`, if it is known when they came."""
        for (from_s, low), (to_s, high) in pairwise(self.points):
            start, end = max(first, low), min(last, high)
            if start < end:
                per_record_s = (to_s - from_s) / (high - low)
                longest_s = committed_s - from_s - (start - low) * per_record_s
                yield Stretch(committed_s, longest_s - (end - start) * per_record_s, longest_s, end - start)


@dataclass(slots=True)
class Batch:
    """A finished batch."""

    progress: Json
    started_s: float

    @property
    def ended_s(self) -> float:
        return self.started_s + float(self.progress["durationMs"]["triggerExecution"]) / 1000

    @property
    def is_foreach(self) -> bool:
        return str(self.progress["sink"]["description"]).startswith("ForeachBatchSink")

    def rows(self, place: int) -> float | None:
        """Records read from one source; Spark's own count is doubled where foreachBatch reads twice."""
        source = self.progress["sources"][place]
        rows = rows_between(source["startOffset"], source["endOffset"])
        return float(source["numInputRows"]) if rows is None and not self.is_foreach else rows


class Executors:
    """The pool, and what has to be remembered of its executors between looks."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._summaries: dict[str, Json] = {}
        self._first_seen_s: dict[str, float] = {}
        self._registered: set[str] = set()
        self._cpu: dict[str, tuple[float, float]] = {}

    def pool(self, seen: Json, now_s: float) -> Pool:
        self._summaries |= seen["summaries"]
        self._registered.update(seen["registered"])
        # One that was registered and is not any more has left, even if its process is still there for a moment.
        starting = sorted(seen["processes"].keys() - self._registered)
        workers = tuple(self._worker(name, seen, now_s) for name in [*seen["registered"], *starting])
        return Pool(
            name=POOL,
            slots_per_worker=self._slots,
            # The bounds are the user's, and the recorder decided what it requested.
            min_workers=1,
            max_workers=3,
            wanted=seen["requested"],
            requested=seen["requested"],
            ready=len(seen["active"]),
            leaving=len(set(seen["registered"]).difference(seen["active"])),
            workers=workers,
            busy_slot_s=Reading(sum(summary["totalDuration"] for summary in self._summaries.values()) / 1000, now_s),
        )

    def _worker(self, name: str, seen: Json, now_s: float) -> Worker:
        process, summary = seen["processes"].get(name), self._summaries.get(name)
        cpu = None if process is None else self._cpu_use(name, process["jvm_cpu_s"] + process["python_cpu_s"], now_s)
        memory = None if process is None else Reading(process["jvm_rss"] + process["python_rss"], now_s)
        here = name in seen["registered"]
        return Worker(
            id=name,
            state="ready" if name in seen["active"] else "leaving" if here else "starting",
            since_s=self._first_seen_s.setdefault(name, now_s),
            node=None if summary is None else summary["hostPort"].split(":")[0],
            # The status store hears of a task's start before it hears of another's end.
            running_tasks=None if summary is None else min(summary["activeTasks"], summary["maxTasks"]),
            cpu=cpu,
            cpu_from=None if cpu is None else "proc",
            memory_bytes=memory,
        )

    def _cpu_use(self, name: str, used_s: float, now_s: float) -> Reading | None:
        before = self._cpu.get(name)
        self._cpu[name] = used_s, now_s
        # A Python worker that was killed takes its time with it.
        if before is None or used_s < before[0]:
            return None
        return Reading((used_s - before[0]) / (now_s - before[1]) / self._slots, now_s)


class Known:
    """What is remembered of one query between looks."""

    def __init__(self, recording: Recording) -> None:
        first = recording.looks[0]
        self._name = str(recording.header["name"])
        every = re.fullmatch(r"processing time (\d+) s", recording.header["trigger"])
        self._trigger = Trigger(interval_s=float(every[1]) if every else None)
        # Once for all: anew at each look, the same moment would differ by a millisecond or two.
        self._ahead_s = float(first["utc_s"] - first["at_s"])
        self._began_s = float(first["at_s"])
        self._identity = (str(first["query"]["id"]), str(first["query"]["name"]))
        self._executors = Executors(recording.header["cores_per_executor"])
        self._sources: list[Json] = []
        self._curves: dict[int, Curve] = {}
        self._delays = DelayWindow(DELAY_WINDOW_S)
        self._batches: dict[int, Batch] = {}
        self._jobs: dict[int, Json] = {}
        self._stages: dict[tuple[int, int], Stage] = {}
        self._nodes: list[tuple[int, str]] = []
        self._plans: dict[int, list[Part]] = {}
        self._parts: list[Part] = []

    def observe(self, look: Json) -> Observation:
        now_s = look["at_s"] + look["look_ms"] / 1000
        self._take_sources(look["query"])
        self._take_batches(look["query"])
        self._take_stages(look)
        self._judge_stages(look)
        pool = self._executors.pool(look["executors"], now_s)
        foreign = sum(stage.seen["numActiveTasks"] for stage in self._stages.values() if stage.is_of_no_query)
        return Observation(
            at_s=now_s,
            utc_s=look["utc_s"] + look["look_ms"] / 1000,
            application=self._name,
            pools=(pool,),
            queries=(self._query(look, now_s),),
            other_busy_slots=Reading(min(foreign, pool.slots), now_s),
        )

    def _monotonic(self, utc_s: float) -> float:
        return utc_s - self._ahead_s

    def _take_sources(self, query: Json) -> None:
        self._sources = query.get("sources", self._sources)
        live = query["live"]
        for place, latest in enumerate(live["latestOffsets"]):
            self._note_arrival(place, live["currentTriggerStartTimestamp"] / 1000, latest)

    def _note_arrival(self, place: int, utc_s: float, latest: Any) -> None:
        # The source was asked when the trigger started, however long ago that is.
        if (arrived := count(latest)) is not None:
            self._curves.setdefault(place, Curve()).add(self._monotonic(utc_s), arrived)

    def _take_batches(self, query: Json) -> None:
        for progress in query.get("progress", []):
            started = utc_s(progress["timestamp"])
            batch = self._batches[progress["batchId"]] = Batch(progress, self._monotonic(started))
            for place, source in enumerate(progress["sources"]):
                self._note_arrival(place, started, source["latestOffset"])
            if self._all_arrivals_known:
                for place, source in enumerate(progress["sources"]):
                    first, last = count(source["startOffset"]) or 0.0, count(source["endOffset"]) or 0.0
                    self._delays.add(self._curves[place].delays(first, last, batch.ended_s))

    @property
    def _all_arrivals_known(self) -> bool:
        return bool(self._sources) and len(self._curves) == len(self._sources)

    def _take_stages(self, look: Json) -> None:
        for job in look.get("jobs", []):
            self._jobs |= dict.fromkeys(job["stageIds"], job)
        for seen in look.get("stages", []):
            self._stages.setdefault((seen["stageId"], seen["attemptId"]), Stage(seen)).seen = seen
        for metrics in look.get("stage_metrics", []):
            self._stages[metrics["stageId"], metrics["attemptId"]].ids = set(metrics["ids"])
        for (number, _), stage in self._stages.items():
            stage.job = self._jobs.get(number)
        if plan := look.get("plan"):
            self._nodes = [(depth, name) for depth, name in plan.get("nodes", self._nodes)]
            parts = self._plans[plan["batchId"]] = parts_of(self._nodes, plan["metrics"])
            if len(parts) >= len(self._parts):
                self._parts = parts

    def _judge_stages(self, look: Json) -> None:
        """Gives every stage that has ended to an operator, or for good to none: totals are not to fall."""
        for stage in self._stages.values():
            batch = stage.batch_of(self._identity[0])
            if stage.judged or not stage.ended or batch is None:
                continue
            parts = self._plans.get(batch)
            if parts is not None and stage.ids is not None:
                part = part_with(stage.ids, parts)
                stage.operator, stage.judged = part.name if part else None, True
            elif batch in self._batches or not look["query"]["isActive"]:
                stage.judged = True

    def _query(self, look: Json, now_s: float) -> Query:
        seen, last = look["query"], self._last_batch
        running = self._running(look)
        watermark_ms = seen["live"]["batchWatermarkMs"]
        return Query(
            id=self._identity[0],
            name=self._identity[1],
            phase=self._phase(seen, running),
            topology=self._topology(),
            trigger=self._trigger,
            sources=tuple(self._source(place, look) for place in range(len(self._sources))),
            operators=tuple(self._work(part) for part in self._parts),
            running=running,
            finished=None if last is None else self._finished(last),
            batches=Reading(0.0 if last is None else last.progress["batchId"] + 1.0, self._last_end_s),
            driver_s=self._driver_s(),
            other_s=self._total_s([s for s in self._stages.values() if s.judged and s.operator is None]),
            state=None if last is None else _state(last),
            delay=self._delays.at(now_s) if self._all_arrivals_known else None,
            # Zero is how Spark says that there is none yet.
            watermark_utc_s=Reading(watermark_ms / 1000, look["at_s"]) if watermark_ms else None,
            error=seen.get("exception"),
        )

    @property
    def _last_batch(self) -> Batch | None:
        return self._batches[max(self._batches)] if self._batches else None

    @property
    def _last_end_s(self) -> float:
        return self._last_batch.ended_s if self._last_batch else self._began_s

    def _phase(self, seen: Json, running: RunningBatch | None) -> Phase:
        status = seen["status"]
        if not seen["isActive"]:
            return "terminated"
        if running is not None:
            return "running"
        if not status["isTriggerActive"]:
            if not self._batches:
                return "starting"
            return "between-triggers" if status["isDataAvailable"] else "no-data"
        # A trigger that has nothing in hand yet. Without an interval it is pulled all the time while there is no data.
        ended = seen["live"]["isCurrentBatchConstructed"]
        return "between-triggers" if ended or self._trigger.interval_s is not None else "no-data"

    def _running(self, look: Json) -> RunningBatch | None:
        seen, live = look["query"], look["query"]["live"]
        number, before, after = live["batchId"], live["committedOffsets"], live["availableOffsets"]
        if not (seen["isActive"] and seen["status"]["isTriggerActive"]) or number in self._batches:
            return None
        # One that is only being planned has its offsets; one that only cleans up state has none of its own.
        if not live["isCurrentBatchConstructed"] and before == after:
            return None
        rows = [rows_between(*offsets) for offsets in zip(before, after, strict=True)]
        stages = [stage for stage in self._stages_of(number) if not self._is_passed_over(stage)]
        return RunningBatch(
            id=number,
            started_s=self._monotonic(live["currentTriggerStartTimestamp"] / 1000),
            rows=_sum(rows),
            tasks=sum(stage.seen["numTasks"] for stage in stages) if stages else None,
            tasks_done=sum(stage.seen["numCompleteTasks"] for stage in stages) if stages else None,
        )

    def _stages_of(self, batch: int) -> list[Stage]:
        return [stage for stage in self._stages.values() if stage.batch_of(self._identity[0]) == batch]

    def _is_passed_over(self, stage: Stage) -> bool:
        """Whether a stage has been skipped or will be: one that its job needs later has already begun."""
        if stage.seen["status"] != "PENDING":
            return bool(stage.seen["status"] == "SKIPPED")
        later = [s for s in self._stages.values() if s.job is stage.job and s.seen["stageId"] > stage.seen["stageId"]]
        return any(other.ended or other.seen["status"] == "ACTIVE" for other in later)

    def _finished(self, batch: Batch) -> FinishedBatch:
        stages = self._stages_of(batch.progress["batchId"])
        parts = {name: ms / 1000 for name, ms in batch.progress["durationMs"].items() if name != "triggerExecution"}
        places = range(len(batch.progress["sources"]))
        return FinishedBatch(
            id=batch.progress["batchId"],
            started_s=batch.started_s,
            ended_s=batch.ended_s,
            rows=_sum([batch.rows(place) for place in places]),
            busy_s=sum(stage.busy_s for stage in stages) if self._is_complete(batch) else None,
            limited=self._limited(batch, places),
            parts_s=parts,
        )

    def _is_complete(self, batch: Batch) -> bool:
        """Whether the status store has caught up with a finished batch."""
        return all(s.ended or s.seen["status"] == "SKIPPED" for s in self._stages_of(batch.progress["batchId"]))

    def _limited(self, batch: Batch, places: Sequence[int]) -> bool | None:
        verdicts = [self._source_limited(batch, place) for place in places]
        return True if True in verdicts else None if None in verdicts else False

    def _source_limited(self, batch: Batch, place: int) -> bool | None:
        limit, rows = read_limit(self._sources[place]["readLimit"]), batch.rows(place)
        if limit is None:
            return False
        return None if limit.unit != "records" or rows is None else rows >= limit.most

    def _driver_s(self) -> Reading:
        total_s, at_s = 0.0, self._began_s
        for number, batch in sorted(self._batches.items()):
            if not self._is_complete(batch):
                break
            spans = [
                (utc_s(stage.seen["submissionTime"]), utc_s(stage.seen["completionTime"]))
                for stage in self._stages_of(number)
                if stage.ended
            ]
            total_s += max(0.0, batch.ended_s - batch.started_s - united_s(spans))
            at_s = batch.ended_s
        return Reading(total_s, at_s)

    def _source(self, place: int, look: Json) -> Source:
        described, live = self._sources[place], look["query"]["live"]
        committed = self._committed(place, live, look["at_s"])
        curve = self._curves.get(place)
        arrived = None if curve is None else Reading(curve.points[-1][1], curve.points[-1][0])
        return Source(
            name=f"source-{place}",
            read_limit=read_limit(described["readLimit"]),
            arrived=arrived,
            arrived_from=None if arrived is None else "reported",
            committed=committed,
            backlog_age_s=self._backlog_age(curve, committed, look["at_s"]) if curve and committed else None,
            partitions=None if _reads_files(described) else self._tasks(f"read-{place}"),
        )

    def _committed(self, place: int, live: Json, at_s: float) -> Reading | None:
        batch = self._last_batch
        if batch is None:
            return Reading(0.0, at_s)
        known = count(live["committedOffsets"][place])
        if known is None:
            total = _sum([batch.rows(place) for batch in self._batches.values()])
            return None if total is None else Reading(total, batch.ended_s)
        # A batch may end while we look: its progress is there and the live offset is still the one before.
        ended = Reading(count(batch.progress["sources"][place]["endOffset"]) or 0.0, batch.ended_s)
        return max(Reading(known, at_s), ended)

    def _backlog_age(self, curve: Curve, committed: Reading, at_s: float) -> Reading | None:
        asked_s, arrived = curve.points[-1]
        if arrived <= committed.value:
            # Unknown until the source has been asked again: much may have come while the batch ran.
            return Reading(0.0, asked_s) if asked_s > self._last_end_s else None
        arrived_s = curve.arrived_s(committed.value + 1)
        return None if arrived_s is None else Reading(at_s - arrived_s, at_s)

    def _topology(self) -> Topology:
        """Empty until the first batch has been planned."""
        return Topology(
            operators=tuple(
                Operator(name=part.name, pool=POOL, partitions=self._partitions(part), stateful=part.stateful)
                for part in self._parts
            ),
            edges=tuple(Edge(part.name, part.feeds.name) for part in self._parts if part.feeds is not None),
        )

    def _partitions(self, part: Part) -> int | None:
        batch = self._last_batch
        if part.stateful and batch is not None:
            return max(int(state["numShufflePartitions"]) for state in batch.progress["stateOperators"])
        # How files are cut follows the files at hand, and is no ceiling.
        if any(place < len(self._sources) and _reads_files(self._sources[place]) for place in part.leaves):
            return None
        return self._tasks(part.name)

    def _tasks(self, operator: str) -> int | None:
        tasks = [stage.seen["numTasks"] for stage in self._stages_by(operator)]
        return int(tasks[-1]) if tasks else None

    def _stages_by(self, operator: str) -> list[Stage]:
        return [stage for stage in self._stages.values() if stage.operator == operator]

    def _work(self, part: Part) -> OperatorWork:
        stages = self._stages_by(part.name)
        busy_s = self._total_s(stages)
        written = sum(stage.seen["shuffleWriteRecords"] for stage in stages)
        return OperatorWork(
            name=part.name,
            tasks=self._tasks(part.name),
            records_in=Reading(sum(stage.records_in for stage in stages), busy_s.at_s),
            records_out=self._sunk() if part.feeds is None else Reading(written, busy_s.at_s),
            busy_s=Reading(sum(stage.useful_s for stage in stages), busy_s.at_s),
        )

    def _sunk(self) -> Reading | None:
        """What the sink was given; unknown for foreachBatch, whose jobs are the user's own."""
        rows = [batch.progress["sink"]["numOutputRows"] for batch in self._batches.values()]
        return None if not rows or min(rows) < 0 else Reading(sum(rows), self._last_end_s)

    def _total_s(self, stages: Sequence[Stage]) -> Reading:
        ends = [self._monotonic(utc_s(stage.seen["completionTime"])) for stage in stages]
        # Of a batch that is over it is known what ran in it, and also what did not.
        batches = [batch.ended_s for batch in self._batches.values() if self._is_complete(batch)]
        return Reading(sum(stage.busy_s for stage in stages), max([self._began_s, *ends, *batches]))


def _sum(rows: Sequence[float | None]) -> float | None:
    """All of them, or None if one is unknown."""
    known = [number for number in rows if number is not None]
    return sum(known) if len(known) == len(rows) else None


def united_s(spans: Sequence[tuple[float, float]]) -> float:
    """Time covered by at least one span."""
    total, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


def _reads_files(described: Json) -> bool:
    return str(described["class"]).endswith("FileStreamSource")


def _state(batch: Batch) -> KeyedState | None:
    stores = batch.progress["stateOperators"]
    if not stores:
        return None

    def total(key: str) -> float:
        return float(sum(store[key] for store in stores))

    # Spark does not name the store, but each has metrics of its own.
    marks = {"rocksdb": "rocksdbGetCount", "hdfs": "loadedMapCacheHitCount"}
    return KeyedState(
        store=next((name for name, mark in marks.items() if mark in stores[0]["customMetrics"]), None),
        rows=Reading(total("numRowsTotal"), batch.ended_s),
        bytes=Reading(total("memoryUsedBytes"), batch.ended_s),
        commit_s=Reading(total("commitTimeMs") / 1000, batch.ended_s),
    )
