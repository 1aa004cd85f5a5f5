"""What a run leaves behind: its journal, its numbers, and its series for other tools."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

from elastream.config import settings_of
from elastream.core.errors import BadInput
from elastream.experiments.contender import Contender
from elastream.experiments.scenario import Scenario
from elastream.journal.format import describe
from elastream.journal.writer import Recorder, journal_files
from elastream.simulator.run import Outcome, Simulation

SUMMARY, SERIES = "summary.json", "series.csv"


def check_free(folder: Path, *, force: bool) -> None:
    """Nobody's results are overwritten unasked."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"--out {folder}: this is a file; name a folder")
    if not force and folder.is_dir() and any(folder.iterdir()):
        raise BadInput(f"--out {folder}: the folder is not empty; choose another one, or replace its runs with --force")


def make_folder(folder: Path) -> Path:
    """An empty folder for one run; what an earlier run left there goes, and nothing else."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for old in (*journal_files(folder), folder / SUMMARY, folder / SERIES):
            old.unlink(missing_ok=True)
    except OSError as wrong:
        raise BadInput(f"--out {folder}: {wrong.strerror}") from None
    return folder


def recorder(folder: Path, simulation: Simulation, contender: Contender) -> Recorder:
    """The journal of a run. Its clock starts in 1970, so that equal runs leave equal bytes."""
    controller = simulation.controller
    header = describe(
        simulation.planner,
        simulation.platform,
        policy=contender.name,
        tick_s=controller.tick_s,
        max_age_s=controller.max_age_s,
        utc_s=0.0,
    )
    return Recorder(folder, planner=simulation.planner, header=header, keep=1_000_000)


def write_results(folder: Path, scenario: Scenario, contender: Contender, outcome: Outcome) -> None:
    """The numbers and the series of a finished run."""
    document = {**scenario.as_json(), **run_json(contender, outcome)}
    (folder / SUMMARY).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    with (folder / SERIES).open("w", encoding="utf-8", newline="") as file:
        rows = list(_rows(outcome))
        table = csv.DictWriter(file, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def run_json(contender: Contender, outcome: Outcome) -> dict[str, object]:
    """One run as plain values."""
    return {
        "policy": contender.label,
        "settings": settings_of(contender.policy),
        "form": outcome.form,
        "summary": outcome.summary.as_json(),
        "exact": outcome.exact.as_json(),
    }


def _rows(outcome: Outcome) -> Iterator[dict[str, object]]:
    """The series as of any run, and beside it what only a simulation knows."""
    for row, offered_rps in zip(outcome.series.rows(), outcome.offered_rps, strict=True):
        yield {**row, "offered_rps": offered_rps}
