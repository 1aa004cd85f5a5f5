"""No record is lost or doubled, whatever happens to executors, workers, the driver and the controller.

All queries run in one application, so that each action hits every one of them. Inputs go on until the driver is killed,
the last of the actions, and end two batches later: no action depends on how fast the machine is.
"""

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from elastream.development.cluster.local_cluster import LocalCluster
from tests.spark.exactly_once.actions import ACTIONS, Scene, act
from tests.spark.exactly_once.application import Application
from tests.spark.exactly_once.inputs import ROCKSDB_ONLY
from tests.spark.exactly_once.proof import assert_nothing_lost_or_doubled
from tests.spark.exactly_once.workers import SpareWorker

pytestmark = pytest.mark.needs("spark")

QUERIES = {
    "rocksdb": ("stateless", "windowed", "joined", "sessions", "processor", "each_batch"),
    "hdfs": ("windowed", "joined", "sessions"),
}
# Outside of the matrix: one application with both stores and both sinks, where each query meets an executor that leaves
# at the word of Elastream's loop, one that comes, one that is killed and a worker that is lost.
SELECTED = {"windowed": "rocksdb", "processor": "rocksdb", "joined": "hdfs"}
ACTED = ("attach_again", "grow", "kill_executor", "kill_worker")
# Spark's Python workers import it for transformWithState; pyspark does not bring it along.
PROTOBUF = "google.protobuf"
# In the matrix each action comes several times; those that take an executor away with one that adds it again.
TIMES = 3
ALONE = {action: (action,) for action in ACTIONS if action != "grow"} | {
    "decommission": ("decommission", "grow"),
    "attach_again": ("attach_again", "grow"),
}


@pytest.fixture(scope="module")
def spare(cluster: LocalCluster) -> Iterator[SpareWorker]:
    with SpareWorker(cluster) as spare:
        yield spare


@pytest.mark.full
def test_undisturbed_queries_give_every_row_once(cluster: LocalCluster, tmp_path: Path) -> None:
    stores = dict.fromkeys(("stateless", "windowed"), "rocksdb")
    with Application(cluster, tmp_path, stores, executors=2) as application:
        application.end_input(after_batches=3)
        application.start()
        application.finish()
        assert_nothing_lost_or_doubled(application)


def test_nothing_is_lost_or_doubled_whatever_is_done_to_the_application(
    cluster: LocalCluster, spare: SpareWorker, tmp_path: Path
) -> None:
    play(cluster, spare, tmp_path, SELECTED, ACTED, executors=2, compiled=False)


@pytest.mark.full
@pytest.mark.parametrize("action", ALONE)
@pytest.mark.parametrize("store", QUERIES)
def test_nothing_is_lost_or_doubled_by_one_action_alone(
    cluster: LocalCluster, spare: SpareWorker, tmp_path: Path, store: str, action: str
) -> None:
    play(cluster, spare, tmp_path, dict.fromkeys(QUERIES[store], store), ALONE[action] * TIMES)


def test_transform_with_state_takes_part() -> None:
    if missing_here():
        pytest.skip(f"needs {PROTOBUF}: left out of the other tests: {', '.join(missing_here())}")


def missing_here() -> tuple[str, ...]:
    try:
        return () if importlib.util.find_spec(PROTOBUF) else ROCKSDB_ONLY
    except ModuleNotFoundError:
        return ROCKSDB_ONLY


def play(
    cluster: LocalCluster,
    spare: SpareWorker,
    folder: Path,
    stores: Mapping[str, str],
    actions: Sequence[str],
    *,
    executors: int = 3,
    compiled: bool = True,
) -> None:
    stores = {name: store for name, store in stores.items() if name not in missing_here()}
    with Application(cluster, folder, stores, executors=executors, compiled=compiled) as application:
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
