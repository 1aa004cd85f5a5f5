import json
import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elastream.core.decision import Adjustment, Decision
from elastream.core.errors import JournalError
from elastream.core.observation import (
    Delay,
    FinishedBatch,
    KeyedState,
    Observation,
    OperatorWork,
    Reading,
    RunningBatch,
    Trigger,
    Worker,
)
from elastream.core.signals import Signal
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.journal import format as journal_format
from elastream.journal.reader import read
from elastream.journal.replay import replay
from elastream.journal.resume import last_size, resume
from elastream.journal.story import sentences
from elastream.journal.writer import Recorder, journal_files, number_of
from elastream.loop.planner import Planner, Remembered
from elastream.policies import policies
from tests.unit.journal_samples import ByArrival, Rates, header, observation, planner, record, tick

STEADY = [100.0] * 40


def recorder_in(folder: Path, one: Planner | None = None, max_bytes: int = 10**6) -> Recorder:
    one = one or planner()
    return Recorder(folder, planner=one, header=header(one), max_bytes=max_bytes)


def a_tick(number: int = 1, reason: str = "as it is") -> Tick:
    now = observation(5.0 * number, 100.0 * number)
    return tick(number, now, Decision.keep(now, reason))


def full_tick() -> Tick:
    """One with everything in it that an observation can have."""
    now = observation(10.0, 1e6 / 3)
    worker = Worker(
        id="1", state="leaving", since_s=0.1, node="a", delays_ms={"b": 0.3}, cpu=Reading(0.5, 9.0), cpu_from="proc"
    )
    query = replace(
        now.queries[0],
        trigger=Trigger(interval_s=2),
        operators=(OperatorWork(name="read", tasks=0, busy_s=Reading(1 / 7, 9.5), queue=Reading(0.0, 9.5)),),
        running=RunningBatch(id=3, started_s=9.0, rows=0.0),
        finished=FinishedBatch(id=2, started_s=7.0, ended_s=8.9, limited=False, parts_s={"addBatch": 1.7}),
        batches=Reading(2, 9.0),
        state=KeyedState(store="rocksdb", bytes=Reading(1e9, 8.9)),
        delay=Delay(at_s=9, window_s=60, records=10, p50_s=1, p95_s=2, p99_s=3, max_s=4),
        slo=Slo(delay_s=30),
    )
    pool = replace(now.pools[0], workers=(worker,), leaving=1, busy_slot_s=Reading(3.0, 9.0))
    now = replace(now, pools=(pool,), queries=(query,), cluster_workers=0, other_busy_slots=Reading(0.0, 9.0))
    now = replace(now, lacks={Signal.WORKER_MEMORY: "1 of 1 executors is elsewhere"}, troubles=("3 events were lost",))
    decision = Decision(
        allocation={"executors": 3},
        reason="a reason",
        evidence={"whole": 1, "number": 1.0, "flag": True, "nothing": None, "list": [{"deep": "text"}]},
        adjustments=(Adjustment(guard="bounds", pool="executors", before=9, after=3, reason="so"),),
        leave_first=("1",),
        add_on=("b",),
    )
    return tick(7, now, decision, "apply failed: no answer")


def test_a_tick_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    with recorder_in(tmp_path) as recorder:
        recorder.write(full_tick())
        recorder.write(tick(8, None, None, "no look"))

    assert list(read(tmp_path).ticks) == [full_tick(), tick(8, None, None, "no look")]


def test_what_is_unknown_or_a_default_takes_no_room() -> None:
    line = json.loads(journal_format.tick_line(a_tick()))

    assert "null" not in json.dumps(line)
    assert line["observation"]["queries"][0]["sources"][0]["arrived"] == [100.0, 5.0]


def test_the_header_says_how_the_run_was_set_up(tmp_path: Path) -> None:
    record(tmp_path, STEADY)

    found = read(tmp_path).header

    assert (found.schema, found.application, found.spark) == (4, "app-1", "4.2.0")
    assert (found.policy, found.policy_settings) == ("by-arrival", {"rps_per_worker": 100.0, "interval_s": 10.0})
    assert found.guards == {"step_limit": {"up": 3, "down": None}, "bounds": {}}
    assert (found.platform, set(found.provides)) == ("rates", set(Rates.provides))
    assert (found.tick_s, found.max_age_s, found.started_utc) == (5, 15, "2026-01-01T12:00:00.000+00:00")
    assert found.fingerprint == journal_format.fingerprint(observation(0))
    assert found.shape == {"executors": journal_format.Shape(slots=2, memory_bytes=2.0**30)}


