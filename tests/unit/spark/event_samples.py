"""Events as Spark writes them, of an application with one query."""

import json
from datetime import UTC, datetime
from typing import Any

BEGAN_S = 1_767_268_800.0
STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
DYNAMIC = {"enabled": "true", "maxExecutors": "6"}
QUERY = "4b2d6c1e-0000-4000-8000-000000000001"


def ms(at_s: float) -> int:
    return round((BEGAN_S + at_s) * 1000)


def batch(number: int, at_s: float, rows: int, *, workers: int = 2, task_s: float = 2.0) -> list[dict[str, Any]]:
    """Two stages of as many tasks as there are executors: what is read and written, then what is counted."""
    first, properties = 2 * number, {"sql.streaming.queryId": QUERY, "streaming.sql.batchId": str(number)}
    stages = [{"Stage ID": first, "Parent IDs": []}, {"Stage ID": first + 1, "Parent IDs": [first]}]
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerJobStart", "Stage IDs": [first, first + 1], "Properties": properties},
        *(
            {"Event": "SparkListenerStageSubmitted", "Stage Info": {**one, "Number of Tasks": workers}}
            for one in stages
        ),
    ]
    for stage in (0, 1):
        for worker in range(workers):
            began_s = at_s + 0.2 + stage * task_s
            metrics: dict[str, Any] = {"Executor Run Time": 1}
            if stage == 0:
                metrics["Input Metrics"] = {"Bytes Read": 1, "Records Read": rows // workers}
                metrics["Shuffle Write Metrics"] = {"Shuffle Records Written": rows // workers}
            else:
                metrics["Shuffle Read Metrics"] = {"Total Records Read": rows // workers}
            events.append(
                {
                    "Event": "SparkListenerTaskEnd", "Stage ID": first + stage, "Stage Attempt ID": 0,
                    "Task End Reason": {"Reason": "Success"}, "Task Metrics": metrics,
                    "Task Info": {
                        "Task ID": 4 * number + 2 * stage + worker, "Executor ID": str(worker), "Failed": False,
                        "Launch Time": ms(began_s), "Finish Time": ms(began_s + task_s), "Killed": False,
                    },
                }
            )  # fmt: skip
    return [*events, progress(number, at_s, rows, 2 * task_s + 0.5)]


def progress(number: int, at_s: float, rows: int, duration_s: float) -> dict[str, Any]:
    stamp = datetime.fromtimestamp(BEGAN_S + at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    source = {"description": "RateStreamV2[rowsPerSecond=100]", "numInputRows": rows, "startOffset": 0, "endOffset": 1}
    return {
        "Event": f"{STREAMING}QueryProgressEvent",
        "progress": {
            "id": QUERY, "runId": QUERY, "name": "words", "timestamp": stamp, "batchId": number,
            "durationMs": {"triggerExecution": round(duration_s * 1000), "addBatch": 4200, "walCommit": 100},
            "stateOperators": [], "sources": [source], "sink": {"description": "console"},
        },
    }  # fmt: skip


def application(batches: int = 40, *, every_s: float = 10.0) -> list[dict[str, Any]]:
    """Two executors, a third from the middle on; a batch every ten seconds, of 1,000 to 3,000 rows in turn."""
    events: list[dict[str, Any]] = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"},
        {"Event": "SparkListenerApplicationStart", "App Name": "clicks", "App ID": "app-1", "Timestamp": ms(-20)},
        {
            "Event": "SparkListenerEnvironmentUpdate",
            "Spark Properties": {f"spark.dynamicAllocation.{key}": value for key, value in DYNAMIC.items()},
        },
        added("driver", -20, 0), added("0", -10), added("1", -10),
    ]  # fmt: skip
    for number in range(batches):
        if number == batches // 2:
            events.append(added("2", number * every_s))
        events += batch(number, number * every_s, 1000 * (1 + number % 3))
    return events


def added(name: str, at_s: float, cores: int = 1) -> dict[str, Any]:
    return {
        "Event": "SparkListenerExecutorAdded", "Timestamp": ms(at_s), "Executor ID": name,
        "Executor Info": {"Host": "localhost", "Total Cores": cores, "Resource Profile Id": 0},
    }  # fmt: skip


def written(events: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)
