"""What a read limit is worth: a backlog of a minute, worked off in batches of all of it, of 20 s of input and of 2 s.

Throughput against that of one batch for all, from runs that follow each other, and how long the longest batch takes:
for so long nothing is committed, and no executor that comes can help.
"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.draining import drained
from benchmarks.machine import machine
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.local import local_spark
from elastream.jobs.settings import READ_LIMIT_S

RATE_RPS, BACKLOG_S, RUNS = 20_000, 60.0, 3
LIMITS_S = (BACKLOG_S, READ_LIMIT_S, 2.0)
JOB = "deduplicate"


def main() -> None:
    """A line per limit."""
    print(machine())
    print(f"{JOB}, {RATE_RPS * BACKLOG_S:,.0f} events that wait, a minute of input; median of {RUNS} runs")
    with tempfile.TemporaryDirectory() as scratch, local_spark(Path(scratch), slots=2) as spark:
        run(spark, Path(scratch) / "warm-up", READ_LIMIT_S)
        found = [[run(spark, Path(scratch) / f"{turn}-{limit}", limit) for limit in LIMITS_S] for turn in range(RUNS)]
    for place, limit in enumerate(LIMITS_S):
        ratio = median(runs[0][0] / runs[place][0] for runs in found)
        longest = median(runs[place][1] for runs in found)
        print(f"{limit:4g} s of input in a batch: throughput x{ratio:.2f}, longest batch {longest:.1f} s")


def run(spark: Any, folder: Path, limit_s: float) -> tuple[float, float]:
    """Seconds of all batches, and of the longest."""
    options = {
        "workload": f"constant({RATE_RPS})", "rows": str(round(RATE_RPS * BACKLOG_S)), "start": "0", "partitions": "2",
        "rowsPerBatch": str(round(RATE_RPS * limit_s)),
    }  # fmt: skip
    job = jobs.build(JOB)
    streams = sound(embedded(spark, job, options))
    taken = [one["batchDuration"] / 1000 for one in drained(job, streams, folder)]
    return sum(taken), max(taken)


if __name__ == "__main__":
    main()
