"""An application that knows nothing of Elastream but one line: executors come and go, and its output is right."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from elastream.attachment import Attachment, attach
from elastream.core.errors import CannotRun
from elastream.core.tick import Tick
from tests.spark.driving import SparkOn
from tests.unit.service.asking import post

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")

ELASTIC = {
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.replicationReattemptInterval": "5s",
    "spark.scheduler.maxRetainedRemovedDecommissionExecutors": "100",
    "spark.locality.wait": "100ms",
    "spark.sql.shuffle.partitions": "4",
}
# To shrink as soon as that is decided; what a start keeps is switched on where it is what the test is about.
QUICK = {
    "tick_s": 1.0,
    "policy": "lag-proportional",
    "executors": (1, 4),
    "guards__start": False,
    "guards__hysteresis": False,
}
SETTINGS = {"interval_s": 2.0, "window_s": 6.0, "drain_s": 10.0}


class Ticks:
    """Keeps every tick. Implements Journal."""

    def __init__(self) -> None:
        self.all: list[Tick] = []

    def write(self, tick: Tick) -> None:
        self.all.append(tick)

    def close(self) -> None:
        pass

    def wanted(self) -> list[int]:
        return [sum(tick.decision.allocation.values()) for tick in self.all if tick.decision]


@pytest.fixture
def ticks() -> Ticks:
    return Ticks()


@pytest.fixture
def detached() -> Iterator[list[Attachment]]:
    handles: list[Attachment] = []
    yield handles
    for handle in handles:
        handle.detach()


def attached(spark: SparkSession, handles: list[Attachment], **how: Any) -> Attachment:
    handle = attach(spark, **{**QUICK, "policy_settings": SETTINGS, **how})
    assert isinstance(handle, Attachment)
    handles.append(handle)
    return handle


def wait_for(holds: Callable[[], bool], *, seconds: float, what: str) -> None:
    until_s = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until_s, f"no {what} within {seconds:g} s"
        time.sleep(0.2)


def test_an_application_begins_with_what_it_was_given_then_gives_back_and_grows_and_every_record_comes_out_once(
    spark_on: SparkOn, tmp_path: Path, ticks: Ticks, detached: list[Attachment]
) -> None:
    from elastream.development.emulated_capacity import EmulatedCapacity
    from elastream.jobs.inputs import embedded
    from elastream.jobs.judging import inputs_of, judge
    from elastream.jobs.output import writer, written
    from elastream.jobs.passing import Deduplicate

    job, options = Deduplicate(), {"workload": "step(100, 2k, at=25s)", "duration": "38s", "partitions": "8"}
    with spark_on(executors=4, settings=ELASTIC) as spark:
        handle = attached(spark, detached, journals=[ticks], guards__start=True)
        wait_for(lambda: len(ticks.all) >= 3, seconds=60, what="looks before there is a query")
        streams = {"events": EmulatedCapacity(rows_per_s=800).limit(embedded(spark, job, options)["events"].sound)}
        writing = writer(job.query(streams), job.result, "parquet", name="slow", folder=tmp_path)
        query = writing.trigger(processingTime="1 second").start()
        wait_for(lambda: ticks.wanted()[-1] <= 2, seconds=120, what="shrink once the query was measured")
        wait_for(lambda: (handle.status().ready or 0) >= 3, seconds=120, what="growth")
        wait_for(lambda: not query.status["isDataAvailable"] and _committed(query) == 28_500, seconds=120, what="end")
        query.stop()
        assert query.exception() is None
    assert set(_wanted_before_a_second_batch(ticks)) == {4}
    right, sentence = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert right, sentence


def _wanted_before_a_second_batch(ticks: Ticks) -> Iterator[int]:
    """What was decided while there was no query, or none of which more than a first batch was seen."""
    for tick in ticks.all:
        queries = tick.observation.queries if tick.observation else ()
        if any(query.finished is not None and query.finished.id > 0 for query in queries):
            return
        if tick.decision is not None:
            yield sum(tick.decision.allocation.values())


def _committed(query: Any) -> int:
    import json

    progress = query.lastProgress
    end = progress["sources"][0]["endOffset"] if progress else None
    offset = json.loads(end) if isinstance(end, str) else end
    return int(offset["offset"]) if offset else 0


def test_executors_of_several_slots_are_counted_as_such_obey_the_page_and_what_cannot_work_is_refused(
    spark_on: SparkOn, tmp_path: Path, ticks: Ticks, detached: list[Attachment]
) -> None:
    wide = {**ELASTIC, "spark.executor.cores": "4", "spark.cores.max": "8", "spark.executor.memory": "1g"}
    with spark_on(executors=8, settings=wide) as spark:
        handle = attached(
            spark, detached, executors=(1, 2), journals=[ticks], page=True, page__token=tmp_path / "token"
        )
        assert attach(spark) is handle
        wait_for(lambda: handle.status().ready == 1, seconds=90, what="shrink to the minimum")
        seen = ticks.all[-1].observation
        assert seen is not None
        assert (seen.pools[0].slots_per_worker, seen.pools[0].ready) == (4, 1)
        hold = {"do": "size", "workers": 2, "for_s": 600}
        assert handle.page is not None
        assert post(handle.page, "/control", hold).status == 401
        cookie = post(handle.page, "/session", {"token": (tmp_path / "token").read_text().strip()}).cookie
        assert post(handle.page, "/control", hold, Cookie=cookie).status == 202
        wait_for(lambda: handle.status().ready == 2, seconds=90, what="size that was asked for at the page")
        (asked,) = [one for tick in ticks.all for one in tick.interventions]
        assert (asked.asked, asked.who.endswith(" at 127.0.0.1")) == ("size", True)
        handle.detach()
        # An application that ends takes a loop with it, whoever forgot to detach.
        again = attached(spark, detached, executors=(1, 2))
    wait_for(lambda: not again._thread.is_alive(), seconds=30, what="end of the loop with its application")
    killing = {"spark.decommission.enabled": "false"}
    with spark_on(executors=1, settings=killing) as spark, pytest.raises(CannotRun, match="could only be killed"):
        attach(spark)
