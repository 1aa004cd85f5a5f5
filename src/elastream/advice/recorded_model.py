"""The model of a recorded run: what a simulation of it goes by."""

from __future__ import annotations

from elastream.core.errors import BadInput
from elastream.core.observation import Observation
from elastream.journal.reader import Recording
from elastream.simulator.calibration import measured
from elastream.simulator.microbatch.model import ApplicationModel


def calibrate(recording: Recording, name: str, where: str) -> ApplicationModel:
    """The model of a recorded run. Its doc says where it was measured, and what must stand beside its numbers."""
    looks = [tick.observation for tick in recording.ticks if tick.observation is not None]
    if not looks:
        raise BadInput(f"{where}: not one look at the application succeeded; record another run")
    _refuse_without_batches(looks, recording.header.platform, where)
    header = recording.header
    notes = [f"measured on {header.platform}", f"spark {header.spark}" if header.spark else "", *header.notes]
    return measured(looks, name, doc="; ".join(note for note in notes if note))


def _refuse_without_batches(looks: list[Observation], platform: str, where: str) -> None:
    queries = [query for now in looks for query in now.queries]
    if not queries:
        raise BadInput(f"{where}: no query ran while it was recorded; record a run with one")
    if all(query.batches is None for query in queries):
        raise BadInput(
            f"{where}: its queries have no batches ({platform}); only runs of a micro-batch engine can be calibrated on"
        )
