"""What arrived while a run was recorded, as a workload: for each query what its log told, look by look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elastream.advice.recorded_run import RecordedRun, add_up, arrived_of, committed_of
from elastream.core.errors import BadInput
from elastream.core.observation import Observation, Query, Reading
from elastream.workloads.series import RateSeries

WAITED_S = 1.0
"""What waited when the recording began comes within its first second: how long it had waited nobody tells."""


@dataclass(frozen=True, slots=True)
class RecordedLoad:
    """A workload that was seen. Implements Workload."""

    curve: RateSeries

    def series(self, *, duration_s: float, seed: int) -> RateSeries:
        """The same whatever the seed."""
        return self.curve


def find_loads(run: RecordedRun, names: Sequence[str]) -> dict[str, RateSeries]:
    """The load of each query that is simulated, from the first look on; BadInput where nothing is known to arrive."""
    looks = run.looks
    found = {name: _find_load(looks, name, run.start_s, run.end_s) for name in names}
    if all(load is None or load.arrived(load.duration_s) <= 0 for load in found.values()):
        raise BadInput(
            f"{run.where}: it is not known what arrived while it was recorded; record a run whose sources tell that"
        )
    silent = RateSeries.constant(0.0, duration_s=run.end_s - run.start_s)
    return {name: load if load is not None else silent for name, load in found.items()}


def _find_load(looks: Sequence[Observation], name: str, start_s: float, end_s: float) -> RateSeries | None:
    seen = [query for now in looks for query in now.queries if query.name == name]
    totals = [reading for query in seen if (reading := arrived_of(query)) is not None]
    if not totals:
        return None
    waited = _waited(seen)
    # A total that nobody has asked for anew is no news.
    readings = add_up([one for place, one in enumerate(totals) if not place or one.at_s > totals[place - 1].at_s])
    points = [(0.0, 0.0)]
    for reading in (Reading(0.0, readings[0].at_s), *readings[1:]):
        at_s = max(reading.at_s - start_s, 0.0) if len(points) > 1 else max(reading.at_s - start_s, WAITED_S)
        if at_s > points[-1][0]:
            if len(points) == 1 and at_s > WAITED_S:
                points.append((at_s - WAITED_S, 0.0))
            points.append((at_s, reading.value + waited))
    times = np.array([at_s for at_s, _ in points])
    counts = np.array([count for _, count in points])
    rates = np.append(np.diff(counts) / np.diff(times), 0.0)
    return RateSeries(times, rates, end_s - start_s)


def _waited(seen: Sequence[Query]) -> float:
    """What had arrived at the first look that knows, and was not committed."""
    for query in seen:
        arrived, committed = arrived_of(query), committed_of(query)
        if arrived is not None and committed is not None:
            return max(arrived.value - committed.value, 0.0)
    return 0.0
