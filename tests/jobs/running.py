"""A job over a finite input: all of it has arrived before the query starts, so a run is the same every time."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elastream.jobs.inputs import embedded, sound
from elastream.jobs.job import Job
from elastream.jobs.output import writer


def run(spark: Any, job: Job, options: Mapping[str, str], folder: Path) -> None:
    """Until nothing is left to be read; from the folder's checkpoint if there is one."""
    streams = sound(embedded(spark, job, {**options, "start": "0"}))
    writing = writer(job.query(streams), job.result, "parquet", name="job", folder=folder)
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()


def run_in_two(spark: Any, job: Job, options: Mapping[str, str], folder: Path) -> None:
    """The same, stopped after half of the events and started again."""
    half = {key: value for key, value in options.items() if key != "flush"}
    run(spark, job, {**half, "rows": str(int(options["rows"]) // 2)}, folder)
    run(spark, job, options, folder)
