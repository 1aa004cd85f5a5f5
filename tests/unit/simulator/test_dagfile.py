"""Continuous jobs from YAML: what is written is what is simulated, and mistakes are told with their place."""

from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.simulator.continuous.model import DataflowModel, Feed
from elastream.simulator.model_file import read_model

GOOD = """
name: words
logs: [{name: sentences, partitions: 12, retention: 5m}]
operators:
  - {name: split, after: sentences, rate_rps: 20k}
  - {name: count, after: {split: 20}, rate_rps: 200k, buffer: 100k, hot_share: 0.1,
     window: {every: 10s, length: 1m, fire_rps: 1M}}
pool: {min_workers: 1, max_workers: 36}
pools: {count: {initial_workers: 3}}
restart: {grow: 30s, shrink: 15s, checkpoint: 10s}
measuring: {busy_ceiling: 0.9}
base_latency: 1s
slo: 30s
"""


def read(text: str, folder: Path) -> DataflowModel:
    path = folder / "job.yaml"
    path.write_text(text)
    model = read_model(path)
    assert isinstance(model, DataflowModel)
    return model


def test_a_file_says_what_a_job_is(tmp_path: Path) -> None:
    model = read(GOOD, tmp_path)
    split, count = model.operators
    assert (split.after, count.after) == ((Feed("sentences"),), (Feed("split", 20.0),))
    assert (count.rate_rps, count.buffer, model.logs[0].retention_s) == (200e3, 100e3, 300.0)
    assert count.window is not None
    assert count.window.panes == 6
    assert {name: pool.initial_workers for name, pool in model.pools.items()} == {"split": 1, "count": 3}
    assert (model.restart.checkpoint_s, model.base_latency_s) == (10.0, 1.0)
    assert model.slo is not None
    assert model.slo.delay_s == 30.0


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("after: sentences", "after: sentence", "operator split comes after 'sentence', which does not exist"),
        ("after: {split: 20}", "after: {split: many}", "operator count: after: found {'split': 'many'}"),
        ("after: {split: 20}", "after: {split: -1}", "operator count: selectivity after split is -1.0"),
        ("after: {split: 20}", "after: [split, sentences]", "operator count comes after logs and operators"),
        ("rate_rps: 20k", "rate_rps: 0", "operator split: rate_rps is 0"),
        ("rate_rps: 20k", "speed: 20k", "operator split has no setting 'speed'"),
        ("max_workers: 36", "most: 36", "pool split has no max_workers"),
        ("pools: {count", "pools: {cuont", "pools has no setting 'cuont'; did you mean 'count'?"),
        ("restart: {grow", "restart: {grwo", "restart has no setting 'grwo'"),
        ("name: sentences, partitions: 12", "name: sentences, partitions: 0", "log sentences has 0 partitions"),
        ("hot_share: 0.1", "hot_share: 1.1", "operator count: hot_share is 1.1"),
        ("every: 10s", "every: 0s", "operator count: window: every_s and fire_rps must be more than 0"),
        ("base_latency: 1s", "base_latncy: 1s", "has no setting 'base_latncy'; did you mean 'base_latency'?"),
    ],
)
def test_a_wrong_file_is_one_line_that_says_where(before: str, after: str, message: str, tmp_path: Path) -> None:
    assert before in GOOD
    with pytest.raises(BadInput) as wrong:
        read(GOOD.replace(before, after, 1), tmp_path)
    assert str(wrong.value).startswith(str(tmp_path / "job.yaml"))
    assert message in str(wrong.value)
    assert "\n" not in str(wrong.value)
