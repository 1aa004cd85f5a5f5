"""Emulated capacity on real executors, which have neither Elastream nor pydantic."""

import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from elastream.development.emulated_capacity import EmulatedCapacity
from tests.spark.driving import SparkOn
from tests.spark.hiding import hiding

pytestmark = pytest.mark.needs("spark")


def seconds(spark: SparkSession, capacity: EmulatedCapacity) -> float:
    """How long six tasks of a thousand rows take."""
    df = capacity.limit(spark.range(0, 6_000, numPartitions=6).selectExpr("id AS key"))
    start = time.monotonic()
    df.write.format("noop").mode("overwrite").save()
    return time.monotonic() - start


@pytest.mark.full
def test_capacity_follows_the_slots(spark_on: SparkOn, tmp_path: Path) -> None:
    quick, steady = EmulatedCapacity(rows_per_s=1e9), EmulatedCapacity(rows_per_s=2_000)
    settings = hiding(tmp_path)
    with spark_on(executors=1, settings=settings) as spark:
        seconds(spark, quick)
        one = seconds(spark, steady)
    with spark_on(executors=3, settings=settings) as spark:
        # Python starts on every executor.
        seconds(spark, EmulatedCapacity(rows_per_s=10_000))
        three = seconds(spark, steady)
        slow = seconds(spark, EmulatedCapacity(rows_per_s=1e6, slow_executor="1", slow_cost=1_000))
        hot = seconds(spark, EmulatedCapacity(rows_per_s=1e6, hot_key=0, hot_cost=1e6))
        cold = seconds(spark, EmulatedCapacity(rows_per_s=1e6, warm_up_s=3_600, warm_up_cost=500))
    # A busy machine makes everything around the sleep longer, never the sleep shorter: six waves, two waves.
    assert one >= 3.0
    assert three >= 1.0
    assert one / three > 1.5
    assert slow >= 1.0
    assert hot >= 1.0
    assert cold >= 1.0
