"""The application of a probe of a job from the catalogue: what a user's script would be, for `elastream run`.

`python job_script.py ORDERS.json`: the job, the options of its events, what its slots are limited to, its trigger.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from elastream.development.emulated_capacity import EmulatedCapacity
from elastream.jobs.catalogue import parse_job
from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import build_query, query_name
from elastream.jobs.output import writer


def main(file: Path) -> None:
    """Run the job until somebody ends it."""
    from pyspark.sql import SparkSession

    orders = json.loads(file.read_text(encoding="utf-8"))
    job = parse_job(orders["job"])
    builder: SparkSession.Builder = SparkSession.builder
    spark = builder.appName("elastream-scalability").getOrCreate()
    # One time zero for all streams: the load begins with the query.
    streams = sound(embedded(spark, job, {**orders["events"], "start": f"{time.time():.3f}"}))
    if orders["slot_rps"] is not None:
        capacity = EmulatedCapacity(rows_per_s=orders["slot_rps"])
        streams = {name: capacity.limit(rows) for name, rows in streams.items()}
    rows = build_query(job, streams)
    writing = writer(rows, job.result, "noop", name=query_name(job), folder=file.parent)
    if orders["trigger_s"] is not None:
        writing = writing.trigger(processingTime=f"{round(orders['trigger_s'] * 1000)} milliseconds")
    writing.start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
