"""One look at a query and its application: everything that a driver can see of them."""

import json
import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from tests.recordings.workloads import Stage

Json = dict[str, Any]
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

STAGE_FIELDS = [
    "stageId",
    "attemptId",
    "status",
    "name",
    "numTasks",
    "numActiveTasks",
    "numCompleteTasks",
    "numFailedTasks",
    "numKilledTasks",
    "submissionTime",
    "firstTaskLaunchedTime",
    "completionTime",
    "failureReason",
    "executorRunTime",
    "executorCpuTime",
    "executorDeserializeTime",
    "resultSerializationTime",
    "jvmGcTime",
    "inputRecords",
    "inputBytes",
    "outputRecords",
    "outputBytes",
    "shuffleReadRecords",
    "shuffleReadBytes",
    "shuffleFetchWaitTime",
    "shuffleWriteTime",
    "shuffleWriteRecords",
    "shuffleWriteBytes",
    "memoryBytesSpilled",
    "diskBytesSpilled",
]
EXECUTOR_FIELDS = [
    "hostPort",
    "isActive",
    "totalCores",
    "maxTasks",
    "activeTasks",
    "failedTasks",
    "completedTasks",
    "totalDuration",
    "totalGCTime",
    "totalInputBytes",
    "totalShuffleRead",
    "totalShuffleWrite",
    "memoryUsed",
    "maxMemory",
    "addTime",
    "removeTime",
    "removeReason",
]
PEAKS = ("JVMHeapMemory", "ProcessTreeJVMRSSMemory", "ProcessTreePythonRSSMemory")


class Scrubber:
    """Takes the machine out of a line: a recording must not say where it was made."""

    def __init__(self, folder: Path) -> None:
        self._rules = [
            (re.compile(re.escape(str(folder))), "/data"),
            (re.compile(rf"\b{re.escape(socket.gethostname())}\b"), "host"),
            (re.compile(r"\b(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?"), "host"),
            (re.compile(r"/(?:home|root|Users|tmp|usr|opt|var|work|mnt|private)/[^\s\"',:;)\]\\]*"), "/path"),
        ]

    def clean(self, line: str) -> str:
        for pattern, neutral in self._rules:
            line = pattern.sub(neutral, line)
        return line


class Changes:
    """Lets a value through only if it differs from the last one under that key."""

    def __init__(self) -> None:
        self._last: dict[object, object] = {}

    def new(self, key: object, value: object) -> bool:
        if self._last.get(key) == value:
            return False
        self._last[key] = value
        return True


class Events(StreamingQueryListener):
    """The life of queries as Spark announces it; 'idle' is how it says that there was nothing to read."""

    def __init__(self) -> None:
        self.seen: list[Json] = []

    def onQueryStarted(self, event: Any) -> None:
        self.seen.append({"event": "started"})

    def onQueryProgress(self, event: Any) -> None:
        self.seen.append({"event": "progress", "batchId": event.progress.batchId})

    def onQueryIdle(self, event: Any) -> None:
        self.seen.append({"event": "idle", "timestamp": event.timestamp})

    def onQueryTerminated(self, event: Any) -> None:
        self.seen.append({"event": "terminated", "exception": first_line(event.exception)})

    def drain(self) -> list[Json]:
        drained, self.seen = self.seen, []
        return drained


def first_line(text: str | None) -> str | None:
    return text.strip().splitlines()[0][:300] if text and text.strip() else None


