"""No record is lost or doubled, whatever happens to executors, workers, the driver and the controller.

All queries run in one application, so that each action hits every one of them. Inputs go on until the driver is killed,
the last of the actions, and end two batches later: no action depends on how fast the machine is.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from elastream.spark.cluster import LocalCluster
from tests.spark.exactly_once.actions import Scene, act
from tests.spark.exactly_once.application import Application
from tests.spark.exactly_once.proof import assert_nothing_lost_or_doubled
from tests.spark.exactly_once.workers import SpareWorker

pytestmark = pytest.mark.needs("spark")

ORDER = ("decommission", "kill_executor", "grow", "replace_controller", "kill_worker")
QUERIES = {
    "rocksdb": ("stateless", "windowed", "joined", "sessions", "processor", "each_batch"),
    "hdfs": ("windowed", "joined", "sessions"),
}


@pytest.fixture(scope="module")
def spare(cluster: LocalCluster) -> Iterator[SpareWorker]:
    with SpareWorker(cluster) as spare:
        yield spare


def test_undisturbed_queries_give_every_row_once(cluster: LocalCluster, tmp_path: Path) -> None:
    with Application(cluster, tmp_path, ("stateless", "windowed"), executors=2) as application:
        application.end_input(after_batches=3)
        application.start()
        application.finish()
        assert_nothing_lost_or_doubled(application)


@pytest.mark.parametrize("store", QUERIES)
def test_nothing_is_lost_or_doubled_whatever_is_done_to_the_application(
    cluster: LocalCluster, spare: SpareWorker, tmp_path: Path, store: str
) -> None:
    with Application(cluster, tmp_path, QUERIES[store], store=store) as application:
        application.start()
        application.until_batches(1)
        scene = Scene(application=application, spare=spare)
        for action in ORDER:
            act(scene, action)
        application.kill()
        application.end_input(after_batches=2)
        application.start()
        application.finish()
        assert_nothing_lost_or_doubled(application)
