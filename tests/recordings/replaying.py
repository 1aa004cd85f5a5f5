"""Recordings, folded by the product's own code as the live platform folds them."""

import gzip
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from elastream.core.observation import FinishedBatch, Observation, OperatorWork, Query, Reading
from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.host_usage import Usage
from elastream.spark.observe.observer import Observer
from elastream.spark.scale.roster import Registered

HERE = Path(__file__).parent
FOREACH, FAST, WINDOW, JOIN, UDF = NAMES = (
    "foreach-batch",
    "as-fast-as-possible",
    "stateful-window",
    "stream-join",
    "python-udf",
)


@dataclass(frozen=True)
class Sizes:
    """What was asked for. Implements PoolSizes."""

    requested: int
    room: int | None = None

    @property
    def wanted(self) -> int:
        return self.requested


@dataclass(frozen=True)
class Replayed:
    """One line of a recording, and what the product makes of it."""

    truth: dict[str, float]
    look: Snapshot
    now: Observation


@cache
def replay(name: str) -> list[Replayed]:
    """A recording, look by look."""
    lines = gzip.decompress((HERE / f"{name}.jsonl.gz").read_bytes()).decode().splitlines()
    usage: dict[str, Usage] = {}
    observer = Observer(application=name, bounds=(1, 4), slots_per_worker=1, usage=lambda: usage)
    found = []
    for line in map(json.loads, lines):
        usage.clear()
        usage |= {one: Usage(pid=1, cpu_s=cpu, memory_bytes=size) for one, (cpu, size) in line["usage"].items()}
        look = parse_snapshot(json.dumps(line["look"]))
        pool: dict[str, Any] = line["pool"]
        registered = Registered(tuple(pool["ids"]), tuple(pool["leaving"]))
        sizes = Sizes(pool["requested"])
        now = observer.fold(look, registered, sizes, at_s=line["at_s"], utc_s=look.utc_s)
        found.append(Replayed(line["truth"], look, now))
    assert observer.malformed == 0
    return found


def looks(name: str) -> list[Observation]:
    return [one.now for one in replay(name)]


def queries(name: str) -> list[Query]:
    return [now.queries[0] for now in looks(name) if now.queries]


def finished(name: str) -> dict[int, FinishedBatch]:
    return {query.finished.id: query.finished for query in queries(name) if query.finished is not None}


def progresses(name: str) -> list[Any]:
    return [event.progress for one in replay(name) for event in one.look.events if event.progress is not None]


def last_work(name: str) -> dict[str, OperatorWork]:
    return {work.name: work for work in queries(name)[-1].operators}


def value(reading: Reading | None) -> float:
    assert reading is not None
    return reading.value
