import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from elastream.daemons.java import java_home

# In a process of its own: a JVM that is up already would hide which Java starts Spark.
SCRIPT = """
import json, sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "1")
    .config("spark.sql.warehouse.dir", sys.argv[1])
    .getOrCreate()
)
batch = spark.range(1_000).selectExpr("sum(id) AS total").first()["total"]
numbers = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
counts = numbers.groupBy((numbers.value % 2).alias("parity")).count()
query = counts.writeStream.format("memory").queryName("counts").outputMode("complete").start()
while query.lastProgress is None or query.lastProgress["batchId"] < 1:
    query.awaitTermination(0.1)
query.stop()
rows = spark.table("counts").collect()
version = spark.sparkContext._jvm.java.lang.System.getProperty("java.specification.version")
print(json.dumps({"batch": batch, "groups": len(rows), "java": int(version)}))
spark.stop()
"""


# In the long matrix: the clusters of other tests run on that Java as well.
@pytest.mark.full
@pytest.mark.needs("spark")
def test_a_batch_job_and_a_streaming_query_run_on_the_java_that_was_found(tmp_path: Path) -> None:
    found = java_home()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path / "warehouse")],
        env={**os.environ, "JAVA_HOME": str(found.path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {"batch": 499_500, "groups": 2, "java": found.major}
