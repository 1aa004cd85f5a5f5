"""Whatever others have written, no secret of theirs is in what is stored or shown, and all of it can be seen."""

import html
import json
import logging
from pathlib import Path

import pytest

from elastream.cli.app import run
from elastream.cli.terminal.live_view import LiveView
from elastream.core.sanitizer import use_pattern
from elastream.journal.reader import read
from elastream.journal.story import sentences
from elastream.journal.writer import journal_files
from elastream.launch.telling import Telling
from tests.secret_samples import CUT, HARMLESS, OWN_PATTERN, OWN_SAMPLES, SAMPLES
from tests.unit.leaky_samples import SECRETS, record


def assert_fit(output: str, *, readable: str = HARMLESS[0]) -> None:
    assert [secret for secret in SECRETS if secret in output or secret in html.unescape(output)] == []
    assert [line for line in output.split("\n") if not line.isprintable()] == []
    assert readable in output


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    use_pattern(OWN_PATTERN)
    record(tmp_path / "journal")
    # Who reads a journal knows nothing of the application that wrote it.
    use_pattern(None)
    return tmp_path / "journal"


def test_journals_logs_status_and_lines_of_a_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    use_pattern(OWN_PATTERN)
    lines: list[str] = []
    with caplog.at_level(logging.INFO, logger="elastream"), LiveView(100.0, title="a view", tick_s=5.0) as view:
        status = record(tmp_path, Telling(lines.append), view)
    files = journal_files(tmp_path)

    assert len(files) > 1
    assert any('"snapshot"' in path.read_text() for path in files)
    assert_fit("\n".join(path.read_text() for path in files))
    assert_fit("\n".join(caplog.messages))
    assert_fit("\n".join(status))
    assert_fit("\n".join(lines))
    shown = capsys.readouterr()
    assert_fit(shown.out + shown.err)


@pytest.mark.parametrize(
    "command", [["why"], ["why", "--json"], ["replay", "--policy", "fixed(workers=3)", "--most", "999"]], ids=" ".join
)
def test_what_commands_tell_of_a_journal(leaky: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run([command[0], str(leaky), *command[1:]])

    shown = capsys.readouterr()
    assert_fit(shown.out + shown.err)


def test_a_page(leaky: Path, tmp_path: Path) -> None:
    title, note = SAMPLES[0].text, SAMPLES[6].text
    code = run(["page", str(leaky), "--out", str(tmp_path / "page.html"), "--title", title, "--note", note])

    assert code == 0
    page = (tmp_path / "page.html").read_text()
    # Its own style and script have tabs and the like for nobody to see.
    assert_fit(page.replace("\t", " "))


def test_what_reads_a_journal_can_hide_what_its_writer_did_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record(tmp_path / "journal")  # by a process that knew nothing of the pattern
    own = [sample.secret for sample in OWN_SAMPLES]
    page = tmp_path / "page.html"
    commands = (
        ["why"],
        ["why", "--json"],
        ["replay", "--policy", "fixed(workers=3)", "--most", "999"],
        ["page", "--out", str(page)],
    )

    def told(*more: str) -> list[str]:
        """What each command says."""
        found = []
        for command in commands:
            run([command[0], str(tmp_path / "journal"), *command[1:], *more])
            found.append(capsys.readouterr().out + (page.read_text() if command[0] == "page" else ""))
        return found

    assert all(any(secret in text for secret in own) for text in told())
    hidden = told("--conf", f"spark.redaction.regex={OWN_PATTERN}")
    assert [secret for text in hidden for secret in own if secret in text] == []


def test_only_the_pattern_has_a_meaning_there(leaky: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["why", str(leaky), "--conf", "spark.elastream.tick=5"]) == 2
    assert "only spark.redaction.regex has a meaning here" in capsys.readouterr().err


def test_a_journal_that_was_written_without_care_is_read_with_care(leaky: Path) -> None:
    (first, *_) = journal_files(leaky)
    lines = [json.loads(line) for line in first.read_text().splitlines()]
    lines[1]["troubles"] = [SAMPLES[0].text, "\x1b[2J"]
    first.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert_fit("\n".join(line.text() for line in sentences(read(first))), readable="Failed: ")


def test_settings_and_errors_of_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = ["--conf", f"spark.redaction.regex={OWN_PATTERN}"]
    for sample in (*SAMPLES, *OWN_SAMPLES):
        assert run(["config", *own, "--set", f"tick_s={sample.text}"]) == 2
        # Said twice in a line, a quote that is never closed would be closed by the next.
        assert CUT in sample.text or run(["replay", sample.text]) == 2
    for sample in (SAMPLES[0], OWN_SAMPLES[1]):
        monkeypatch.setenv("ELASTREAM_JOURNAL__FOLDER", sample.text)
        assert run(["config", *own, "--json"]) == run(["config", *own]) == 0

    shown = capsys.readouterr()
    assert_fit(shown.out + shown.err, readable="journal.folder")
