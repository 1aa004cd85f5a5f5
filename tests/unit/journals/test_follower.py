"""A journal that is read while it is being written."""

from pathlib import Path

from elastream.journal.follower import JournalFollower
from elastream.journal.format import Header
from elastream.journal.reader import read
from elastream.journal.writer import journal_files
from tests.unit.journal_samples import record


def numbers(follower: JournalFollower) -> list[int | str]:
    return ["header" if isinstance(entry, Header) else entry.number for entry in follower.read()]


def test_what_it_reads_is_what_a_reader_reads(tmp_path: Path) -> None:
    record(tmp_path, [100.0, 100.0, 900.0, 900.0])

    found = [entry for entry in JournalFollower(tmp_path).read() if not isinstance(entry, Header)]

    assert found == list(read(tmp_path).ticks)


def test_half_a_line_is_waited_for(tmp_path: Path) -> None:
    record(tmp_path / "whole", [100.0, 100.0, 100.0])
    text = journal_files(tmp_path / "whole")[0].read_bytes()
    file = tmp_path / "journal-000001.jsonl"
    follower = JournalFollower(tmp_path)

    assert numbers(follower) == []
    lines = text.splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    assert numbers(follower) == ["header", 1, 2]
    file.write_bytes(text)
    assert numbers(follower) == [3]
    assert numbers(follower) == []
    assert follower.troubles == []


def test_a_file_that_was_given_up_ends_with_its_last_whole_line(tmp_path: Path) -> None:
    record(tmp_path, [100.0, 100.0])
    (first,) = journal_files(tmp_path)
    follower = JournalFollower(tmp_path)
    assert numbers(follower) == ["header", 1, 2]

    with first.open("ab") as file:
        file.write(b'{"number":3,"obs')
    record(tmp_path, [100.0])

    assert numbers(follower) == ["header", 1]


def test_files_that_were_dropped_before_they_were_read_are_left_out(tmp_path: Path) -> None:
    for _ in range(3):
        record(tmp_path, [100.0])
    follower = JournalFollower(tmp_path)
    first, second, _ = journal_files(tmp_path)
    first.unlink()
    second.unlink()

    assert numbers(follower) == ["header", 1]


def test_only_the_newest_files_are_read_where_that_is_wanted(tmp_path: Path) -> None:
    for _ in range(3):
        record(tmp_path, [100.0])

    assert numbers(JournalFollower(tmp_path, newest=2)) == ["header", 1] * 2
    assert numbers(JournalFollower(tmp_path, newest=9)) == ["header", 1] * 3


def test_what_makes_no_sense_is_left_out_and_told(tmp_path: Path) -> None:
    record(tmp_path, [100.0, 100.0])
    (file,) = journal_files(tmp_path)
    lines = file.read_bytes().splitlines(keepends=True)
    deep = b"[" * 100_000 + b"\n"
    file.write_bytes(b"".join([lines[0], b"\xff\n", deep, b"[]\n", b'{"number":"x"}\n', *lines[1:]]))
    follower = JournalFollower(tmp_path)

    assert numbers(follower) == ["header", 1, 2]
    assert len(follower.troubles) == 4


def test_a_journal_of_a_newer_version_is_told_and_nothing_of_it_is_believed(tmp_path: Path) -> None:
    record(tmp_path, [100.0])
    (file,) = journal_files(tmp_path)
    file.write_text(file.read_text().replace('"schema":4', '"schema":99', 1))
    follower = JournalFollower(tmp_path)

    assert numbers(follower) == []
    assert "reads up to 4" in follower.troubles[0]
