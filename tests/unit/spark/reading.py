"""Recorded looks, folded as the live platform folds them."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elastream.core.observation import Observation, Query
from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.observer import Observer
from elastream.spark.scale.roster import Registered

FOLDER = Path(__file__).parent / "looks"
NAMES = sorted(file.stem for file in FOLDER.glob("*.jsonl"))


@dataclass(frozen=True)
class FixedSizes:
    wanted: int = 2
    requested: int = 2
    room: int | None = None


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text().splitlines()]


def observing() -> Observer:
    return Observer(application="recorded", bounds=(1, 4), slots_per_worker=1, usage=dict)


def fold(observing: Observer, look: Snapshot, at_s: float) -> Observation:
    here = tuple(name for name, executor in look.executors.items() if executor.removed_s is None)
    return observing.fold(look, Registered(here, ()), FixedSizes(), at_s=at_s, utc_s=look.utc_s)


def folded(name: str) -> list[tuple[dict[str, Any], Snapshot, Observation]]:
    """The truth, the look and the observation of every line. Our clock begins at 1000 s with the first."""
    known, found = observing(), []
    recorded = [(line["truth"], parse_snapshot(json.dumps(line["look"]))) for line in lines(name)]
    zero_s = recorded[0][1].utc_s - 1000.0
    for truth, look in recorded:
        found.append((truth, look, fold(known, look, look.utc_s - zero_s)))
    return found


def queries(name: str, query: str) -> list[Query]:
    """One query of a recording, look by look."""
    return [one for _, _, now in folded(name) for one in now.queries if one.name == query]
