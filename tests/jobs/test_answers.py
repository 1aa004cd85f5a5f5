"""Every job over a finite input gives exactly the rows that DuckDB gives."""

from pathlib import Path
from typing import Any

import pytest

from elastream.jobs.catalogue import jobs
from elastream.jobs.judging import inputs_of, judge
from elastream.jobs.output import written
from tests.jobs.running import run, run_in_two

pytestmark = pytest.mark.needs("spark")

INPUT = {"workload": "constant(500)", "rows": "20000", "rowsPerBatch": "6000", "partitions": "3", "seed": "3"}
# Within the watermark of every job, so that nothing may be dropped.
UNTIDY = {**INPUT, "disorder": "5"}


def flushed(name: str, options: dict[str, str]) -> dict[str, str]:
    """Results of a job that waits for its watermark come out when the watermark has passed them."""
    return {**options, **jobs.build(name).result.flush}


# One of each kind; the others, and every preset, are in the long matrix.
SELECTED = (
    "aggregation", "enrichment", "nexmark-q1", "nexmark-q11", "nexmark-q5", "nexmark-q8", "wordcount", "yahoo",
)  # fmt: skip
NAMES = [pytest.param(name, marks=() if name in SELECTED else pytest.mark.full) for name in jobs.names()]


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_are_those_of_an_independent_computation(name: str, spark: Any, tmp_path: Path) -> None:
    job, options = jobs.build(name), flushed(name, UNTIDY)
    run_in_two(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


@pytest.mark.full
@pytest.mark.parametrize("seed", ["11", "12", "13"])
@pytest.mark.parametrize("name", jobs.names())
def test_its_rows_are_right_with_other_seeds(name: str, seed: str, spark: Any, tmp_path: Path) -> None:
    job, options = jobs.build(name), flushed(name, {**UNTIDY, "seed": seed})
    run(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


@pytest.mark.full
def test_streams_of_equal_pace_give_the_same_rows_when_the_faster_one_sets_the_watermark(
    spark: Any, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
    job, options = jobs.build("enrichment"), flushed("enrichment", INPUT)
    run(session, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence
