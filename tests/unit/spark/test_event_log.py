"""A plain event log of Spark, as a recording: what it tells, what it cannot, and what is no such log."""

import gzip
from pathlib import Path

import pytest

from elastream.advice.advice import Adviser, parse_option
from elastream.advice.recorded_model import calibrate
from elastream.advice.recorded_run import take_last
from elastream.core.errors import BadInput
from elastream.core.slo import Slo
from elastream.spark.event_log import event_file
from elastream.spark.event_log.application_log import ApplicationLog
from elastream.spark.event_log.event_file import find_event_files
from elastream.spark.event_log.looks import LoggedRun, find_interval, read_event_log
from tests.unit.spark.event_samples import QUERY, application, batch, progress, written

RECORDED = Path(__file__).parents[2] / "recordings" / "spark-event-log.gz"


def logged(path: Path) -> LoggedRun:
    found = read_event_log(path)
    assert found is not None
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "app-1"
    file.write_bytes(written(application()))
    return file


def test_batches_tasks_and_executors_are_looks_of_an_application(log: Path) -> None:
    recording = logged(log).recording
    looks = [tick.observation for tick in recording.ticks]
    first, last = looks[0], looks[-1]
    assert first is not None
    assert last is not None
    [query] = last.queries
    assert query.name == "words"
    assert query.trigger.interval_s == 10.0
    assert query.batches is not None
    assert query.batches.value == 40
    [source] = query.sources
    assert source.committed is not None
    assert source.committed.value == sum(1000 * (1 + number % 3) for number in range(40))
    assert source.backlog == 0
    scan, count = query.operators
    assert scan.busy_s is not None
    assert scan.busy_s.value == pytest.approx(40 * 2 * 2.0)
    assert scan.records_out == count.records_in
    assert query.topology.upstream("stage 2") == ("stage 1",)
    assert query.driver_s is not None
    # Of each batch half a second in which no task ran.
    assert query.driver_s.value == pytest.approx(40 * 0.5, rel=0.01)
    [pool] = first.pools
    assert (pool.ready, pool.min_workers, pool.max_workers) == (2, 1, 6)
    assert last.pools[0].ready == 3
    assert recording.header.application == "app-1"
    assert recording.header.spark == "4.2.0"


def test_what_a_batch_reads_has_arrived_when_it_is_planned(log: Path) -> None:
    looks = [tick.observation for tick in logged(log).recording.ticks]
    # The third batch has begun, and two have ended.
    now = looks[4]
    assert now is not None
    [source] = now.queries[0].sources
    assert source.committed is not None
    assert source.arrived is not None
    assert source.committed.value == 1000 + 2000
    assert source.arrived.value == 1000 + 2000 + 3000
    assert source.arrived.at_s == pytest.approx(now.at_s)
    # It has ended, and nothing is known of what came since it was planned.
    later = looks[5]
    assert later is not None
    [source] = later.queries[0].sources
    assert source.backlog == 0
    assert source.arrived is not None
    assert source.arrived.at_s == pytest.approx(later.at_s - 5)


def test_what_might_have_been_is_told_of_it_with_what_it_cannot_know(log: Path) -> None:
    found = logged(log)
    run = take_last(found.recording, "app-1", unknown=found.unknown)
    adviser = Adviser(run, draws=2, promise=Slo(delay_s=20.0))
    advice = adviser.advise([parse_option("fixed(workers=2)")])
    assert advice.same.label == "the same sizes"
    assert advice.real.executor_hours == pytest.approx((2 * 200 + 3 * 200) / 3600, rel=0.05)
    assert advice.same.prediction.executor_hours is not None
    assert advice.same.prediction.executor_hours.value == pytest.approx(advice.real.executor_hours, rel=0.05)
    assert advice.real.within is not None
    assert any(note.startswith("an event log tells no lag") for note in advice.notes)
    assert any("does not tell who decided" in note for note in advice.notes)


def test_a_query_that_never_waits_for_its_trigger_runs_as_fast_as_it_can() -> None:
    log = ApplicationLog().read(event for n in range(9) for event in batch(n, 4.5 * n, 100))
    assert find_interval(log.queries[QUERY]) is None
    # A progress that tells of no new batch is no batch, but says that nothing had come by then.
    log.update(progress(8, 60.0, 0, 0.1))
    assert len(log.queries[QUERY].batches) == 9
    assert log.queries[QUERY].planned[-1][1] == 900


