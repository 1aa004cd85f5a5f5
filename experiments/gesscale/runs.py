"""The numbers of table III, of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.experiment import SimulatedModel
from elastream.experiments.simulated import build_model
from elastream.experiments.store.folder import StoredRun
from elastream.simulator.continuous.model import DataflowModel

INPUT_S = 288 * 60.0
"""V-A: two days at ten times their speed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What table III tells of an autoscaler, but for its accuracies and what is too little."""

    reconfigurations: float
    cost: float
    """Worker-minutes, while rides come."""
    excess_time: float
    """After rides have ended, as a share of the time in which they come."""
    timeshare_over_pct: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A moment of a run."""

    t_s: float
    wanted: int
    ready: int
    demand: int


def read_row(run: StoredRun) -> Row:
    """From the moments that were kept of a run."""
    columns = ["t_s", "wanted", "ready", "demand"]
    table = pq.read_table(run.folder / "ticks.parquet", columns=columns).to_pylist()
    downtime_s = find_downtime(run.document["what"]["subject"])
    return make_row([Look(**row) for row in table], downtime_s, run.numbers["excess_time"])


def find_downtime(subject: Mapping[str, str]) -> float:
    """How long a change stops the model of a run."""
    model = build_model(SimulatedModel(model=subject["model"]))
    assert isinstance(model, DataflowModel)
    return model.restart.grow_s


def make_row(looks: Sequence[Look], downtime_s: float, excess_time: float | None) -> Row:
    """A run that was cut off before all was done counts to its end.

    While a change stops the job there are no workers: the document takes all away and puts them back, and only so do
    the costs of its table agree with its accuracies and numbers of changes.
    """
    inside = [look for look in looks if look.t_s < INPUT_S]
    changes_s = [after.t_s for before, after in pairwise(inside) if after.wanted != before.wanted]
    stops = find_stops(changes_s, downtime_s)
    supply = [0 if any(a <= look.t_s < b for a, b in stops) else look.ready for look in inside]
    return Row(
        reconfigurations=len(changes_s),
        cost=fmean(supply) * INPUT_S / 60,
        excess_time=looks[-1].t_s / INPUT_S - 1 if excess_time is None else excess_time,
        timeshare_over_pct=100 * fmean(have > look.demand for have, look in zip(supply, inside, strict=True)),
    )


def find_stops(changes_s: Sequence[float], downtime_s: float) -> list[tuple[float, float]]:
    """When the job stood still: a change that comes meanwhile is carried out after it."""
    stops: list[tuple[float, float]] = []
    for changed_s in changes_s:
        begin_s = max(changed_s, stops[-1][1]) if stops else changed_s
        stops.append((begin_s, begin_s + downtime_s))
    return stops
