import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import JournalError
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Reading
from elastream.core.signals import Signal
from elastream.core.slo import Slo
from elastream.journal import format as journal_format
from elastream.journal.reader import read
from elastream.journal.replay import replay
from elastream.journal.resume import last_size, resume
from elastream.journal.story import sentences
from elastream.journal.writer import journal_files, number_of
from elastream.render.page.page import page
from tests.unit.journal_samples import ByArrival, observation, planner, record

RATES = [100.0] * 4


@pytest.fixture
def file(tmp_path: Path) -> Path:
    record(tmp_path, RATES)
    return journal_files(tmp_path)[0]


def rewrite(file: Path, **changes: Any) -> None:
    """Change the header."""
    first, *rest = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps({**json.loads(first), **changes}), *rest]) + "\n")


def test_one_file_can_be_read_without_its_folder(file: Path) -> None:
    assert len(list(read(file).ticks)) == len(RATES)


def test_ticks_can_be_gone_through_twice(file: Path) -> None:
    recording = read(file)

    assert list(recording.ticks) == list(recording.ticks)


@pytest.mark.parametrize("tear", [-1, -20, -300])
def test_a_torn_last_line_is_left_out_with_a_warning(file: Path, tear: int) -> None:
    file.write_bytes(file.read_bytes().rstrip(b"\n")[:tear])

    recording = read(file)

    assert len(list(recording.ticks)) == len(RATES) - 1
    assert recording.warnings == (f"{file}: line 5 is torn and was left out: the writer was stopped within it",)


def test_a_block_of_zeros_at_the_end_counts_as_torn(file: Path) -> None:
    file.write_bytes(file.read_bytes() + b"\0" * 512)

    assert len(list(read(file).ticks)) == len(RATES)


def test_a_last_line_that_lacks_only_its_end_is_used(file: Path) -> None:
    file.write_bytes(file.read_bytes().rstrip(b"\n"))

    assert len(list(read(file).ticks)) == len(RATES)
    assert read(file).warnings == ()


