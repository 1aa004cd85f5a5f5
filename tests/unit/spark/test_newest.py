"""What offsets count, and what has arrived by now."""

from typing import Any

import pytest

from elastream.core.observation import ReadLimit
from elastream.spark.jvm.snapshot import SourceSeen
from elastream.spark.observe.offsets import Sample
from elastream.spark.observe.probes import probe_for, read_limit
from elastream.spark.observe.source_tracker import SourceTracker

STREAMS = "org.apache.spark.sql.execution.streaming.sources"
PYTHON = "org.apache.spark.sql.execution.datasources.v2.python.PythonMicroBatchStreamWithAdmissionControl"


def rate(**options: str) -> SourceSeen:
    return SourceSeen(kind=f"{STREAMS}.RateStreamMicroBatchStream", options=options, created_s=1000.0)


def test_a_rate_source_has_its_rows_of_every_whole_second() -> None:
    source = rate(rowsPerSecond="50")
    probe = probe_for(source)
    assert probe.newest(1010.9, (), None) == Sample(1010.9, {"": 500.0})
    assert probe.newest(990.0, (), None) == Sample(990.0, {"": 0.0})
    assert SourceTracker(source).between(3, 10) == 350.0


@pytest.mark.parametrize(("seconds", "rows"), [(0, 0), (1, 2), (2, 6), (3, 12), (4, 20), (5, 30), (6, 40)])
def test_a_rate_source_that_ramps_up_follows_sparks_own_table(seconds: int, rows: int) -> None:
    source = rate(rowsPerSecond="10", rampUpTime="4s")
    assert probe_for(source).newest(1000.0 + seconds, (), None) == Sample(1000.0 + seconds, {"": rows})


def test_a_rate_source_whose_options_are_not_shown_counts_nothing() -> None:
    source = SourceSeen(kind=f"{STREAMS}.RateStreamMicroBatchStream", options=None, created_s=1000.0)
    probe = probe_for(source)
    assert probe.records(3) is None
    assert probe.newest(1010.0, (), None) is None


def test_the_embedded_source_is_asked_by_arithmetic_with_the_start_in_its_offsets() -> None:
    source = SourceSeen(kind=PYTHON, table="elastream", options={"workload": "constant(100)"})
    probe = probe_for(source)
    offset = {"offset": 40, "start_ms": 2_000_000}
    assert probe.newest(2010.0, (None, offset), None) == Sample(2010.0, {"": 1000.0})
    assert next(probe.past(2010.0, (offset,), None)) == Sample(2000.0, {"": 0.0})
    assert probe.newest(2010.0, (), None) is None
    assert probe.records(offset) == {"": 40.0}


@pytest.mark.parametrize(
    ("offset", "records"),
    [
        ({"records": 7}, 7.0),
        ({"offset": 7, "timestamp": 1}, 7.0),
        ({"topic": {"0": 3, "1": 4}, "other": {"0": 5}}, 12.0),
        ({"logOffset": 3}, None),
        ("text", None),
        (5, None),
        (None, None),
        ({}, None),
        ({"topic": {"0": "x"}}, None),
    ],
)
def test_other_offsets_count_where_they_hold_a_number_of_records(offset: Any, records: float | None) -> None:
    source = SourceSeen(kind="com.example.Unheard")
    counts = probe_for(source).records(offset)
    assert (None if counts is None else sum(counts.values())) == records
    assert probe_for(source).newest(1000.0, (offset,), None) is None


def test_files_are_not_counted_by_their_offsets() -> None:
    source = SourceSeen(kind="org.apache.spark.sql.execution.streaming.runtime.FileStreamSource")
    assert probe_for(source).records({"logOffset": 3}) is None


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (None, None),
        ("All Available", None),
        ("MaxRows: 500", ReadLimit(500.0)),
        ('PythonStreamingSourceReadLimit({"max_rows": 300, "_type": "ReadMaxRows"})', ReadLimit(300.0)),
        ("MaxFiles: 4", ReadLimit(4.0, "files")),
    ],
)
def test_a_read_limit_is_read_from_sparks_text(text: str | None, limit: ReadLimit | None) -> None:
    assert read_limit(SourceSeen(kind="x", limit=text)) == limit
