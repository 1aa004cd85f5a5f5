"""A recorded run as a model in a file: what `calibrate` and `fidelity` go by."""

from __future__ import annotations

from pathlib import Path

from elastream.advice.recorded_model import calibrate
from elastream.core.errors import BadInput
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import read
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.model_file import written_model


def read_calibration(run: Path, name: str) -> ApplicationModel:
    """The model of the run in a folder or journal; BadInput in a line where none can be made of it."""
    return calibrate(read(find_journal(run)), name, str(run))


def write_calibration(model: ApplicationModel, file: Path) -> None:
    """Write a model, for `--model FILE`."""
    try:
        file.write_text(written_model(model), encoding="utf-8")
    except OSError as wrong:
        raise BadInput(f"--out {file}: {wrong.strerror}") from None
