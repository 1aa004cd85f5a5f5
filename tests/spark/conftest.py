"""One cluster for all tests that need Spark, and drivers on it.

    def test_something(spark_on: SparkOn) -> None:
        with spark_on(executors=2, settings={"spark.locality.wait": "0s"}) as spark:
            ...

The cluster is started by the first test that asks for it and has room for 16 executors; every `spark_on` is an
application of its own, stopped at the end of its block. One process can have one at a time.
"""

from collections.abc import Iterator
from functools import partial

import pytest

from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from tests.spark.driving import SparkOn, driver


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Shared by the whole run: two workers of eight cores. A test that kills its processes starts one of its own."""
    with LocalCluster(ClusterSettings(workers=2, cores=8, memory="8g")) as cluster:
        yield cluster


@pytest.fixture
def spark_on(cluster: LocalCluster) -> SparkOn:
    """Starts a session on the shared cluster: `with spark_on(executors=2) as spark:`."""
    return partial(driver, cluster)