def test_a_run_whose_first_look_fails_has_a_header_without_fingerprint(tmp_path: Path) -> None:
    record(tmp_path, [None, 100.0])

    recording = read(tmp_path)

    assert recording.header.fingerprint is None
    assert [t.observation is None for t in recording.ticks] == [True, False]


def test_a_writer_never_appends_to_a_file_of_another(tmp_path: Path) -> None:
    record(tmp_path, STEADY[:2])
    record(tmp_path, STEADY[:3])

    assert [path.name for path in journal_files(tmp_path)] == ["journal-000001.jsonl", "journal-000002.jsonl"]
    assert len(list(read(tmp_path).ticks)) == 5


def test_files_are_ended_by_size_and_each_but_the_first_begins_with_a_snapshot(tmp_path: Path) -> None:
    ticks = record(tmp_path, STEADY, max_bytes=4096)

    recording = read(tmp_path)

    assert len(recording.parts) > 2
    assert [part.snapshot is None for part in recording.parts] == [True, *[False] * (len(recording.parts) - 1)]
    assert list(recording.ticks) == ticks


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    ticks = record(tmp_path, STEADY, max_bytes=4096, keep=2)

    files = journal_files(tmp_path)

    assert len(files) == 2
    assert files[0].name > "journal-000002.jsonl"
    assert list(read(tmp_path).ticks)[-1] == ticks[-1]


def test_the_bytes_allowed_are_never_exceeded_at_any_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[int]] = []

    def look() -> None:
        seen.append([path.stat().st_size for path in journal_files(tmp_path)])

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def then_look(*args: Any, **kwargs: Any) -> Any:
            result = call(*args, **kwargs)
            look()
            return result

        return then_look

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", watched(os.open))
        # In small pieces, so that what is half written is seen too.
        patch.setattr(os, "write", watched(lambda file, data, write=os.write: write(file, data[:1500])))
        ticks = record(tmp_path, STEADY * 5, max_bytes=4096, keep=3)

    assert max(map(len, seen)) == 3
    assert max(max(sizes, default=0) for sizes in seen) <= 4096
    assert max(map(sum, seen)) <= 3 * 4096
    # It is used, too, and the newest is what is left.
    assert sum(seen[-1]) > 2 * 4096 - 1500
    assert list(read(tmp_path).ticks)[-1] == ticks[-1]


def test_what_is_dropped_is_said_in_the_journal_and_once_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    record(tmp_path, STEADY[:8], max_bytes=4096, keep=2)
    assert caplog.messages == []
    record(tmp_path, STEADY, max_bytes=4096, keep=2)

    (told,) = caplog.messages
    assert told == (
        "journal: the oldest part is dropped, up to journal-000001.jsonl: 2 files of at most 4,096 bytes are kept"
    )
    newest = journal_files(tmp_path)[-1]
    dropped = json.loads(newest.read_text().splitlines()[1])["dropped"]
    assert dropped["last"] == f"journal-{number_of(newest) - 2:06d}.jsonl"
    assert dropped["files"] == number_of(newest) - 2


def test_files_that_an_earlier_run_was_allowed_to_make_larger_are_dropped_too(tmp_path: Path) -> None:
    record(tmp_path, STEADY)
    assert journal_files(tmp_path)[0].stat().st_size > 2 * 8192

    record(tmp_path, STEADY[:5], max_bytes=8192, keep=2)

    assert [path.name for path in journal_files(tmp_path)] == ["journal-000002.jsonl"]


