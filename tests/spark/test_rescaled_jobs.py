"""Every job stopped in mid-stream and started again with another number of executors: its rows are still right."""

from pathlib import Path

import pytest

from elastream.development.cluster.local_cluster import LocalCluster
from elastream.jobs.catalogue import jobs
from elastream.jobs.judging import inputs_of, judge
from elastream.jobs.output import written
from elastream.jobs.settings import settings_of
from tests.jobs.running import run
from tests.spark.driving import driver

pytestmark = [pytest.mark.needs("spark"), pytest.mark.full]

ROWS = 8_000
EXECUTORS = (1, 3)
INPUT = {"workload": "constant(500)", "rowsPerBatch": "2000", "partitions": "3", "seed": "21", "disorder": "5"}


@pytest.fixture(scope="module")
def folder(cluster: LocalCluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder per job, with what it wrote: half of the input on one executor, the rest on three."""
    where = tmp_path_factory.mktemp("jobs")
    for executors in EXECUTORS:
        with driver(cluster, executors=executors, settings=settings_of(max(EXECUTORS))) as spark:
            for name in jobs.names():
                job = jobs.build(name)
                first = {**INPUT, "rows": str(ROWS // 2)}
                run(spark, job, first if executors == EXECUTORS[0] else whole(name), where / name)
    return where


def whole(name: str) -> dict[str, str]:
    return {**INPUT, "rows": str(ROWS), **jobs.build(name).result.flush}


@pytest.mark.parametrize("name", jobs.names())
def test_its_rows_are_right_on_other_executors_after_a_restart(name: str, folder: Path) -> None:
    job = jobs.build(name)
    verdict = judge(job, inputs_of(job, whole(name)), written(job.result, folder / name))
    assert verdict.right, verdict.sentence
