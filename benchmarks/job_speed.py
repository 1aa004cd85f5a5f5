"""Throughput of every job with our source over that of the same query reading the same events from Parquet (aim: 0.8).

The Parquet files are read once before, so that they come from memory. Both ways alternate in one Spark; a run is a
query over all events in equal batches, into a no-op sink, of which the first batch is not counted. What the ratio
leaves to be explained is what it costs to make events instead of reading them.

    python -m benchmarks.job_speed                  # all jobs, a few minutes
    python -m benchmarks.job_speed yahoo nexmark-q5
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.draining import drained
from benchmarks.machine import machine
from elastream.events.options import events, parse_options
from elastream.events.wire import message_batch
from elastream.jobs.benching import own_pace
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import checked, embedded, sound, stream_options
from elastream.jobs.job import Job, Stream
from elastream.jobs.local import local_spark

EVENTS, BATCHES, RUNS, RATE_RPS = 400_000, 5, 3, 10_000.0
OPTIONS = {
    "workload": f"constant({RATE_RPS:g})",
    "rows": str(EVENTS),
    "rowsPerBatch": str(EVENTS // BATCHES),
    "partitions": "2",
    "start": "0",
}
AIM = 0.8


def main() -> None:
    """A line per job."""
    print(machine())
    print(f"{EVENTS:,} events in {BATCHES} batches; events/s behind the first one, median of {RUNS} runs each")
    chosen = sys.argv[1:] or [name for name in jobs.names() if name not in jobs.presets()]
    with tempfile.TemporaryDirectory() as scratch, local_spark(Path(scratch), slots=2) as spark:
        for name in chosen:
            show(name, measured(spark, jobs.build(name), Path(scratch) / name))


def show(name: str, found: list[tuple[float, float]]) -> None:
    ours, parquet = (median(rates) for rates in zip(*found, strict=True))
    ratios = [one / other for one, other in found]
    verdict = "met" if median(ratios) >= AIM else "below"
    print(
        f"{name:14} source {ours:10,.0f}  Parquet {parquet:10,.0f}"
        f"  ratio {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})  aim {AIM} {verdict}",
        flush=True,
    )


def measured(spark: Any, job: Job, folder: Path) -> list[tuple[float, float]]:
    """Rates with our source and from files, run by run; the first of each warms up."""
    options = {**OPTIONS, **own_pace(job, RATE_RPS)}
    given = stream_options(job, options)
    for stream in job.streams:
        write(stream, given[stream.name], folder / "files" / stream.name)
    found = []
    for number in range(RUNS + 1):
        ours = sound(embedded(spark, job, options))
        files = {stream.name: from_files(spark, stream, given[stream.name], folder) for stream in job.streams}
        found.append((rate(job, ours, folder / f"ours-{number}"), rate(job, files, folder / f"files-{number}")))
    return found[1:]


def write(stream: Stream, options: Mapping[str, str], folder: Path) -> None:
    """As many files as partitions for every batch, of what the source would give."""
    folder.mkdir(parents=True)
    parsed = parse_options(options)
    table = events(options, 0, parsed.rows_to_come or 0)
    per_file = -(-table.num_rows // (BATCHES * parsed.partitions))
    for number, first in enumerate(range(0, table.num_rows, per_file)):
        part = table.slice(first, per_file).combine_chunks()
        if stream.is_json:
            (batch,) = part.to_batches()
            offsets = range(first, first + part.num_rows)
            part = pa.Table.from_batches([message_batch(batch, parsed.generator.key_column, offsets, 1)])
        pq.write_table(part, folder / f"{number:04}.parquet", compression="none")


def from_files(spark: Any, stream: Stream, options: Mapping[str, str], folder: Path) -> Any:
    path = str(folder / "files" / stream.name)
    read = spark.read.parquet(path)
    read.write.format("noop").mode("overwrite").save()
    parts = parse_options(options).partitions
    return checked(
        spark.readStream.schema(read.schema).option("maxFilesPerTrigger", parts).parquet(path), stream, options
    ).sound


def rate(job: Job, streams: Mapping[str, Any], folder: Path) -> float:
    """Events/s of all batches but the first."""
    batches = drained(job, streams, folder)[1:]
    rows, taken_ms = (sum(int(one[part]) for one in batches) for part in ("numInputRows", "batchDuration"))
    return rows / taken_ms * 1_000


if __name__ == "__main__":
    main()