def test_a_file_that_cannot_be_dropped_keeps_new_ones_from_being_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, STEADY[:5])

    def refuse(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied")

    with Recorder(tmp_path, planner=(one := planner()), header=header(one), max_bytes=4096, keep=1) as recorder:
        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", refuse)
            with pytest.raises(JournalError, match=r"tick 1 .* cannot be deleted to make room: Permission denied"):
                recorder.write(a_tick(1))
        recorder.write(a_tick(2))

    assert [t.number for t in read(tmp_path).ticks] == [2]


def test_a_tick_that_is_larger_than_a_file_is_not_written(tmp_path: Path) -> None:
    with recorder_in(tmp_path, max_bytes=4096) as recorder:
        recorder.write(a_tick(1))
        with pytest.raises(JournalError, match=r"tick 2 .* takes 5,\d+ bytes and a file may have 4,096; raise journal"):
            recorder.write(a_tick(2, reason="so " * 1500))
        recorder.write(a_tick(3))

    assert [t.number for t in read(tmp_path).ticks] == [1, 3]


class Hoards(ByArrival):
    """Remembers more than fits into a small file."""

    def start(self) -> dict[str, Any]:
        return {**super().start(), "hoard": ["x" * 100] * 30}

    def learn(self, memory: dict[str, Any], now: Observation, last: Decision | None) -> dict[str, Any]:
        return {**super().learn(memory, now, last), "hoard": memory["hoard"]}


def test_memory_that_does_not_fit_is_left_out_of_a_file_and_follows_from_the_one_before(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = planner(Hoards())
    ticks = record(tmp_path, STEADY, one=one, max_bytes=4096)

    recording = read(tmp_path)
    assert [part.header.memory for part in recording.parts] == ["here", *["before"] * (len(recording.parts) - 1)]
    assert all(path.stat().st_size <= 4096 for path in journal_files(tmp_path))
    found = replay(recording, policy=Hoards())
    assert (found.ticks, found.unknown, found.differences) == (len(ticks), 0, ())
    again = planner(Hoards())
    assert "goes on from journal-000001.jsonl" in resume(again, tmp_path, observation(5.0 * len(STEADY) + 5))
    assert again.snapshot() == one.snapshot()
    (told,) = caplog.messages
    assert "too much for a file of 4,096" in told


def test_where_memory_was_dropped_the_rest_is_read_and_not_compared(tmp_path: Path) -> None:
    record(tmp_path, STEADY, one=planner(Hoards()), max_bytes=4096, keep=3)

    recording = read(tmp_path)
    found = replay(recording, policy=Hoards())

    assert found.unknown == found.ticks > 3
    assert found.differences == ()
    assert "could not be compared, for what was remembered before them was dropped" in found.sentence()
    told = resume(planner(Hoards()), tmp_path, observation(5.0 * len(STEADY) + 5))
    assert told == f"starts anew: what was remembered before {recording.parts[0].name} is not in the journal any more"
    assert last_size(tmp_path) == 1
    assert [line.what for line in sentences(recording)] == ["start", "keep"]


def test_a_snapshot_does_not_grow_with_the_time_a_run_takes(tmp_path: Path) -> None:
    def snapshot_bytes(minutes: int) -> int:
        one = Planner(policies.build("lag-proportional", {}), {}, Rates.provides)
        workers = tuple(Worker(id=str(n), state="ready", since_s=0.0) for n in range(40))
        for at_s in range(0, minutes * 60, 5):
            now = observation(float(at_s), 100.0 * at_s)
            seen = tuple(replace(worker, cpu=Reading(at_s % 17 / 17, at_s)) for worker in workers)
            one.plan(replace(now, pools=(replace(now.pools[0], workers=seen),)))
        return len(journal_format.snapshot_line(one.snapshot()))

    after_minutes, after_hours = snapshot_bytes(5), snapshot_bytes(120)

    assert after_hours < 1.5 * after_minutes < 40_000


def test_only_the_owner_can_read_it(tmp_path: Path) -> None:
    record(tmp_path / "new", STEADY[:1])

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "new", *(tmp_path / "new").iterdir()]}

    assert modes == {"new": 0o700, "journal-000001.jsonl": 0o600, "journal.lock": 0o600}


def test_a_second_writer_is_told_who_writes(tmp_path: Path) -> None:
    with (
        recorder_in(tmp_path),
        pytest.raises(JournalError, match=f"process {os.getpid()} writes here; stop it or choose another folder"),
    ):
        recorder_in(tmp_path).open()


def test_a_closed_journal_can_be_taken_by_the_next(tmp_path: Path) -> None:
    recorder_in(tmp_path).open().close()
    with recorder_in(tmp_path) as recorder:
        recorder.write(a_tick())


def test_a_journal_that_is_not_open_takes_nothing(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="not open"):
        recorder_in(tmp_path).write(a_tick())


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(JournalError, match="file/journal: cannot be made: Not a directory"):
        recorder_in(tmp_path / "file" / "journal").open()


