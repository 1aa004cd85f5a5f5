"""Totals per key from a topic to files, and the same events copied to another topic.

A plain PySpark script that knows nothing of Elastream: counting.py BOOTSTRAP TOPIC COPY FOLDER. Each row costs a
millisecond of a slot. It does as files in its folder say: while `block` is there the sink does not return and makes
`blocked`, and when `stop` comes it ends.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, from_json
from pyspark.sql.functions import sum as total

bootstrap, topic, copy, work = sys.argv[1:]
folder = Path(work)


def worked(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        time.sleep(len(frame) / 1000)
        yield frame


def write(frame: DataFrame, batch: int) -> None:
    while (folder / "block").exists():
        (folder / "blocked").touch()
        time.sleep(0.1)
    frame.write.mode("overwrite").parquet(str(folder / "totals" / f"batch={batch}"))


spark = SparkSession.builder.appName("counting").config("spark.sql.shuffle.partitions", "3").getOrCreate()
records = (
    spark.readStream.format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("subscribe", topic)
    .option("startingOffsets", "earliest")
    .load()
)
events = records.select(from_json(col("value").cast("string"), "key BIGINT, value BIGINT").alias("event"))
totals = (
    events.select("event.*")
    .mapInPandas(worked, "key BIGINT, value BIGINT")
    .groupBy("key")
    .agg(count("*").alias("n"), total("value").alias("total"))
)
counting = (
    totals.writeStream.queryName("counting")
    .outputMode("update")
    .option("checkpointLocation", str(folder / "counting"))
    .foreachBatch(write)
    .start()
)
copying = (
    records.select("key", "value")
    .writeStream.queryName("copying")
    .format("kafka")
    .option("kafka.bootstrap.servers", bootstrap)
    .option("topic", copy)
    .option("checkpointLocation", str(folder / "copying"))
    .start()
)
print("started", flush=True)  # noqa: T201
while not (folder / "stop").exists():
    time.sleep(0.2)
    for query in (counting, copying):
        if query.exception() is not None:
            raise RuntimeError(f"{query.name} has failed") from query.exception()
for query in (counting, copying):
    query.stop()
print("stopped", flush=True)  # noqa: T201
sys.exit(3)
