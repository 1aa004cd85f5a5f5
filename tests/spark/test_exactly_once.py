"""No record is lost or doubled, whatever happens to executors, workers, the driver and the controller.

All queries run in one application, so that each action hits every one of them. Inputs go on until the driver is killed,
the last of the actions, and end two batches later: no action depends on how fast the machine is.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from elastream.spark.cluster import LocalCluster
from tests.spark.exactly_once.actions import ACTIONS, Scene, act
from tests.spark.exactly_once.application import Application
from tests.spark.exactly_once.proof import assert_nothing_lost_or_doubled
from tests.spark.exactly_once.workers import SpareWorker

pytestmark = pytest.mark.needs("spark")

QUERIES = {
    "rocksdb": ("stateless", "windowed", "joined", "sessions", "processor", "each_batch"),
    "hdfs": ("windowed", "joined", "sessions"),
}
# Each query meets each action, and each state store does; who controls is Elastream's loop in one of them.
ACTIONS_ON = {
    "rocksdb": ("decommission", "kill_executor", "grow", "replace_controller", "kill_worker"),
    "hdfs": ("attach_again", "kill_executor", "grow", "kill_worker"),
}
# In the matrix each action comes several times, and nothing else with it.
TIMES = 3


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
    play(cluster, spare, tmp_path, store, ACTIONS_ON[store])


@pytest.mark.full
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("store", QUERIES)
def test_nothing_is_lost_or_doubled_by_one_action_alone(
    cluster: LocalCluster, spare: SpareWorker, tmp_path: Path, store: str, action: str
) -> None:
    # Two of them come in turns, or there would be nothing to add or to take away.
    turns = {"grow": ("decommission", "grow"), "decommission": ("decommission", "grow")}
    play(cluster, spare, tmp_path, store, turns.get(action, (action,)) * TIMES)


def play(cluster: LocalCluster, spare: SpareWorker, folder: Path, store: str, actions: Sequence[str]) -> None:
    with Application(cluster, folder, QUERIES[store], store=store) as application:
        application.start()
        application.until_batches(1)
        scene = Scene(application=application, spare=spare)
        for action in actions:
            act(scene, action)
        application.kill()
        application.end_input(after_batches=2)
        application.start()
        application.finish()
        assert_nothing_lost_or_doubled(application)