def test_after_a_failing_disk_a_new_file_is_begun_that_can_be_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = planner()
    with recorder_in(tmp_path, one) as recorder:
        recorder.write(a_tick(1))
        one.plan(observation(10.0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", a_full_disk(os.write))
            with pytest.raises(JournalError, match=r"tick 2 is not recorded: .*No space left"):
                recorder.write(a_tick(2))
            with pytest.raises(JournalError, match="tick 3 is not recorded"):
                recorder.write(a_tick(3))
        recorder.write(a_tick(4))

    recording = read(tmp_path)

    assert [t.number for t in recording.ticks] == [1, 4]
    assert [part.snapshot is not None for part in recording.parts] == [False, True]
    assert "torn" in recording.warnings[0]


def a_full_disk(write: object) -> object:
    room = iter([5])

    def half(file: int, data: memoryview) -> int:
        for size in room:
            os.pwrite(file, data[:size], os.fstat(file).st_size)
            return size
        raise OSError(28, "No space left on device")

    return half


def test_a_tick_that_cannot_be_written_down_costs_only_itself(tmp_path: Path) -> None:
    now = observation(10.0)
    strange = tick(2, now, replace(Decision.keep(now, "so"), evidence={"what": object()}))  # type: ignore[dict-item]
    with recorder_in(tmp_path) as recorder:
        recorder.write(a_tick(1))
        with pytest.raises(JournalError, match="tick 2"):
            recorder.write(strange)
        recorder.write(a_tick(3))

    assert [t.number for t in read(tmp_path).ticks] == [1, 3]


def test_without_a_snapshot_of_what_came_before_a_tick_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = planner()
    one.plan(observation(0.0))
    with recorder_in(tmp_path, one) as recorder:
        with monkeypatch.context() as patch:
            patch.setattr(Remembered, "to_json", lambda self: {"memory": object()})
            with pytest.raises(JournalError, match=r"tick 1 is not recorded: .* not JSON serializable"):
                recorder.write(a_tick(1))
        recorder.write(a_tick(2))

    assert [t.number for t in read(tmp_path).ticks] == [2]


def test_secrets_are_not_written(tmp_path: Path) -> None:
    now = observation(5.0)
    decision = Decision.keep(now, "no answer: password=hunter2", {"api_token": "hunter2", "tokens_per_s": 3.5})
    one = planner()
    secret = replace(header(one), policy_settings={"kafka.secret": "hunter2"})
    with Recorder(tmp_path, planner=one, header=secret) as recorder:
        recorder.write(tick(1, now, decision, "accesskey: hunter2 was refused"))

    text = journal_files(tmp_path)[0].read_text()
    (found,) = read(tmp_path).ticks

    assert "hunter2" not in text
    assert found.decision is not None
    assert found.decision.reason == "no answer: password=*********(redacted)"
    assert found.decision.evidence == {"api_token": "*********(redacted)", "tokens_per_s": 3.5}
    assert found.observation == now


def test_a_snapshot_keeps_what_is_remembered_under_the_name_of_an_operator() -> None:
    snapshot = {"memory": {"tokenize": "up"}, "last": {"evidence": {"token": "hunter2"}, "reason": "secret=hunter2"}}

    line = json.loads(journal_format.snapshot_line(snapshot))["snapshot"]

    assert line["memory"] == {"tokenize": "up"}
    assert "hunter2" not in json.dumps(line)


def test_a_query_of_an_older_version_that_did_not_tell_its_sources_is_no_other_query() -> None:
    now = observation(1.0, 5.0)
    query = now.queries[0]
    operators = tuple(replace(operator, reads=("source-0",)) for operator in query.topology.operators)
    told = replace(now, queries=(replace(query, topology=replace(query.topology, operators=operators)),))

    assert journal_format.fingerprint(told) == journal_format.fingerprint(now)
    tick = Tick(number=1, at_s=1.0, utc_s=1.0, observation=told, decision=None)
    line = json.loads(journal_format.tick_line(tick))
    assert journal_format.parse_tick(line, "here") == tick
    for operator in line["observation"]["queries"][0]["topology"]["operators"]:
        del operator["reads"]
    older = journal_format.parse_tick(line, "here").observation
    assert older is not None
    assert [operator.reads for operator in older.queries[0].topology.operators] == [None] * len(operators)


def test_a_fingerprint_is_of_names_and_topologies_in_any_order() -> None:
    now = observation(1.0, 5.0)
    other = replace(now.queries[0], id="q2", name="views")
    both = replace(now, queries=(now.queries[0], other))

    assert journal_format.fingerprint(now) == journal_format.fingerprint(observation(99.0, 7.0))
    assert journal_format.fingerprint(both) == journal_format.fingerprint(replace(now, queries=(other, now.queries[0])))
    assert journal_format.fingerprint(now) != journal_format.fingerprint(both)
