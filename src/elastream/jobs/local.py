"""Spark inside this process, without a cluster: what a job computes, and how fast, can be seen on any machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elastream.daemons.java import java_home
from elastream.daemons.ports import LOOPBACK
from elastream.development.cluster.driver import DriverEnvironment
from elastream.jobs.settings import settings_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def local_spark(folder: Path, *, slots: int | None = None, jars: Sequence[Path] = ()) -> Iterator[SparkSession]:
    """A session with a thread per slot; without a number, one per core. Its log and its scratch are in the folder."""
    from pyspark.sql import SparkSession

    threads = slots or os.cpu_count() or 1
    chosen = {
        **settings_of(threads),
        "spark.driver.bindAddress": LOOPBACK,
        "spark.driver.host": LOOPBACK,
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={log_to_file(folder)}",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **({"spark.jars": ",".join(map(str, jars))} if jars else {}),
    }
    environment = DriverEnvironment()
    environment.set("JAVA_HOME", str(java_home().path))
    environment.set("PYSPARK_PYTHON", os.environ.get("PYSPARK_PYTHON") or sys.executable)
    environment.set("SPARK_LOCAL_IP", LOOPBACK)
    try:
        builder = SparkSession.builder.appName("elastream-job").master(f"local[{threads}]")
        spark = builder.config(map=dict(chosen)).getOrCreate()
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        environment.restore()


def log_to_file(folder: Path) -> Path:
    """Settings of log4j in the folder: what Spark has to say goes to a file beside them."""
    settings = folder / "log4j2.properties"
    settings.write_text(
        "rootLogger.level = warn\n"
        "rootLogger.appenderRef.file.ref = file\n"
        "appender.file.type = File\n"
        "appender.file.name = file\n"
        f"appender.file.fileName = {folder / 'spark.log'}\n"
        "appender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %d{ISO8601} %p %c{1}: %m%n%ex\n"
    )
    return settings
