"""A job that works off events which have all arrived, into a no-op sink."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from elastream.jobs.job import Job
from elastream.jobs.output import writer


def drained(job: Job, streams: Mapping[str, Any], folder: Path) -> list[Mapping[str, Any]]:
    """Progress of all batches that read something, as Spark tells it."""
    writing = writer(job.query(streams), job.result, "noop", name="bench", folder=folder)
    query = writing.trigger(availableNow=True).start()
    query.awaitTermination()
    return [one for one in query.recentProgress if one["numInputRows"]]
