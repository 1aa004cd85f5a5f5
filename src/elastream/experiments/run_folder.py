"""What a run leaves behind, simulated or live, and how it is found again.

    FOLDER/journal/journal-000001.jsonl   every tick, to be told, drawn and planned again
    FOLDER/summary.json                   the experiment, and its numbers
    FOLDER/series.csv                     its series, for other tools
    FOLDER/run.html                       its page, where one was drawn

Several runs stand side by side in a folder, each in one of its own. Older versions put the files of a simulated run's
journal beside its numbers; such folders are read as well.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.core.sanitizer import sanitizer
from elastream.experiments.experiment import NamedSettings
from elastream.experiments.run import Run
from elastream.journal.format import describe
from elastream.journal.writer import Recorder, journal_files
from elastream.simulator.run import Simulation

JOURNAL, SUMMARY, SERIES, PAGE = "journal", "summary.json", "series.csv", "run.html"


def check_free(folder: Path, *, force: bool = False) -> None:
    """Nobody's results are overwritten unasked."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"--out {folder}: this is a file; name a folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"--out {folder}: the folder is not empty; choose another one, or replace its runs with --force")


def make_folder(folder: Path) -> Path:
    """An empty folder for one run; what an earlier run left there goes, and nothing else."""
    try:
        (folder / JOURNAL).mkdir(parents=True, exist_ok=True)
        old = [*journal_files(folder), *journal_files(folder / JOURNAL)]
        for file in (*old, *(folder / name for name in (SUMMARY, SERIES, PAGE))):
            file.unlink(missing_ok=True)
    except OSError as wrong:
        raise BadInput(f"--out {folder}: {wrong.strerror}") from None
    return folder


def name_folders(choices: Sequence[NamedSettings]) -> list[str]:
    """A folder for each: the policy's name, with its settings only where a name stands twice."""
    names = [one.name for one in choices]
    return [
        re.sub(r"[^\w.]+", "-", one.name if names.count(one.name) == 1 else one.label).strip("-") for one in choices
    ]


def find_journal(path: Path) -> Path:
    """The journal that a path means: itself, that of a run, or that of the only run in a folder of runs."""
    found = find_journals(path)
    if len(found) > 1:
        raise BadInput(f"{path}: it holds several runs; name one of them: {', '.join(map(str, find_runs(path)))}")
    return next(iter(found.values()))


def find_journals(path: Path) -> dict[str, Path]:
    """Every journal that a path means, by the name of its run: its own, or those of all runs in a folder of runs."""
    if not path.exists():
        raise BadInput(f"{path}: there is no such folder or file; `elastream simulate --out {path}` makes one")
    own = _own_journal(path) if path.is_dir() else path
    if own is not None:
        return {path.name: own}
    found = {run.name: journal for run in find_runs(path) if (journal := _own_journal(run)) is not None}
    if not found:
        raise BadInput(f"{path}: no journal in this folder")
    return found


def find_runs(path: Path) -> list[Path]:
    """The folders of runs in a folder of runs, by their names."""
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and _own_journal(folder) is not None)


def _own_journal(folder: Path) -> Path | None:
    """The journal of one run: older versions put its files into the folder of the run itself."""
    return next((place for place in (folder, folder / JOURNAL) if journal_files(place)), None)


def open_recorder(folder: Path, simulation: Simulation, policy: str) -> Recorder:
    """The journal of a simulated run. Its clock starts in 1970, so that equal runs leave equal bytes."""
    controller = simulation.controller
    header = describe(
        simulation.planner,
        simulation.platform,
        policy=policy,
        tick_s=controller.tick_s,
        max_age_s=controller.max_age_s,
        utc_s=0.0,
    )
    return Recorder(folder / JOURNAL, planner=simulation.planner, header=header, keep=1_000_000).open()


def write_results(run: Run, more: Mapping[str, object]) -> None:
    """The numbers and the series of a finished run, with `more` of what is known about it.

    What a simulated workload offered stands in the series beside what was measured.
    """
    if run.folder is None:
        return
    document = sanitizer().texts({**more, **run.as_json()})
    subject = document["experiment"]["subject"]
    # Options may hold what is nobody's business.
    subject |= {"events": sanitizer().settings(subject["events"])} if "events" in subject else {}
    (run.folder / SUMMARY).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    rows = list(run.series.rows())
    if run.offered_rps is not None:
        rows = [{**row, "offered_rps": offered} for row, offered in zip(rows, run.offered_rps, strict=True)]
    with (run.folder / SERIES).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)
