"""The embedded source on a real executor, which has neither Elastream nor pydantic."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from elastream.core.errors import BadInput
from elastream.development.cluster.local_cluster import LocalCluster
from elastream.development.embedded_source import events, newest, stream
from elastream.development.emulated_capacity import EmulatedCapacity
from tests.spark.driving import driver
from tests.spark.hiding import hiding

pytestmark = pytest.mark.needs("spark")


@pytest.fixture(scope="module")
def spark(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    settings = {**hiding(tmp_path_factory.mktemp("hiding")), "spark.sql.session.timeZone": "UTC"}
    with driver(cluster, executors=1, settings=settings) as spark:
        yield spark


def started(df: DataFrame, folder: Path, *, until_now: bool = False) -> StreamingQuery:
    writer = df.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return (writer.trigger(availableNow=True) if until_now else writer).start()


def rows(spark: SparkSession, folder: Path) -> pd.DataFrame:
    """Everything written, through the sink's own log of what was committed."""
    read: Any = spark.read.parquet(str(folder / "out")).toPandas()
    return read.sort_values("offset", ignore_index=True)


def end_offset(query: StreamingQuery) -> int:
    """How far the finished batches have come."""
    progress = query.lastProgress
    assert query.isActive, query.exception()
    return json.loads(progress["sources"][0]["endOffset"] or '{"offset": 0}')["offset"] if progress else 0


def wait_for(query: StreamingQuery, offset: int) -> None:
    deadline = time.monotonic() + 120.0
    while end_offset(query) < offset:
        assert time.monotonic() < deadline, f"only {end_offset(query)} of {offset} events came"
        time.sleep(0.1)


def test_executors_do_not_have_elastream(spark: SparkSession) -> None:
    def found(batches: Any) -> Any:
        for batch in batches:
            try:
                import elastream  # noqa: F401
            except ModuleNotFoundError:
                yield batch

    assert spark.range(1).mapInArrow(found, "id long").count() == 1


def test_every_event_is_read_once_and_a_restart_goes_on(spark: SparkSession, tmp_path: Path) -> None:
    options = {"workload": "cosine(4k..8k, period=20s, noise=100)", "seed": "3", "partitions": "3"}
    options |= {"keys": "20", "hotShare": "0.5", "rowsPerBatch": "2500"}
    first = started(stream(spark, **options, rows=5_000), tmp_path)
    wait_for(first, 1)
    first.stop()
    began = json.loads(first.recentProgress[-1]["sources"][0]["endOffset"])
    again = started(EmulatedCapacity(rows_per_s=20_000).limit(stream(spark, **options, rows=9_000)), tmp_path)
    wait_for(again, 9_000)
    again.stop()
    progress = again.recentProgress
    assert all(part["numInputRows"] <= 2_500 for part in progress)
    assert json.loads(progress[-1]["sources"][0]["endOffset"]) == {**began, "offset": 9_000}
    expected = events(options, 0, 9_000).to_pandas()
    expected["event_time"] = expected["event_time"].dt.tz_localize(None)
    pd.testing.assert_frame_equal(rows(spark, tmp_path), expected, check_dtype=False)


def test_the_progress_says_the_exact_backlog(spark: SparkSession, tmp_path: Path) -> None:
    options = {
        "workload": "constant(500)",
        "start": str(int(time.time()) - 10),
        "rowsPerBatch": "1000",
        "partitions": "2",
    }
    before = newest(options, time.time())
    query = started(stream(spark, **options).select("offset"), tmp_path, until_now=True)
    query.awaitTermination()
    sources = [part["sources"][0] for part in query.recentProgress if part["numInputRows"]]
    ends = [json.loads(source["endOffset"])["offset"] for source in sources]
    latest = {json.loads(source["latestOffset"])["offset"] for source in sources}
    assert len(latest) == 1
    (arrived,) = latest
    assert before <= arrived <= newest(options, time.time(), json.loads(sources[0]["endOffset"]))
    assert ends == [*range(1_000, arrived, 1_000), arrived]


def test_a_checkpoint_of_other_events_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    options = {"workload": "constant(1k)", "start": str(int(time.time()) - 5), "rows": 100}
    started(stream(spark, **options), tmp_path, until_now=True).awaitTermination()
    other = started(stream(spark, **{**options, "seed": 1}), tmp_path, until_now=True)
    with pytest.raises(Exception, match="the checkpoint is of other events"):
        other.awaitTermination()


def test_wrong_options_are_told_in_one_line_before_anything_starts(spark: SparkSession) -> None:
    with pytest.raises(BadInput, match=r"^source: no option 'workloads'; did you mean 'workload'\?$"):
        stream(spark, workloads="constant(1k)")
    with pytest.raises(Exception, match="source: no option 'workloads'; did you mean 'workload'"):
        spark.readStream.format("elastream").option("workloads", "constant(1k)").load()