def test_files_that_spark_rolled_are_read_in_their_order(tmp_path: Path) -> None:
    events = application()
    folder = tmp_path / "eventlog_v2_app-1"
    folder.mkdir()
    for number in range(11):
        part = events[number * 40 : (number + 1) * 40] if number < 10 else events[400:]
        (folder / f"events_{number + 1}_app-1").write_bytes(written(part))
    (folder / "appstatus_app-1.inprogress").touch()
    assert [file.name for file in find_event_files(folder)][-2:] == ["events_10_app-1", "events_11_app-1"]
    queries = [tick.observation.queries for tick in logged(folder).recording.ticks if tick.observation]
    assert queries[-1][0].batches is not None
    assert queries[-1][0].batches.value == 40


def test_what_is_packed_is_unpacked_or_refused_with_the_remedy(tmp_path: Path) -> None:
    packed, torn = tmp_path / "app-1.gz", tmp_path / "app-2.gz"
    packed.write_bytes(gzip.compress(written(application())))
    assert logged(packed).recording.header.name == "clicks"
    # As the newest file of an application that runs.
    torn.write_bytes(gzip.compress(written(application()))[:-200])
    assert any("ends within what is packed" in sentence for sentence in logged(torn).unknown)
    other = tmp_path / "app-3.lz4"
    other.write_bytes(b"LZ4Block")
    with pytest.raises(BadInput, match="packed with lz4, which is not read here; unpack it, or have Spark use zstd"):
        read_event_log(other)


def test_what_zstd_packed_is_read(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    file = tmp_path / "app-1.zstd"
    with arrow.CompressedOutputStream(str(file), "zstd") as stream:
        stream.write(written(application()))
    assert logged(file).recording.header.name == "clicks"


def test_rubbish_among_events_is_left_out_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "MOST_LINE", 4000)
    events = written(application()).split(b"\n")
    rubbish = [
        b'{"Event":"SparkListenerTaskEnd","Stage ID":',
        b'{"Event":"SparkListenerExecutorAdded","Timestamp":"soon","Executor ID":"9","Executor Info":{}}',
        b'{"Event":"SparkListenerJobStart","Stage IDs":7,"Properties":{"sql.streaming.queryId":"x"}}',
        b'{"Event":"SparkListenerSQLExecutionStart","plan":"' + b"x" * 9000 + b'"}',
        b'{"Event":"' + b"[" * 3000,
        b"\x00\xff\xfe",
        b'{"Event":"org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent","progress":[]}',
    ]
    file = tmp_path / "app-1"
    file.write_bytes(b"\n".join([events[0], *rubbish, *events[1:]]))
    found = logged(file)
    last = [tick.observation for tick in found.recording.ticks][-1]
    assert last is not None
    assert last.queries[0].batches is not None
    assert last.queries[0].batches.value == 40
    assert "app-1: a line that is no event was left out" in found.unknown
    assert "2 events were left out" in found.unknown


def test_more_than_anybody_writes_is_refused(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_file, "MOST_BYTES", 10_000)
    with pytest.raises(BadInput, match="of events; give a part of its files"):
        read_event_log(log)


def test_what_is_no_event_log_is_something_else(tmp_path: Path) -> None:
    (tmp_path / "journal-000001.jsonl").write_text('{"schema":4}\n')
    assert read_event_log(tmp_path) is None
    assert read_event_log(tmp_path / "journal-000001.jsonl") is None
    assert read_event_log(tmp_path / "nowhere") is None
    batchless = tmp_path / "app-1"
    batchless.write_bytes(written(application()[:5]))
    with pytest.raises(BadInput, match="no batch of a query is in this event log"):
        read_event_log(batchless)


def test_what_a_real_application_left_behind_is_read() -> None:
    found = logged(RECORDED)
    looks = [tick.observation for tick in found.recording.ticks]
    first, last = looks[0], looks[-1]
    assert first is not None
    assert last is not None
    [query] = last.queries
    assert query.name == "words"
    assert query.trigger.interval_s in (None, 2.0)
    assert query.batches is not None
    assert query.batches.value >= 45
    assert query.state is not None
    assert [operator.name for operator in query.topology.operators] == ["stage 1", "stage 2"]
    scan, count = query.operators
    assert query.sources[0].committed is not None
    assert scan.records_in is not None
    assert scan.records_in.value == pytest.approx(query.sources[0].committed.value, rel=0.01)
    assert count.tasks == 4
    # One of two was lost on the way.
    assert (first.pools[0].ready, last.pools[0].ready) == (2, 1)
    assert not any("left out" in sentence for sentence in found.unknown)
    # So few rows cost nothing beside what a task costs anyway.
    assert all(stage.task_s > 0.01 for stage in calibrate(found.recording, "recorded", "log").queries[0].stages)