def test_garbage_in_the_middle_is_an_error_with_file_and_line(file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    lines[2] = "garbage\n"
    file.write_text("".join(lines))

    with pytest.raises(JournalError, match=r"journal-000001.jsonl: line 3 is not JSON"):
        list(read(file).ticks)


def test_a_tick_that_makes_no_sense_is_an_error_with_file_and_line(file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    lines[3] = lines[3].replace('"number":3', '"number":"three"')
    file.write_text("".join(lines))

    with pytest.raises(JournalError, match=r"line 4: a tick that cannot be read: number: "):
        list(read(file).ticks)


DEEP = "[" * 100_000 + "]" * 100_000
NESTED = "[" * 200 + "]" * 200


@pytest.mark.parametrize(
    ("line", "old", "new", "told"),
    [
        (0, '"policy":"by-arrival"', f'"policy":{DEEP}', "line 1 is not JSON"),
        (2, '"reason":', f'"evidence":{DEEP},"reason":', "line 3 is not JSON"),
        (
            2,
            '"kind":"hold"',
            f'"evidence":{{"deep":{NESTED}}}',
            "line 3: a tick that cannot be: evidence that is nested",
        ),
        (2, '"allocation":{"executors":1}', '"allocation":{"elsewhere":1}', "decided on elsewhere, seen was executors"),
        (2, '"utc_s":', '"utc_s":1e300,"was":', "a tick that cannot be: number 2"),
        (2, '"at_s":5.0,', '"at_s":NaN,', "a tick that cannot be: "),
        (2, '"ready":1', '"ready":-1', "a tick that cannot be: pool executors: impossible sizes"),
        (0, '"tick_s":5.0', '"tick_s":0.0', "a header that cannot be: tick_s is 0.0"),
    ],
)
def test_what_somebody_has_made_up_is_refused_in_one_line(file: Path, line: int, old: str, new: str, told: str) -> None:
    lines = file.read_text().splitlines(keepends=True)
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new, 1)
    file.write_text("".join(lines))

    for use in (
        lambda: replay(read(file), policy=ByArrival()),
        lambda: list(sentences(read(file))),
        lambda: page(read(file)),
    ):
        with pytest.raises(JournalError, match=told) as caught:
            use()
        assert "\n" not in str(caught.value)
    assert told in resume(one := planner(), file, observation(60.0))
    assert one.last is None
    assert last_size(file) is None


def test_a_reading_that_cannot_be_is_unknown_as_it_would_have_been_on_a_look(file: Path) -> None:
    lines = file.read_text().splitlines(keepends=True)
    lines[2] = re.sub(r'"arrived":\[[^]]*\]', '"arrived":[NaN,5.0]', lines[2])
    file.write_text("".join(lines))

    _, second, *_ = read(file).ticks

    assert second.observation is not None
    assert second.observation.queries[0].sources[0].arrived is None
    assert page(read(file))


def test_a_file_of_which_only_a_torn_header_exists_is_left_out(file: Path) -> None:
    (file.parent / "journal-000002.jsonl").write_text('{"schema":1,"poli')

    recording = read(file.parent)

    assert len(recording.parts) == 1
    assert "journal-000002.jsonl: line 1 is torn" in recording.warnings[0]


def test_a_file_with_nothing_in_it_is_an_error_when_it_is_all_there_is(tmp_path: Path) -> None:
    (tmp_path / "journal-000001.jsonl").touch()

    with pytest.raises(JournalError, match="nothing was recorded"):
        read(tmp_path)


def test_a_file_without_header_is_one_line(file: Path) -> None:
    file.write_text("".join(file.read_text().splitlines(keepends=True)[1:]))

    with pytest.raises(JournalError, match="line 1: no header; this is no journal, or its beginning is lost"):
        read(file)


def test_a_header_that_lacks_something_is_one_line(file: Path) -> None:
    rewrite(file, policy=None)

    with pytest.raises(JournalError, match="a header that cannot be read: policy: "):
        read(file)


def test_a_newer_schema_is_refused_with_what_to_do(file: Path) -> None:
    rewrite(file, schema=5)

    with pytest.raises(JournalError, match=r"schema 5, .* reads up to 4; read it with the version that wrote it"):
        read(file)


def test_an_older_schema_is_upgraded_line_by_line(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = list(read(file).ticks)
    file.write_text(file.read_text().replace('"number"', '"nr"'))
    monkeypatch.setattr(journal_format, "SCHEMA", 5)
    monkeypatch.setitem(
        journal_format.UPGRADES, 4, lambda line: {"number" if key == "nr" else key: v for key, v in line.items()}
    )

    assert list(read(file).ticks) == expected


def test_a_promise_of_the_first_schema_is_a_bound_for_95_of_100_records(file: Path) -> None:
    rewrite(file, schema=1)
    file.write_text(file.read_text().replace('"id":"q1"', '"id":"q1","slo":{"p95_s":30.0}'))

    promises = {query.slo for tick in read(file).ticks if tick.observation for query in tick.observation.queries}

    assert promises == {Slo(delay_s=30.0, share=0.95)}


def test_a_schema_without_upgrade_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_format, "SCHEMA", 5)

    with pytest.raises(JournalError, match="journal schema 4 is too old to be read; the present one is 5"):
        read(file)


def test_a_journal_of_the_second_schema_is_read_replayed_told_and_drawn() -> None:
    recording = read(Path(__file__).parent / "journals" / "schema-2")

    found = replay(recording)

    assert [part.snapshot is None for part in recording.parts] == [True, False, False]
    # What is decided today is another matter: the policy may have learned since.
    assert (found.ticks, found.unknown, found.changed) == (19, 0, False)
    for before, part in pairwise(recording.parts):
        *_, last = (tick.observation for tick in before.ticks)
        assert part.snapshot is not None
        assert last is not None
        known = Knowledge.from_json(part.snapshot["known"])
        assert known.last(Signal.READY, "executors") == Reading(last.pools[0].ready, last.at_s)
    assert sum(line.what == "change" for line in sentences(recording)) == 4
    assert "windowed-count" in page(recording)


def test_what_was_dropped_is_told_by_the_newest_file(tmp_path: Path) -> None:
    ticks = record(tmp_path, RATES * 10, max_bytes=4096, keep=2)

    recording = read(tmp_path)

    files = journal_files(tmp_path)
    assert recording.warnings == (
        f"{tmp_path}: the beginning is not there: {number_of(files[0]) - 1} files up to "
        f"journal-{number_of(files[0]) - 1:06d}.jsonl ({recording.parts[-1].dropped.bytes:,} bytes) "  # type: ignore[union-attr]
        "were dropped to stay within the bytes allowed",
    )
    assert list(recording.ticks) == ticks[-len(list(recording.ticks)) :]


def test_a_folder_without_journal_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="no journal in this folder"):
        read(tmp_path)
    with pytest.raises(JournalError, match="there is no such journal"):
        read(tmp_path / "nowhere")
