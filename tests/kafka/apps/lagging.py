"""Queries that read topics in every way there is, and write nowhere: lagging.py BOOTSTRAP ORDERS FOLDER.

ORDERS is JSON: by query the options of its source. While the file `block` is in the folder no batch ends, and when
`stop` comes the application does.
"""

import json
import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

bootstrap, orders, work = sys.argv[1:]
folder = Path(work)


def write(frame: DataFrame, batch: int) -> None:
    frame.count()
    while (folder / "block").exists():
        time.sleep(0.1)


spark = SparkSession.builder.appName("lagging").getOrCreate()
for name, options in json.loads(orders).items():
    records = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).options(**options).load()
    sink = records.writeStream.queryName(name).foreachBatch(write)
    sink.option("checkpointLocation", str(folder / name)).start()
while not (folder / "stop").exists():
    time.sleep(0.2)
for query in spark.streams.active:
    query.stop()
