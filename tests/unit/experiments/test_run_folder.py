"""What a run leaves behind, and how it is found again, also where an older version has left it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.evaluation.recorded import read_series
from elastream.evaluation.summary import summarise
from elastream.experiments.experiment import LiveJob, parse_experiment
from elastream.experiments.run import Run, best_of
from elastream.experiments.run_folder import find_journal, find_runs, make_folder, write_results
from elastream.experiments.simulated import set_up_simulation
from elastream.journal.reader import read
from elastream.journal.writer import journal_files
from tests.unit.experiments.test_experiment import LIVE, SIMULATED


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run in a folder, which tests leave as it is."""
    return set_up_simulation(SIMULATED).run(folder=tmp_path_factory.mktemp("runs") / "threshold")


@pytest.fixture
def folder(kept: Run, tmp_path: Path) -> Path:
    """The same for tests that change it."""
    assert kept.folder is not None
    return Path(shutil.copytree(kept.folder, tmp_path / "runs" / "threshold"))


def test_a_run_has_the_files_of_the_layout_and_is_read_back(kept: Run) -> None:
    assert kept.folder is not None
    assert sorted(path.name for path in kept.folder.iterdir()) == ["journal", "series.csv", "summary.json"]
    document = json.loads((kept.folder / "summary.json").read_text())
    assert parse_experiment(document["experiment"]) == SIMULATED
    assert {**document, **json.loads(json.dumps(kept.as_json()))} == document
    series = read_series(read(find_journal(kept.folder))).series
    assert (summarise(series), list(series.rows())) == (kept.summary, list(kept.series.rows()))


@pytest.mark.parametrize("command", ["why", "page", "replay"])
def test_every_reader_takes_the_folder_of_a_run_its_journal_and_a_folder_of_one_run(
    folder: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for path in (folder, folder / "journal", folder.parent):
        assert main([command, str(path)]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] == told[2]


def test_a_page_lies_beside_the_numbers_of_its_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["page", str(folder)]) == 0
    assert capsys.readouterr().out == f"{folder / 'page.html'}\n"


def test_a_journal_beside_its_numbers_is_found_as_older_versions_left_it(folder: Path) -> None:
    for file in (folder / "journal").iterdir():
        file.rename(folder / file.name)
    assert find_journal(folder) == folder
    assert find_journal(folder.parent) == folder
    assert main(["replay", str(folder)]) == 0
    # What is run there anew takes the place of it.
    make_folder(folder)
    assert journal_files(folder) == []
    assert not (folder / "summary.json").exists()


def test_one_of_several_runs_is_to_be_named(folder: Path) -> None:
    other = Path(shutil.copytree(folder, folder.parent / "other"))
    assert find_runs(folder.parent) == [other, folder]
    with pytest.raises(BadInput, match=r"it holds several runs; name one of them: .*other, .*threshold"):
        find_journal(folder.parent)


def test_what_an_option_tells_in_secret_is_not_written_down(kept: Run, tmp_path: Path) -> None:
    assert isinstance(LIVE.subject, LiveJob)
    options = (("sasl.password", "hunter2"), ("keys", "99"))
    experiment = replace(LIVE, subject=replace(LIVE.subject, events=options))
    write_results(replace(kept, experiment=experiment, folder=make_folder(tmp_path)), {})
    text = (tmp_path / "summary.json").read_text()
    assert "hunter2" not in text
    assert '"keys": "99"' in text


def test_the_best_is_the_one_that_paid_for_least_among_those_that_kept_up(kept: Run) -> None:
    assert kept.exact is not None

    def run(hours: float, left: int = 0) -> Run:
        assert kept.exact is not None
        return replace(
            kept,
            summary=replace(kept.summary, promise=None, worker_hours_paid=hours, worker_hours_ready=1.0),
            exact=replace(kept.exact, backlog_left=left),
        )

    dear, cheap, late = run(9.0), run(6.0), run(3.0, left=10 * kept.exact.records)
    assert best_of([dear, cheap, late]) is cheap
    assert best_of([late]) is late
