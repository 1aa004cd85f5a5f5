"""Slots that other work holds, and a sink that holds a batch: what a live application shows, and what is done."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from elastream.attachment import Attachment
from elastream.core.tick import Tick
from tests.spark.driving import SparkOn
from tests.spark.test_attach import ELASTIC, Ticks, attached, detached, ticks, wait_for

pytestmark = pytest.mark.needs("spark")

__all__ = ["detached", "ticks"]


# One application for both, because starting one takes longer than either.
def test_work_of_no_query_starves_none_and_a_blocked_sink_is_named_and_buys_nothing(
    spark_on: SparkOn, tmp_path: Path, ticks: Ticks, detached: list[Attachment]
) -> None:
    from elastream.development.embedded_source import stream

    blocks, released = threading.Event(), threading.Event()

    def write(frame: Any, batch: int) -> None:
        frame.write.format("noop").mode("overwrite").save()
        if blocks.is_set():
            released.wait(60)

    with spark_on(executors=3, settings=ELASTIC) as spark:
        handle = attached(spark, detached, executors=(1, 3), executors__initial=1, journals=[ticks])
        wait_for(lambda: handle.status().ready == 1, seconds=90, what="shrink to the minimum")
        ended = threading.Event()
        job = threading.Thread(target=lambda: _hold_a_slot(spark, 100, ended), daemon=True)
        job.start()
        wait_for(lambda: _others(handle) == 1, seconds=30, what="job that holds the only slot")
        events = stream(spark, workload="constant(500)", partitions=4)
        writer = events.writeStream.foreachBatch(write).option("checkpointLocation", str(tmp_path / "checkpoint"))
        query = writer.trigger(processingTime="1 second").queryName("clicks").start()
        try:
            wait_for(lambda: (handle.status().ready or 0) >= 2, seconds=60, what="step while nothing is measured")
            wait_for(lambda: _batch(query) >= 0, seconds=60, what="batch beside the job")
            assert any("work of no query" in said and "tasks of clicks wait for one" in said for said in _said(ticks))
            assert not ended.is_set()
            wait_for(lambda: _batch(query) >= 2, seconds=60, what="batches that are measured")
            blocks.set()
            wait_for(lambda: bool(handle.status().bottlenecks), seconds=60, what="name for what holds the batch")
            status, size = handle.status(), ticks.wanted()[-1]
            assert "no task runs or waits" in status.bottlenecks[0]
            first = len(ticks.wanted())
            # The age of what waits is the delay to come, as long as nothing is committed.
            wait_for(lambda: (handle.status().delay_to_come_s or 0.0) > 15, seconds=60, what="delay to come")
            wait_for(lambda: len(ticks.wanted()) >= first + 6, seconds=60, what="looks at it")
            assert max(ticks.wanted()[first:]) <= size
            # A second of arrivals per tick, although the progress would say that nothing waits.
            backlogs = [_backlog(tick) for tick in ticks.all[first:]]
            assert len(backlogs) >= 5
            assert all(b > a + 150 for a, b in zip(backlogs, backlogs[2:], strict=False))
            held = _batch(query)
            blocks.clear()
            released.set()
            wait_for(lambda: _batch(query) > held + 1, seconds=60, what="batches after it")
            wait_for(lambda: not handle.status().bottlenecks, seconds=30, what="end of the bottleneck")
        finally:
            released.set()
            query.stop()
            spark.sparkContext.cancelAllJobs()
            job.join(20)
        assert query.exception() is None


def _hold_a_slot(spark: Any, seconds: float, ended: threading.Event) -> None:
    def hold(_: int) -> None:
        time.sleep(seconds)

    # Cancelled at the end of the test.
    with suppress(Exception):
        spark.sparkContext.parallelize([0], 1).foreach(hold)
    ended.set()


def _batch(query: Any) -> int:
    return int(query.lastProgress["batchId"]) if query.lastProgress else -1


def _others(handle: Attachment) -> float:
    last = handle._controller.last
    reading = last.observation.other_busy_slots if last and last.observation else None
    return reading.value if reading else 0.0


def _backlog(tick: Tick) -> float:
    backlog = tick.observation.queries[0].backlog if tick.observation else None
    assert backlog is not None
    return backlog


def _said(ticks: Ticks) -> list[str]:
    return [tick.decision.sentence() for tick in ticks.all if tick.decision]
