"""File sources: records that wait, estimated from bytes, whatever happens to the files."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from elastream.core.observation import Source
from elastream.spark.jvm.snapshot import FilesSeen, LogSeen, SourceSeen
from elastream.spark.observe.source_tracker import Read, SourceTracker
from tests.unit.spark.reading import folded

FILES = SourceSeen(kind="org.apache.spark.sql.execution.streaming.runtime.FileStreamSource", limit="MaxFiles: 2")
ZERO_UTC_S = 1_000_000.0


def listed(
    at_s: float,
    arrived: float,
    waiting: float,
    batches: Mapping[int, float] | None = None,
    *,
    past: tuple[tuple[float, float], ...] = (),
    began_s: float = 0.0,
    took_s: float = 0.1,
) -> LogSeen:
    """A listing in bytes; every file has 100 of them."""
    return LogSeen(
        utc_s=at_s + ZERO_UTC_S,
        files=FilesSeen(
            began_s=began_s,
            took_s=took_s,
            arrived=(arrived, arrived / 100),
            waiting=(waiting, waiting / 100),
            batches={number: (size, size / 100) for number, size in (batches or {}).items()},
            past=tuple((then_s + ZERO_UTC_S, size) for then_s, size in past),
        ),
    )


class Followed:
    """A source that is looked at, and whose batches end."""

    def __init__(self) -> None:
        self.input = SourceTracker(FILES)

    def look(self, at_s: float, log: LogSeen | None, *, committed: int | None = None) -> Source:
        self.input.see(
            at_s, at_s + ZERO_UTC_S, committed=_offset(committed), available=None, latest=None, asked_s=None, log=log
        )
        return self.input.source(0, at_s, None)

    def end(self, batch: int, rows: int, at_s: float, **how: Any) -> Read:
        start = _offset(batch - 1) if batch else None
        progress = {"startOffset": start, "endOffset": _offset(batch), "numInputRows": rows}
        return self.input.take(progress, at_s, **{"is_foreach": False, **how})


def _offset(batch: int | None) -> Any:
    return None if batch is None else {"logOffset": batch}


def test_before_a_batch_has_ended_files_that_wait_are_an_unknown_lag_and_not_none() -> None:
    seen = Followed().look(10.0, listed(9.0, 1_000, 800, {0: 200}))
    assert (seen.arrived, seen.backlog) == (None, None)
    assert seen.problem == "8 files (0.0 MB) wait, and no batch has shown what files hold"


def test_bytes_become_records_by_what_was_read_so_far() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 1_000, 800, {0: 200}))
    source.end(0, rows=20, at_s=11.0)
    seen = source.look(12.0, listed(11.5, 1_100, 700, {0: 200, 1: 200}), committed=0)
    assert (seen.arrived_from, seen.problem) == ("estimated", None)
    assert seen.arrived is not None
    assert seen.arrived.value == pytest.approx(110)
    assert seen.arrived.at_s == pytest.approx(11.5)
    # The batch that runs is backlog as well.
    assert seen.backlog == pytest.approx(90)


def test_when_no_file_waits_nothing_does_though_rows_per_byte_have_changed() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 400, 200, {0: 200}))
    source.end(0, rows=20, at_s=11.0)
    totals = [source.look(12.0, listed(12.0, 400, 0, {0: 200, 1: 200}), committed=0)]
    source.end(1, rows=2, at_s=13.0)
    totals.append(source.look(14.0, listed(14.0, 600, 0, {0: 200, 1: 200, 2: 200}), committed=1))
    source.end(2, rows=2, at_s=15.0)
    totals.append(source.look(16.0, listed(16.0, 600, 0, {0: 200, 1: 200, 2: 200}), committed=2))
    assert totals[-1].backlog == 0
    for before, after in pairwise(totals):
        assert before.arrived is not None
        assert after.arrived is not None
        assert before.committed is not None
        assert after.committed is not None
        assert after.arrived.value >= before.arrived.value
        assert after.committed.value >= before.committed.value


def test_files_that_vanish_unread_are_nobodys_backlog_and_totals_do_not_fall() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 1_000, 800, {0: 200}))
    source.end(0, rows=20, at_s=11.0)
    source.look(12.0, listed(12.0, 1_000, 800, {0: 200}), committed=0)
    seen = source.look(14.0, listed(14.0, 1_000, 300, {0: 200}), committed=0)
    assert seen.arrived is not None
    assert seen.arrived.value == pytest.approx(100)
    assert seen.backlog == pytest.approx(30)


def test_age_and_delay_come_from_the_times_of_the_files() -> None:
    source = Followed()
    past = ((2.0, 0.0), (2.001, 200.0), (6.0, 200.0), (6.001, 400.0))
    source.look(10.0, listed(9.0, 400, 200, {0: 200}, past=past))
    source.end(0, rows=20, at_s=11.0)
    seen = source.look(12.0, listed(12.0, 400, 0, {0: 200, 1: 200}, past=past), committed=0)
    assert seen.backlog_age_s is not None
    assert seen.backlog_age_s.value == pytest.approx(6.0, abs=0.01)
    stretches = source.end(1, rows=20, at_s=13.0).stretches
    assert stretches is not None
    assert sum(stretch.records for stretch in stretches) == pytest.approx(20)
    assert max(stretch.longest_s for stretch in stretches) == pytest.approx(7.0, abs=0.01)


def test_a_batch_of_as_many_files_as_are_allowed_was_limited() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 300, 0, {0: 200, 1: 100}))
    assert source.end(0, rows=20, at_s=11.0).limited is True
    assert source.end(1, rows=10, at_s=12.0).limited is False


def test_in_foreach_batch_the_rows_are_those_that_its_stages_have_read_once() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 400, 200, {0: 200}))
    assert source.end(0, rows=60, at_s=11.0, is_foreach=True, scanned=20.0).rows == 20
    assert source.look(12.0, listed(12.0, 400, 200, {0: 200}), committed=0).backlog == pytest.approx(20)


def test_a_query_that_is_started_again_counts_on() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 400, 200, {0: 200}))
    source.end(0, rows=20, at_s=11.0)
    source.look(12.0, listed(12.0, 400, 0, {0: 200, 1: 200}), committed=0)
    source.end(1, rows=20, at_s=13.0)
    source.look(14.0, listed(14.0, 400, 0, {0: 200, 1: 200}), committed=1)
    # What is listed anew counts from the last two batches on.
    seen = source.look(20.0, listed(20.0, 300, 100, {1: 200}, began_s=15.0), committed=1)
    assert seen.arrived is not None
    assert seen.arrived.value == pytest.approx(50)
    assert seen.backlog == pytest.approx(10)


def test_a_folder_that_cannot_be_listed_makes_the_lag_unknown() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 400, 200, {0: 200}))
    source.end(0, rows=20, at_s=11.0)
    seen = source.look(12.0, LogSeen(problem="AccessControlException: Permission denied"), committed=0)
    assert seen.backlog is None
    assert seen.problem == "its files cannot be listed: AccessControlException: Permission denied"


def test_a_listing_that_takes_long_is_told() -> None:
    source = Followed()
    source.look(10.0, listed(9.0, 400, 200, {0: 200}))
    source.end(0, rows=20, at_s=11.0)
    seen = source.look(20.0, listed(12.0, 400, 200, {0: 200}, took_s=7.0), committed=0)
    assert seen.problem == "its 4 files take 7 s to list"


def test_a_socket_is_watched_only_and_files_are_not() -> None:
    socket = SourceSeen(kind="org.apache.spark.sql.execution.streaming.sources.TextSocketMicroBatchStream")
    assert SourceTracker(socket).watched_only == "TextSocketMicroBatchStream does not tell how many records wait"
    assert Followed().input.watched_only is None


def test_a_source_whose_offsets_are_no_numbers_is_watched_only_once_that_is_seen() -> None:
    other = SourceTracker(SourceSeen(kind="com.example.DeltaSource"))
    assert other.watched_only is None
    other.see(1.0, 2.0, committed={"version": "a"}, available=None, latest=None, asked_s=None)
    assert other.watched_only == "DeltaSource does not tell how many records wait"


def test_in_a_recording_what_has_arrived_is_estimated_within_a_twentieth_and_all_of_it_is_read() -> None:
    judged = 0
    before = 0
    for truth, _, now in folded("files"):
        source = now.queries[0].sources[0] if now.queries and now.queries[0].sources else None
        if source is not None and source.arrived is not None:
            assert source.arrived_from == "estimated"
            # A listing may be older than the file that came last.
            assert 0.95 * before <= source.arrived.value <= 1.05 * truth["written"]
            judged += 1
        before = truth["written"] - 1000
    assert judged >= 10
    last = folded("files")[-2][2].queries[0]
    assert last.backlog == 0
    assert last.delay is not None
    assert 5 < last.delay.p50_s < last.delay.max_s < 15


def test_how_many_tasks_read_files_follows_the_slots_and_is_no_ceiling() -> None:
    seen = [query for _, _, now in folded("files") for query in now.queries if query.operators]
    assert seen
    assert {work.tasks for query in seen for work in query.operators if work.name == "read-0"} == {None}
