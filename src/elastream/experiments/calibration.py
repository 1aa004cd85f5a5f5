"""A recorded run as a model of its application: what `calibrate`, `fidelity` and whoever simulates it again go by."""

from __future__ import annotations

from pathlib import Path

from elastream.core.errors import BadInput
from elastream.core.observation import Observation
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import Recording, read
from elastream.simulator.calibration import measured
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.model_file import written_model


def read_calibration(run: Path, name: str) -> ApplicationModel:
    """The model of the run in a folder or journal; BadInput in a line where none can be made of it."""
    return calibrate(read(find_journal(run)), name, str(run))


def calibrate(recording: Recording, name: str, where: str) -> ApplicationModel:
    """The model of a recorded run. Its doc says where it was measured, and what must stand beside its numbers."""
    looks = [tick.observation for tick in recording.ticks if tick.observation is not None]
    if not looks:
        raise BadInput(f"{where}: not one look at the application succeeded; record another run")
    _refuse_without_batches(looks, recording.header.platform, where)
    header = recording.header
    notes = [f"measured on {header.platform}", f"spark {header.spark}" if header.spark else "", *header.notes]
    return measured(looks, name, doc="; ".join(note for note in notes if note))


def write_calibration(model: ApplicationModel, file: Path) -> None:
    """Write a model, for `--model FILE`."""
    try:
        file.write_text(written_model(model), encoding="utf-8")
    except OSError as wrong:
        raise BadInput(f"--out {file}: {wrong.strerror}") from None


def _refuse_without_batches(looks: list[Observation], platform: str, where: str) -> None:
    queries = [query for now in looks for query in now.queries]
    if not queries:
        raise BadInput(f"{where}: no query ran while it was recorded; record a run with one")
    if all(query.batches is None for query in queries):
        raise BadInput(
            f"{where}: its queries have no batches ({platform}); only runs of a micro-batch engine can be calibrated on"
        )
