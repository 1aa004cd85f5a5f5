"""A plan as the file that the policy `schedule` reads."""

from __future__ import annotations

import csv
from pathlib import Path

from elastream.experiments.run import Run

SCHEDULE = "optimum.csv"


def write_schedule(path: Path, run: Run) -> None:
    """The sizes that a replay had, by the looks at which they were asked for."""
    settings = run.experiment.policy.settings
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("t", "workers"))
        rows.writerows(zip(settings["at_s"], settings["workers"], strict=True))
