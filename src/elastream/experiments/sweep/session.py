"""The Spark session that a sweep runs in: on threads of this process, or on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from elastream.core.errors import BadInput
from elastream.daemons.java import java_home
from elastream.daemons.ports import LOOPBACK
from elastream.development.cluster.daemon_settings import JAVA_OPTIONS, LITTLE_WORK
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver
from elastream.development.cluster.finder import Master
from elastream.experiments.driver import start_driver
from elastream.jobs.local import log_to_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKED = "environment"
"""Under which name executors unpack a Python environment."""


@contextmanager
def sweep_session(master: Master, folder: Path, *, environment: Path | None = None) -> Iterator[SparkSession]:
    """A session for sweeps; Spark's log is in the folder. `environment` is a packed Python for executors."""
    from pyspark.sql import SparkSession

    is_local = master.url.startswith("local")
    if environment is not None and is_local:
        raise BadInput(f"--environment: {master.url} runs in the Python of this command; name a cluster with --on")
    if environment is not None and not environment.is_file():
        raise BadInput(f"--environment {environment}: there is no such file; venv-pack or conda-pack makes one")
    folder.mkdir(parents=True, exist_ok=True)
    variables = DriverEnvironment()
    try:
        variables.set("JAVA_HOME", str(java_home().path))
        chosen = _settings(folder)
        if is_local:
            variables.set("SPARK_LOCAL_IP", LOOPBACK)
            variables.set("PYSPARK_PYTHON", sys.executable)
            chosen |= {"spark.master": master.url, "spark.driver.host": LOOPBACK, "spark.ui.enabled": "false"}
        elif master.cluster is None:
            chosen |= {"spark.master": master.url}
        if environment is not None:
            chosen |= {"spark.archives": f"{environment.absolute()}#{PACKED}"}
            variables.set("PYSPARK_PYTHON", f"./{PACKED}/bin/python")
        if master.cluster is not None:
            chosen |= settings_for_driver(master.cluster, variables)
        spark = start_driver(SparkSession.builder.appName("elastream-sweep").config(map=dict(chosen)), folder)
        try:
            yield spark
        finally:
            spark.stop()
    finally:
        variables.restore()


def _settings(folder: Path) -> dict[str, str]:
    logging = f"-Dlog4j2.configurationFile={log_to_file(folder)}"
    return {
        # What the JVMs do here is little: Python computes.
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {LITTLE_WORK} {logging}",
        "spark.executor.extraJavaOptions": f"{JAVA_OPTIONS} {LITTLE_WORK}",
        "spark.ui.showConsoleProgress": "false",
        # Two attempts of one experiment would write one folder.
        "spark.speculation": "false",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # Summaries are of a few thousand rows: a partition for each slot is too many, and a job to list files as well.
        "spark.sql.shuffle.partitions": str(min(8, os.cpu_count() or 1)),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    }
