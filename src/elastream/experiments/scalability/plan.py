"""From what was asked for to a study that can be run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from elastream.experiments.scalability.asked import ScalabilityOrder
from elastream.experiments.scalability.result import ScalabilityResult
from elastream.experiments.scalability.simulated import read_ground
from elastream.experiments.scalability.store import ProbeStore
from elastream.experiments.scalability.study import LayoutResult, ProbeGround, ScalabilityStudy


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStudy:
    """A study, with what is told beside it."""

    order: ScalabilityOrder
    study: ScalabilityStudy
    left_out: tuple[str, ...]
    note: str

    def check_cluster(self) -> None:
        """BadInput if a cluster that exists lacks what the largest layout needs; other layouts get what they need."""
        if self.order.master is None:
            return
        from elastream.experiments.scalability.cluster_needs import check_cluster

        largest = max(self.study.layouts, key=lambda one: (one.slots, one.workers))
        check_cluster(self.order.master, largest, self.order.memory)

    def result(self, results: Sequence[LayoutResult], loads_rps: tuple[float, ...], command: str) -> ScalabilityResult:
        """What its layouts came to."""
        return ScalabilityResult(
            job=self.order.job, work=self.order.work, note=self.note, terms=self.study.terms, search=self.study.search,
            results=tuple(results), left_out=self.left_out, loads_rps=loads_rps, folder=self.study.store.folder,
            command=command, asked_s=self.order.accept_after_s,
        )  # fmt: skip


def prepare(order: ScalabilityOrder, out: Path | None = None) -> PlannedStudy:
    """Check everything, and open the folder; BadInput if something is wrong. Nothing is started."""
    layouts, left_out = order.choose_layouts()
    ground, note = _find_ground(order)
    store = ProbeStore(out if out is not None else Path("results") / default_name(order))
    store.open(order.as_json())
    study = ScalabilityStudy(
        layouts=layouts, work=order.work, search=order.rate_search, terms=order.terms, store=store, ground=ground
    )
    return PlannedStudy(order=order, study=study, left_out=left_out, note=note)


def default_name(order: ScalabilityOrder) -> str:
    """Of the folder."""
    job = re.sub(r"\W+", "-", order.job).strip("-")
    return f"scalability-{job}{'' if order.work == 'real' else f'-{order.work}'}"


def _find_ground(order: ScalabilityOrder) -> tuple[ProbeGround, str]:
    if order.work == "simulated":
        ground = read_ground(order.model or order.job, trigger_s=order.trigger_s, seed=order.seed)
        return ground, f"model {ground.model.name}"
    from elastream.development.emulated_capacity import EmulatedCapacity
    from elastream.experiments.scalability.applications import find_application
    from elastream.experiments.scalability.live import LiveGround

    live = LiveGround(application=find_application(order), work=order.work, memory=order.memory, master=order.master)
    return live, "" if order.slot_rps is None else EmulatedCapacity(rows_per_s=order.slot_rps).note()
