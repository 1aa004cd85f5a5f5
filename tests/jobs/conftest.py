"""Spark in this process for the tests of jobs, one session per file: what they compute needs no cluster."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.driving import SHORT_LIVED


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Two threads, as many state partitions."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        **SHORT_LIVED,
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = SparkSession.builder.appName("jobs").config(map=dict(settings)).getOrCreate()
        try:
            yield session
        finally:
            session.stop()