def parsed(text: str) -> Any:
    """Offsets are JSON for most sources, and a bare string for some."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def scala_items(sequence: Any) -> Iterator[Any]:
    items = sequence.iterator()
    while items.hasNext():
        yield items.next()


class Processes:
    """Processor time and memory of this application's executors, and apart from them of their Python workers."""

    def __init__(self, application: str) -> None:
        self._application = application

    def read(self) -> dict[str, Json]:
        stats = dict(self._stats())
        executors = {pid: name for pid in stats if (name := self._executor_id(pid)) is not None}
        return {name: self._usage(pid, stats) for pid, name in sorted(executors.items())}

    def _stats(self) -> Iterator[tuple[int, list[str]]]:
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    # The command in parentheses may hold blanks; the fields after it do not.
                    yield int(entry.name), (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue

    def _executor_id(self, pid: int) -> str | None:
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            return None
        # The worker's launcher script shows the same arguments for a moment, before it becomes the executor.
        if "java" not in words[0] or self._application not in words:
            return None
        return words[words.index("--executor-id") + 1] if "--executor-id" in words else None

    def _usage(self, pid: int, stats: dict[int, list[str]]) -> Json:
        children = [child for child in stats if child != pid and self._descends(child, pid, stats)]
        return {
            "jvm_cpu_s": round(cpu_s(stats[pid], reaped=False), 2),
            "jvm_rss": rss(stats[pid]),
            "python_cpu_s": round(sum(cpu_s(stats[child], reaped=True) for child in children), 2),
            "python_rss": sum(rss(stats[child]) for child in children),
            "python_processes": len(children),
        }

    def _descends(self, child: int, ancestor: int, stats: dict[int, list[str]]) -> bool:
        while child in stats and child > 1:
            if child == ancestor:
                return True
            child = int(stats[child][1])
        return False


def cpu_s(stat: list[str], *, reaped: bool) -> float:
    """User and system time; with that of ended children, which Python's worker daemon has many of."""
    return sum(int(ticks) for ticks in stat[11 : 15 if reaped else 13]) / TICKS_PER_S


def rss(stat: list[str]) -> int:
    return int(stat[21]) * PAGE_BYTES


class Observer:
    """Looks at one query and its application, and keeps only what is new."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._context: Any = stage.spark.sparkContext._jsc.sc()
        jvm: Any = stage.spark.sparkContext._jvm
        self._json = jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper()
        gateway: Any = stage.spark.sparkContext._gateway
        self._no_quantiles = gateway.new_array(jvm.double, 0)
        self._processes = Processes(self._context.applicationId())
        self._changes = Changes()
        self._progress_seen: set[tuple[int, str]] = set()
        self._last_batch_with_jobs = -1
        # Stages from before have no known owner: a look is not to begin with them.
        self._stages()
        self._notes = compile_notes(jvm)
        self._context.addSparkListener(self._notes)
        self.events = Events()
        stage.spark.streams.addListener(self.events)

    def look(self) -> Json:
        """One line: what can be seen now, without what was the same the last time."""
        began = time.monotonic()
        line: Json = {"at_s": round(began, 3), "utc_s": round(time.time(), 3)}
        line["query"] = self._query()
        line["events"] = self.events.drain()
        line["stages"] = self._stages()
        # After the stages, so that a stage is seldom seen before the job that tells whose it is.
        notes = [note.split("\t") for note in self._notes.drain().splitlines()]
        line["jobs"] = jobs = [job(note) for note in notes if note[0] == "job"]
        batches = [int(started["streaming.sql.batchId"]) for started in jobs if started["streaming.sql.batchId"]]
        self._last_batch_with_jobs = max([self._last_batch_with_jobs, *batches])
        line["stage_metrics"] = [stage_metrics(note) for note in notes if note[0] == "stage"]
        line["plan"] = self._plan()
        line["executors"] = self._executors()
        line["look_ms"] = round((time.monotonic() - began) * 1000)
        return {key: value for key, value in line.items() if value not in (None, [], {})}

    def _as_json(self, value: Any) -> Any:
        return json.loads(self._json.writeValueAsString(value))

    def _query(self) -> Json:
        query: Any = self._stage.query
        status = query.status
        # After a failure the message is a whole stack trace.
        seen: Json = {"isActive": query.isActive, "status": status | {"message": first_line(status["message"])}}
        if self._changes.new("identity", query.runId):
            seen |= {"id": query.id, "runId": query.runId, "name": query.name}
        execution = query._jsq.streamingQuery()
        seen["live"] = self._live(execution)
        if self._changes.new("sources", sources := self._sources(execution)):
            seen["sources"] = sources
        seen["progress"] = self._progress(query)
        died = query._jsq.exception()
        if died.isDefined():
            seen["exception"] = first_line(died.get().getMessage())
        return {key: value for key, value in seen.items() if value not in (None, [], {})}

    def _live(self, execution: Any) -> Json:
        """The state of the query's own thread, read again if a batch began or ended meanwhile."""
        seen = self._live_once(execution)
        # Without data a query asks its sources every 10 ms, so that two readings may never agree.
        for _ in range(2):
            before, seen = seen, self._live_once(execution)
            if seen == before:
                break
        return seen

    def _live_once(self, execution: Any) -> Json:
        context = execution.getLatestExecutionContext()
        if context is None:
            return {}
        return {
            "batchId": context.batchId(),
            "isCurrentBatchConstructed": context.isCurrentBatchConstructed(),
            "currentTriggerStartTimestamp": context.currentTriggerStartTimestamp(),
            "committedOffsets": self._offsets(execution, execution.committedOffsets()),
            "availableOffsets": self._offsets(execution, execution.availableOffsets()),
            "latestOffsets": self._offsets(execution, execution.latestOffsets()),
            "batchWatermarkMs": context.offsetSeqMetadata().batchWatermarkMs(),
        }

    def _offsets(self, execution: Any, progress: Any) -> list[Any]:
        """One offset per source, in the order in which the progress lists its sources."""
        if progress is None:
            return []
        found = [progress.get(source) for source in scala_items(execution.sources())]
        return [parsed(offset.get().json()) if offset.isDefined() and offset.get() else None for offset in found]

    def _sources(self, execution: Any) -> list[Json]:
        # Until its first batch is being made, only the query's own thread may touch its logical plan.
        if (context := execution.getLatestExecutionContext()) is None or context.batchId() < 0:
            return []
        limits = execution.uniqueSources()
        described = []
        for leaf in scala_items(execution.logicalPlan().collectLeaves()):
            relation = leaf.getClass().getSimpleName()
            stream = leaf.stream() if relation.startswith("StreamingDataSourceV2") else leaf.source()
            limit = limits.get(stream)
            described.append(
                {
                    "relation": relation,
                    "stream": re.sub(r"@[0-9a-f]+$", "", stream.toString()),
                    "class": stream.getClass().getName(),
                    "options": self._options(leaf),
                    "readLimit": limit.get().toString() if limit.isDefined() else None,
                }
            )
        return described

    def _options(self, leaf: Any) -> Json | None:
        try:
            return dict(leaf.relation().options().asCaseSensitiveMap())
        except Exception:  # Relations of the first source interface have no options; py4j has one error for all.
            return None

    def _progress(self, query: Any) -> list[Json]:
        fresh = []
        for progress in query._jsq.recentProgress():
            key = (progress.batchId(), progress.timestamp())
            if key not in self._progress_seen:
                self._progress_seen.add(key)
                fresh.append({k: v for k, v in json.loads(progress.json()).items() if k not in ("id", "runId", "name")})
        return fresh

    def _stages(self) -> list[Json]:
        listed = self._context.statusStore().stageList(None, False, False, self._no_quantiles, None)
        changed = []
        for stage in reversed(self._as_json(listed)):
            kept = {key: stage[key] for key in STAGE_FIELDS if stage.get(key) not in (None, "")}
            if self._changes.new(("stage", stage["stageId"], stage["attemptId"]), kept):
                changed.append(kept)
        return changed

    def _plan(self) -> Json | None:
        """The plan of the batch that was planned last; ids of metrics are new in every batch, its shape seldom is."""
        query: Any = self._stage.query
        execution = query._jsq.streamingQuery().lastExecution()
        # Asked for before it exists, the physical plan would be made in this thread instead of the query's.
        if execution is None or (batch := execution.currentBatchId()) > self._last_batch_with_jobs:
            return None
        nodes = [line.split("\t") for line in self._notes.plan(execution.executedPlan()).splitlines()]
        shape = [[int(depth), name] for depth, name, _ in nodes]
        ids = [[int(number) for number in listed.split(",") if number] for _, _, listed in nodes]
        if not self._changes.new("metrics", (batch, ids)):
            return None
        plan: Json = {"batchId": batch, "executionId": execution.id(), "metrics": ids}
        if self._changes.new("shape", shape):
            plan["nodes"] = shape
        return plan

    def _executors(self) -> Json:
        backend = self._context.schedulerBackend()
        ids = sorted(scala_items(backend.getExecutorIds()), key=int)
        summaries = {}
        for executor in self._as_json(self._context.statusStore().executorList(False)):
            kept = {key: executor[key] for key in EXECUTOR_FIELDS if executor.get(key) is not None}
            kept["peaks"] = {key: executor.get("peakMemoryMetrics", {}).get(key) for key in PEAKS}
            if executor["id"] != "driver" and self._changes.new(("executor", executor["id"]), kept):
                summaries[executor["id"]] = kept
        return {
            "requested": self._stage.requested,
            "registered": ids,
            "active": [executor for executor in ids if backend.isExecutorActive(executor)],
            "decommissioning": sorted(scala_items(backend.executorsPendingDecommission().keys())),
            "summaries": summaries,
            "processes": self._processes.read(),
        }


def job(note: list[str]) -> Json:
    _, number, time_ms, stages, query, batch, execution, group = note
    return {
        "jobId": int(number),
        "time": int(time_ms),
        "stageIds": [int(stage) for stage in stages.split(",") if stage],
        "sql.streaming.queryId": query or None,
        "streaming.sql.batchId": batch or None,
        "spark.sql.execution.id": execution or None,
        "spark.jobGroup.id": group or None,
    }


def stage_metrics(note: list[str]) -> Json:
    _, stage, attempt, ids = note
    return {"stageId": int(stage), "attemptId": int(attempt), "ids": sorted(int(i) for i in ids.split(",") if i)}


def compile_notes(jvm: Any) -> Any:
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.java.lang.Thread.currentThread().getContextClassLoader())
    compiler.cook((Path(__file__).parent / "JobNotes.java").read_text())
    return compiler.getClassLoader().loadClass("recording.JobNotes").newInstance()
