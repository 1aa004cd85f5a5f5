"""A query over a folder in which files keep coming: its lag is estimated, executors follow it, and no row is lost."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import pytest

from elastream.core.tick import Tick
from tests.spark.driving import SparkOn
from tests.spark.test_attach import ELASTIC, Ticks, attached, wait_for

pytestmark = pytest.mark.needs("spark")

ROWS = 400
FILES = 80
PER_S = 3.0
# A listing is two seconds old at most, and the one before is told until it has ended.
LISTED_S = 5.0
SCHEMA = "n long, text string"


class Feed:
    """Writes files, some at once and the others one by one, and remembers when."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.times_s: list[float] = []

    def put(self) -> None:
        number = len(self.times_s)
        rows = ({"n": number * ROWS + row, "text": "word " * (row % 7)} for row in range(ROWS))
        hidden = self.folder / f".{number}"
        hidden.write_text("".join(json.dumps(row) + "\n" for row in rows))
        hidden.rename(self.folder / f"{number:04}.json")
        self.times_s.append(time.time())

    def run(self) -> None:
        while len(self.times_s) < FILES:
            time.sleep(1 / PER_S)
            self.put()

    def rows_at(self, utc_s: float) -> int:
        return ROWS * sum(then_s <= utc_s for then_s in self.times_s)


@pytest.mark.full
def test_files_that_keep_coming_are_a_lag_that_executors_follow(spark_on: SparkOn, tmp_path: Path) -> None:
    from elastream.development.emulated_capacity import EmulatedCapacity

    (tmp_path / "in").mkdir()
    feed, ticks = Feed(tmp_path / "in"), Ticks()
    for _ in range(8):
        feed.put()
    with spark_on(executors=4, settings=ELASTIC) as spark:
        handle = attached(spark, [], journals=[ticks])
        wait_for(lambda: handle.status().ready == 1, seconds=90, what="shrink to the minimum")
        lines = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 8).json(str(tmp_path / "in"))
        writing = (
            EmulatedCapacity(rows_per_s=400)
            .limit(lines)
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
        )
        query = writing.queryName("files").option("checkpointLocation", str(tmp_path / "checkpoint")).start()
        writer = threading.Thread(target=feed.run)
        writer.start()
        wait_for(lambda: (handle.status().ready or 0) >= 3, seconds=120, what="growth")
        writer.join()
        wait_for(lambda: ticks.wanted()[-1] == 1, seconds=180, what="shrink when all has been read")
        wait_for(lambda: _is_done(ticks.all[-1]), seconds=60, what="look at which nothing waits")
        query.stop()
        handle.detach()
        assert query.exception() is None
        found = sorted(row.n for row in spark.read.parquet(str(tmp_path / "out")).collect())
    assert found == list(range(FILES * ROWS))
    judged = [tick for tick in ticks.all if _is_estimated(tick)]
    assert len(judged) >= 20
    for tick in judged:
        assert tick.observation is not None
        source = tick.observation.queries[0].sources[0]
        assert source.arrived is not None
        assert 0.95 * feed.rows_at(tick.utc_s - LISTED_S) <= source.arrived.value <= 1.05 * feed.rows_at(tick.utc_s)
    delays = [tick.observation.queries[0].delay for tick in judged if tick.observation]
    # The first files have waited for their executors and for the first batch, the last ones hardly.
    assert any(delay is not None and delay.max_s > 8 for delay in delays)


def _is_estimated(tick: Tick) -> bool:
    queries = tick.observation.queries if tick.observation else ()
    return bool(queries) and bool(queries[0].sources) and queries[0].sources[0].arrived_from == "estimated"


def _is_done(tick: Tick) -> bool:
    return tick.observation is not None and tick.observation.queries[0].backlog == 0
