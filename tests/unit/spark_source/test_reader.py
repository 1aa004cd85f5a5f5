import pickle
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

pytest.importorskip("pyspark", reason="needs pyspark, though no Java")

from pyspark import cloudpickle
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows

from elastream.core.errors import BadInput, CannotRun
from elastream.development.embedded_source import Reader, _check_python, events, newest
from elastream.development.shipping import shipped_by_value

OPTIONS = {"workload": "cosine(1k..9k, period=60s, noise=500)", "seed": "7", "partitions": "3", "start": "1000"}


def at(monkeypatch: pytest.MonkeyPatch, now_s: float) -> None:
    monkeypatch.setattr(time, "time", lambda: now_s)


def read(reader: Reader, start: dict[str, Any], end: dict[str, Any]) -> pa.Table:
    """What the tasks of a batch make, in the order of offsets."""
    parts = [batch for partition in reader.partitions(start, end) for batch in reader.read(partition)]
    return pa.Table.from_batches(parts).sort_by("offset")


def planned(options: Mapping[str, str], start: dict[str, Any], limit: ReadLimit | None = None) -> dict[str, Any]:
    """The end of a batch, as a reader plans it that has just been started."""
    return Reader(options).latestOffset(start, limit or ReadAllAvailable())


def test_batches_of_restarted_readers_have_no_gap_and_no_double(monkeypatch: pytest.MonkeyPatch) -> None:
    offset, tables = Reader(OPTIONS).initialOffset(), []
    for now_s in (1000.2, 1000.9, 1003.0, 1007.0):
        at(monkeypatch, now_s)
        end = planned(OPTIONS, offset)
        tables.append(read(Reader(OPTIONS), offset, end))
        offset = end
    assert offset["offset"] == newest(OPTIONS, 1007.0)
    assert pa.concat_tables(tables).combine_chunks().equals(events(OPTIONS, 0, offset["offset"]).combine_chunks())


def test_an_event_stays_in_its_partition(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 1002.0)
    reader = Reader(OPTIONS)
    first = {**reader.initialOffset(), "offset": 100}
    parts = reader.partitions(first, {**first, "offset": 1_000})
    for part in parts:
        (made,) = reader.read(part)
        assert len(set(made.column("partition").to_pylist())) == 1
        assert made.column("offset").to_numpy().min() >= 100
    assert len(parts) == 3
    assert len(reader.partitions(first, {**first, "offset": 102})) == 2
    assert reader.partitions(first, first) == []


def test_the_read_limit_is_respected_and_the_rest_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 1005.0)
    reader = Reader({**OPTIONS, "rowsPerBatch": "700"})
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(700)
    assert reader.reportLatestOffset() is None
    end = reader.latestOffset(reader.initialOffset(), limit)
    latest = reader.reportLatestOffset()
    assert end["offset"] == 700
    assert latest == {**end, "offset": newest(OPTIONS, 1005.0)}
    assert planned(OPTIONS, end)["offset"] == newest(OPTIONS, 1005.0)
    assert Reader(OPTIONS).getDefaultReadLimit() == ReadAllAvailable()


def test_a_source_with_an_end_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {**OPTIONS, "rows": "1000"}
    at(monkeypatch, 9_000.0)
    end = planned(options, Reader(options).initialOffset())
    assert end["offset"] == 1_000
    assert planned(options, end) == end


def test_a_clock_that_is_set_back_takes_no_event_back(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 1005.0)
    end = planned(OPTIONS, Reader(OPTIONS).initialOffset())
    at(monkeypatch, 1001.0)
    assert planned(OPTIONS, end) == end


def test_without_a_start_the_first_one_counts_and_a_restart_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {key: value for key, value in OPTIONS.items() if key != "start"}
    at(monkeypatch, 1000.0)
    offset = Reader(options).initialOffset()
    at(monkeypatch, 1020.0)
    end = planned(options, offset)
    assert end["offset"] == newest(OPTIONS, 1020.0) == newest(options, 1020.0, end)


def test_a_trigger_that_ends_sees_nothing_that_comes_later(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, 1002.0)
    reader = Reader(OPTIONS)
    reader.prepareForTriggerAvailableNow()
    at(monkeypatch, 1009.0)
    end = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    assert end["offset"] == newest(OPTIONS, 1002.0)


def test_a_checkpoint_of_other_events_or_another_start_is_refused() -> None:
    start = Reader(OPTIONS).initialOffset()
    with pytest.raises(BadInput, match="the checkpoint is of other events"):
        planned({**OPTIONS, "seed": "8"}, start)
    with pytest.raises(BadInput, match=r"start: found 2000\.000, but the checkpoint began at 1000\.000"):
        planned({**OPTIONS, "start": "2000"}, start)


# In a process that has neither Elastream nor pydantic.
ELSEWHERE = """
import pickle, sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("elastream", "pydantic"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
reader, partitions = pickle.load(sys.stdin.buffer)
pickle.dump([batch.to_pylist() for part in partitions for batch in reader.read(part)], sys.stdout.buffer)
"""


def test_a_reader_makes_the_same_events_where_elastream_is_not_installed() -> None:
    reader = Reader(OPTIONS)
    start = reader.initialOffset()
    partitions = reader.partitions(start, {**start, "offset": 30})
    with shipped_by_value():
        shipped = cloudpickle.dumps((reader, partitions))  # type: ignore[no-untyped-call]
    done = subprocess.run([sys.executable, "-c", ELSEWHERE], input=shipped, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    made = [row for rows in pickle.loads(done.stdout) for row in rows]
    assert sorted(made, key=lambda row: int(row["offset"])) == events(OPTIONS, 0, 30).to_pylist()
    assert len(shipped) < 100_000
    assert len(pickle.dumps(partitions[0])) < 1_000


def test_shipping_by_value_ends_with_its_block() -> None:
    with shipped_by_value(), shipped_by_value():
        pass
    assert "elastream" not in cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]


def test_workers_that_lack_elastream_are_told_with_the_remedy(tmp_path: Any) -> None:
    _check_python(sys.executable)
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\necho \"ModuleNotFoundError: No module named 'elastream'\" >&2\nexit 1\n")
    other.chmod(0o755)
    with pytest.raises(CannotRun, match="No module named 'elastream'; set PYSPARK_PYTHON=") as wrong:
        _check_python(str(other))
    assert "\n" not in str(wrong.value)
