"""How far a query has come, as its checkpoint tells."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.jobs.checkpoint import last_commit, read_checkpoint
from elastream.jobs.job import Result
from elastream.jobs.output import written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("commits", "offsets"):
        (tmp_path / "checkpoint" / name).mkdir(parents=True)
    return tmp_path


def begin(folder: Path, batch: int, watermark_ms: int, *sources: object) -> None:
    lines = ["v1", json.dumps({"batchWatermarkMs": watermark_ms, "conf": {}}), *map(json.dumps, sources)]
    (folder / "checkpoint" / "offsets" / str(batch)).write_text("\n".join(lines))


def commit(folder: Path, batch: int) -> None:
    (folder / "checkpoint" / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
    (folder / "checkpoint" / "commits" / f".{batch}.crc").write_text("")


def test_before_the_first_commit_there_is_nothing(tmp_path: Path, folder: Path) -> None:
    assert read_checkpoint(tmp_path / "nowhere") is None
    begin(folder, 0, 0, {"ads": {"0": 5}})
    assert read_checkpoint(folder) is None


def test_the_last_committed_batch_tells_offsets_and_watermark(folder: Path) -> None:
    for batch in (9, 10):
        begin(folder, batch, 1_577_836_800_125 * (batch - 9), {"ads": {"0": batch, "1": 7}}, {"users": {"0": 3}})
        commit(folder, batch)
    found = read_checkpoint(folder)
    assert found is not None
    assert (found.batch, found.is_between) == (10, True)
    assert found.ends == {"ads": {0: 10, 1: 7}, "users": {0: 3}}
    assert found.watermark == datetime(2020, 1, 1, 0, 0, 0, 125_000, tzinfo=UTC)


def test_a_batch_that_has_only_begun_counts_for_nothing_but_is_seen(folder: Path) -> None:
    begin(folder, 0, 0, {"ads": {"0": 5}})
    commit(folder, 0)
    begin(folder, 1, 1_000, {"ads": {"0": 9}})
    found = read_checkpoint(folder)
    assert found is not None
    assert (found.ends, found.watermark, found.is_between) == ({"ads": {0: 5}}, None, False)
    assert last_commit(folder) == 0


def test_rows_of_a_batch_that_was_not_committed_did_not_come_out(folder: Path) -> None:
    log = folder / "out" / "_spark_metadata"
    log.mkdir(parents=True)
    for batch in (0, 1):
        pq.write_table(pa.table({"n": [batch]}), folder / "out" / f"{batch}.parquet")
        entry = {"path": (folder / "out" / f"{batch}.parquet").as_uri(), "action": "add"}
        (log / str(batch)).write_text(f"v1\n{json.dumps(entry)}\n")
    begin(folder, 1, 0)
    commit(folder, 0)
    found = written(Result(), folder)
    assert found is not None
    assert found["n"].to_pylist() == [0]
    commit(folder, 1)
    both = written(Result(), folder)
    assert both is not None
    assert both["n"].to_pylist() == [0, 1]
