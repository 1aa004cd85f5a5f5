"""What the state of jobs costs: time, and processor time of Spark's JVM, with one choice changed at a time.

Events lie in files before the query starts, a file for each batch, so that nothing but Spark works. Both choices
alternate, because the machine may be shared, and what slows one run slows its neighbour. Ratios are means with the
interval that holds them 19 times out of 20; the first line of a job compares our choice with itself, and a ratio no
further from 1 than that is noise. `python -m benchmarks.state_cost 10 enrichment`: ten pairs of one job.
"""

import math
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from benchmarks.machine import machine
from elastream.events.options import events, parse_options
from elastream.events.wire import message_batch
from elastream.experiments.statistics import estimate
from elastream.jobs.aggregation import Aggregation
from elastream.jobs.benching import own_pace
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import checked, sound, stream_options
from elastream.jobs.job import Job, Stream
from elastream.jobs.local import local_spark
from elastream.jobs.output import writer
from elastream.jobs.windows import bounds

SLOTS, PAIRS, BATCHES, ROWS, RATE_RPS = 2, 3, 5, 10_000, 10_000.0
JOIN = "spark.sql.streaming.join.stateFormatVersion"
SORTED_FROM = "spark.sql.objectHashAggregate.sortBased.fallbackThreshold"
CONTROL = ("the same", "", {"spark.sql.shuffle.partitions": str(SLOTS)})
FOUR_STORES = ("a join in four stores", "", {JOIN: "2"})
TRIED: Mapping[str, tuple[tuple[str, str, Mapping[str, str]], ...]] = {
    "enrichment": (CONTROL, FOUR_STORES),
    "nexmark-q3": (CONTROL, FOUR_STORES),
    "aggregation": (
        CONTROL,
        ("lists of a minute, then of a window", "in-panes", {}),
        ("sorts from more keys", "", {SORTED_FROM: "100000"}),
    ),
}
"""For each job what is changed: its name, another job, settings."""


@jobs.register("in-panes")
@dataclass(frozen=True, kw_only=True)
class InPanes(Aggregation):
    """Events are kept once, by the minute, and minutes are put together when a window closes."""

    def query(self, streams: Mapping[str, Any]) -> Any:
        """Two aggregations in place of one whose every event is in five lists."""
        from pyspark.sql import functions as sf

        roads = streams["roads"].withWatermark("event_time", self.watermark)
        minutes = roads.groupBy(sf.window("event_time", self.slide).alias("minute"), "id").agg(
            sf.collect_list(sf.struct("speed_kmh", "flow")).alias("events")
        )
        whole = minutes.groupBy(sf.window(sf.window_time("minute"), self.window, self.slide), "id")
        kept = whole.agg(sf.flatten(sf.collect_list("events")).alias("events"))
        return kept.select("id", *bounds(), sf.size("events").alias("events"))


class Found(NamedTuple):
    """What came of a run."""

    took_s: float
    cpu_s: float
    files: int


class Written(NamedTuple):
    """The events of a stream."""

    folder: Path
    options: Mapping[str, str]


def main() -> None:
    """Print a line per job and choice."""
    print(machine())
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else PAIRS
    with tempfile.TemporaryDirectory() as name, local_spark(Path(name), slots=SLOTS) as spark:
        for job in sys.argv[2:] or TRIED:
            folder = Path(name) / job
            streams = {one.name: write(jobs.build(job), one, folder / one.name) for one in jobs.build(job).streams}
            run(spark, job, streams, folder / "warm-up", {})
            for number, (what, other, settings) in enumerate(TRIED[job]):
                place = folder / str(number)
                run(spark, other or job, streams, place / "warm-up", settings)
                ours: list[Found] = []
                others: list[Found] = []
                for pair in range(pairs):
                    turns = [(ours, job, {}), (others, other or job, settings)]
                    for kept, chosen, given in turns if pair % 2 else reversed(turns):
                        kept.append(run(spark, chosen, streams, place / f"{pair}-{kept is ours}", given))
                print(f"{job:12} {what:36} {compare(ours, others)}", flush=True)


def compare(ours: list[Found], others: list[Found]) -> str:
    """The other choice over ours."""
    pairs = list(zip(others, ours, strict=True))
    times = ratio([other.took_s / own.took_s for other, own in pairs])
    used = ratio([other.cpu_s / own.cpu_s for other, own in pairs])
    return f"time {times}, processor time {used}, files {others[-1].files} against {ours[-1].files}"


def ratio(ratios: list[float]) -> str:
    """The mean of ratios with its interval: half is as far from 1 as twice."""
    found = estimate([math.log(one) for one in ratios])
    if found.interval is None:
        return f"x{math.exp(found.mean):.2f}"
    return f"x{math.exp(found.mean):.2f} ({math.exp(found.interval.low):.2f} to {math.exp(found.interval.high):.2f})"


def write(job: Job, stream: Stream, folder: Path) -> Written:
    """The events of a stream, a file for each batch."""
    whole = {"workload": f"constant({RATE_RPS:g})", "rows": str(ROWS * BATCHES), "start": "0"}
    options = stream_options(job, {**whole, **own_pace(job, RATE_RPS)})[stream.name]
    total, parsed = int(options["rows"]), parse_options(options)
    folder.mkdir(parents=True)
    for number in range(BATCHES):
        part = range(total * number // BATCHES, total * (number + 1) // BATCHES)
        table = events(options, part.start, part.stop).combine_chunks()
        if stream.is_json:
            (batch,) = table.to_batches()
            message = message_batch(batch, parsed.generator.key_column, part, parsed.partitions)
            table = pa.Table.from_batches([message]).append_column("timestamp", table.column("event_time"))
        pq.write_table(table, folder / f"{number:04}.parquet")
    return Written(folder, options)


def run(spark: Any, name: str, written: Mapping[str, Written], folder: Path, settings: Mapping[str, str]) -> Found:
    """The job over all files, in a session with these settings; the rest is that of the context."""
    session, job, inputs = spark.newSession(), jobs.build(name), {}
    for key, value in settings.items():
        session.conf.set(key, value)
    for stream in job.streams:
        place, options = written[stream.name]
        reading = session.readStream.schema(session.read.parquet(str(place)).schema)
        inputs[stream.name] = checked(reading.option("maxFilesPerTrigger", 1).parquet(str(place)), stream, options)
    jvm = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    began_s, used_s = time.monotonic(), cpu_s(jvm)
    writing = writer(job.query(sound(inputs)), job.result, "noop", name="state", folder=folder)
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()
    files = sum(1 for file in (folder / "checkpoint").rglob("*") if file.is_file())
    return Found(time.monotonic() - began_s, cpu_s(jvm) - used_s, files)


def cpu_s(process: int) -> float:
    """Processor time of a process, without those that it started."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
