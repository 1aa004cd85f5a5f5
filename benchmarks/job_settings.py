"""What the settings of a job are worth: one is changed at a time, and each value runs beside the one that we choose.

Ratios of throughput, from pairs of runs that follow each other: the machine may be shared, and what slows one run slows
its neighbour. The first line of a job compares our settings with themselves: a ratio no further from 1 than those is
noise. How long a task waits for the executor that holds its state shows only where there are executors:
`benchmarks/locality_wait.py`.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import machine
from elastream.jobs.batches import Batch
from elastream.jobs.benching import throughput_of
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.local import local_spark
from elastream.jobs.output import writer
from elastream.jobs.running import events_to_come, run_to_the_end
from elastream.jobs.settings import HDFS, settings_of

SLOTS, PAIRS, BATCHES = 2, 3, 8
JOBS = {"deduplicate": 20_000, "wordcount": 20_000}
"""Rows of a batch."""

STORE = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
RETAIN = "spark.sql.streaming.minBatchesToRetain"
PARTITIONS = "spark.sql.shuffle.partitions"
OTHERS = (
    # The control: it is what it was.
    (PARTITIONS, str(SLOTS)),
    (STORE, HDFS),
    (CHANGELOG, "false"),
    (RETAIN, "100"),
    (PARTITIONS, "8"),
    # What Spark takes if nobody says.
    (PARTITIONS, "200"),
)


def main() -> None:
    """Print a line per job and value."""
    print(machine())
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    with tempfile.TemporaryDirectory() as name, local_spark(Path(name), slots=SLOTS) as spark:
        for job, rows in JOBS.items():
            run(spark, job, rows, Path(name) / f"{job}-warm-up", {})
            for key, value in OTHERS:
                folder = Path(name) / f"{job}-{key}-{value.rpartition('.')[2]}"
                compare(spark, job, rows, folder, key, value, pairs)


def compare(spark: Any, job: str, rows: int, folder: Path, key: str, value: str, pairs: int) -> None:
    """Both values in turn, the order changing."""
    ratios, kept = [], []
    for pair in range(pairs):
        found = {}
        for given in ({}, {key: value}) if pair % 2 else ({key: value}, {}):
            place = folder / f"{pair}-{'other' if given else 'ours'}"
            found[bool(given)] = throughput_of(run(spark, job, rows, place, given)).rps or 0.0
            kept.append((bool(given), sum(1 for file in (place / "checkpoint").rglob("*") if file.is_file())))
        ratios.append(found[True] / found[False])
    files = {other: median(count for which, count in kept if which is other) for other in (False, True)}
    ours = settings_of(SLOTS)[key].rpartition(".")[2]
    print(
        f"{job:12} {key.removeprefix('spark.sql.'):62} {value.rpartition('.')[2]:28} against {ours:26}"
        f" throughput x{median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}),"
        f" files in the checkpoint {files[True]:.0f} against {files[False]:.0f}",
        flush=True,
    )


def run(spark: Any, job: str, rows: int, folder: Path, settings: Mapping[str, str]) -> list[Batch]:
    """The job over a few batches of events that have all arrived, in a session with these settings."""
    session, chosen = spark.newSession(), jobs.build(job)
    # The rest is that of the context.
    for key, value in settings.items():
        session.conf.set(key, value)
    options = {
        "workload": "constant(10k)", "rows": str(rows * BATCHES), "rowsPerBatch": str(rows), "start": "0",
        "partitions": str(SLOTS),
    }  # fmt: skip
    streams = sound(embedded(session, chosen, options))
    writing = writer(chosen.query(streams), chosen.result, "noop", name="settings", folder=folder)
    query = writing.trigger(availableNow=True).start()
    return run_to_the_end(query, events_to_come(chosen, options), patience_s=600.0).batches


if __name__ == "__main__":
    main()
