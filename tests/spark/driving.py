"""Sessions for tests, with executors as small as they can be."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from elastream.development.cluster.local_cluster import LocalCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# JVMs that live for a minute spend much of it compiling for the long run.
_SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
SHORT_LIVED = {"spark.driver.extraJavaOptions": _SHORT_LIVED, "spark.executor.extraJavaOptions": _SHORT_LIVED}
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
"""For a few thousand rows: with it no executor that comes compiles every query anew."""


class SparkOn(Protocol):
    """A session on the shared cluster for the length of a `with` block."""

    def __call__(
        self, *, executors: int, settings: Mapping[str, str] | None = None, name: str = "test"
    ) -> AbstractContextManager[SparkSession]: ...


@contextmanager
def local_session(name: str, folder: Path, slots: int = 2) -> Iterator[SparkSession]:
    """Spark in this process, for what needs no cluster."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": f"local[{slots}]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **SHORT_LIVED,
        "spark.log.level": "OFF",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = SparkSession.builder.appName(name).config(map=dict(settings)).getOrCreate()
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def driver(
    cluster: LocalCluster, *, executors: int, settings: Mapping[str, str] | None = None, name: str = "test"
) -> Iterator[SparkSession]:
    """An application that has all its executors, of one core and 512 MB each, when the block begins.

    `spark.cores.max` is their number; a test that grows sets it higher and shrinks at once, or begins with all.
    """
    # Not at the top: without pyspark, tests are to be collected and skipped.
    from pyspark.sql import SparkSession

    chosen = {
        **cluster.settings_for_driver(),
        **SHORT_LIVED,
        "spark.cores.max": str(executors),
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        # The context waits for its executors, so that no test has to.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Ending executors on purpose makes Spark log pages of warnings.
        "spark.log.level": "OFF",
        "spark.sql.warehouse.dir": str(cluster.folder / "scratch" / "warehouse"),
        **(settings or {}),
    }
    spark = SparkSession.builder.appName(name).config(map=dict(chosen)).getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()
