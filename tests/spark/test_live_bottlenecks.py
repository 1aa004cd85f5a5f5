"""What keeps a query back, planted in a real application, and named by the loop that watches it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from elastream.attachment import Attachment
from tests.spark.driving import SparkOn
from tests.spark.test_attach import ELASTIC, Ticks, attached, detached, ticks, wait_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Half a minute and more each.
pytestmark = [pytest.mark.needs("spark"), pytest.mark.full]

__all__ = ["detached", "ticks"]


@dataclass(frozen=True)
class Plant:
    """A query with something in its way."""

    kinds: set[str]
    build: Callable[[SparkSession], DataFrame]
    every: str = "1 second"
    settings: dict[str, str] = field(default_factory=dict)
    write: Callable[[Any, int], None] | None = None


def numbers(spark: SparkSession, rows: int, partitions: int = 4) -> DataFrame:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    return source.option("numPartitions", partitions).load()


def computed(frame: DataFrame) -> DataFrame:
    # By value: executors cannot import what stands here.
    def compute(frames: Iterator[Any]) -> Iterator[Any]:
        for given in frames:
            total = 0.0
            for value in range(len(given) * 400):
                total += math.sqrt(value)
            yield given

    return frame.select("value").mapInPandas(compute, "value long")


def skewed(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as f

    key = f.when(f.col("value") % 20 < 19, f.lit(0)).otherwise(f.col("value"))
    return computed(numbers(spark, 40_000).select("value", key.alias("key")).repartition(8, "key"))


def stateful(spark: SparkSession) -> DataFrame:
    return numbers(spark, 50).select("value").dropDuplicates(["value"])


def slow_write(frame: Any, batch: int) -> None:
    frame.write.format("noop").mode("overwrite").save()
    time.sleep(3)


def slow_source(spark: SparkSession) -> DataFrame:
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

    class SlowReader(DataSourceStreamReader):
        def __init__(self) -> None:
            self.at = 0

        def initialOffset(self) -> dict[str, int]:
            return {"at": 0}

        def latestOffset(self, *given: Any) -> dict[str, int]:
            import time

            time.sleep(3)
            self.at += 10
            return {"at": self.at}

        def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
            return [InputPartition((start["at"], end["at"]))]

        def read(self, partition: Any) -> Iterator[tuple[int]]:
            return ((number,) for number in range(*partition.value))

    class SlowSource(DataSource):
        @classmethod
        def name(cls) -> str:
            return "slow"

        def schema(self) -> str:
            return "value long"

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return SlowReader()

    spark.dataSource.register(SlowSource)
    return spark.readStream.format("slow").load()


def allocating(spark: SparkSession) -> DataFrame:
    from pyspark.sql import functions as f

    # An array of 16 KB for each row, and little else to do.
    return numbers(spark, 300_000).select(f.size(f.sequence(f.lit(0), f.col("value") % 10 + 2_000)).alias("n"))


# A heap as small as Spark starts with has room enough for this query; what is new in it has a megabyte.
TINY_HEAP = {
    "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:NewSize=1m -XX:MaxNewSize=1m"
}
PLANTS = {
    "skewed key": Plant({"hot-key"}, skewed),
    "slow sink": Plant({"sink"}, lambda spark: numbers(spark, 100), every="2 seconds", write=slow_write),
    "slow source": Plant({"source"}, slow_source),
    "tiny heap": Plant({"garbage-collection"}, allocating, settings=TINY_HEAP),
    "few partitions": Plant({"few-partitions"}, lambda spark: computed(numbers(spark, 40_000, partitions=1))),
    "heavy state": Plant({"state-store"}, stateful, settings={"spark.sql.shuffle.partitions": "24"}),
    "tiny batches": Plant({"driver"}, lambda spark: numbers(spark, 1, partitions=1), every="20 milliseconds"),
}


def run(plant: Plant, spark: SparkSession, folder: Path) -> Any:
    writer = (
        plant.build(spark).writeStream.queryName("planted").option("checkpointLocation", str(folder / "checkpoint"))
    )
    writer = writer.foreachBatch(plant.write) if plant.write is not None else writer.format("noop")
    return writer.trigger(processingTime=plant.every).start()


@pytest.mark.parametrize("planted", PLANTS)
def test_what_was_planted_is_named(
    spark_on: SparkOn, tmp_path: Path, ticks: Ticks, detached: list[Attachment], planted: str
) -> None:
    plant = PLANTS[planted]
    with spark_on(executors=2, settings={**ELASTIC, **plant.settings}) as spark:
        handle = attached(spark, detached, executors=(2, 2), journals=[ticks])
        query = run(plant, spark, tmp_path)
        try:
            wait_for(lambda: bool(found(ticks) & plant.kinds), seconds=120, what=f"name for a {planted}")
            assert any("planted: " in sentence for sentence in handle.status().bottlenecks)
        finally:
            query.stop()
            handle.detach()
        assert query.exception() is None
    assert found(ticks) <= plant.kinds


def test_a_job_that_keeps_up_has_no_name(
    spark_on: SparkOn, tmp_path: Path, ticks: Ticks, detached: list[Attachment]
) -> None:
    from elastream.development.embedded_source import stream

    def little(spark: SparkSession) -> DataFrame:
        return stream(spark, workload="constant(500)", partitions=4)

    fine = Plant(set(), little, every="5 seconds")
    with spark_on(executors=2, settings=ELASTIC) as spark:
        handle = attached(spark, detached, executors=(2, 2), journals=[ticks])
        query = run(fine, spark, tmp_path)
        try:
            wait_for(lambda: _ended(query) >= 6, seconds=120, what="batches")
        finally:
            query.stop()
            handle.detach()
        assert query.exception() is None
    assert found(ticks) == set()


def found(ticks: Ticks) -> set[str]:
    return {one.kind for tick in ticks.all for one in tick.bottlenecks}


def _ended(query: Any) -> int:
    return int(query.lastProgress["batchId"]) if query.lastProgress else -1
