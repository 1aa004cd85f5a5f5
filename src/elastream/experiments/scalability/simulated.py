"""Probes on a model of the job: the same moments, verdicts and search, in virtual time and without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

from elastream.core.errors import BadInput
from elastream.core.observation import Trigger
from elastream.experiments.experiment import SimulatedModel
from elastream.experiments.scalability.layout import Layout
from elastream.experiments.scalability.limits import ProbeLimits
from elastream.experiments.scalability.probe import ProbeTerms, find_read_limit
from elastream.experiments.scalability.recording import ProbeRecording
from elastream.experiments.scalability.study import ProbeRun, Show
from elastream.experiments.simulated import build_model
from elastream.loop.clock import VirtualClock
from elastream.simulator.calibration import cut_into
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.workloads.series import RateSeries

_LOOK_S = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedGround:
    """Layouts of a model."""

    model: ApplicationModel
    seed: int = 0

    @contextmanager
    def open(self, layout: Layout) -> Iterator[SimulatedBench]:
        """As many executors as the layout has workers; partitions follow its slots, as on a cluster."""
        yield SimulatedBench(model=shape_model(self.model, layout), seed=self.seed)


class SimulatedBench:
    """A simulated cluster of one layout. Every probe has noise of its own."""

    def __init__(self, *, model: ApplicationModel, seed: int) -> None:
        self._model, self._seed = model, seed

    def run(self, terms: ProbeTerms, folder: Path, show: Show) -> ProbeRun:
        """A look a second of virtual time."""
        model, clock, recording = limit_reads(self._model, terms), VirtualClock(), ProbeRecording("simulated")
        # Noise follows from the folder, so that a probe that is run again after an interruption is the same.
        seed = self._seed * 1_000_003 + crc32(f"{folder.parent.name}/{folder.name}".encode())
        load = RateSeries.constant(terms.rate_rps, duration_s=terms.patience_s + 1)
        platform = SimulatedSpark(model, {query.name: load for query in model.queries}, clock, seed=seed)
        limits, at_s, verdict = ProbeLimits(), 0.0, recording.judge(terms)
        while not verdict.is_final:
            clock.sleep_until(at_s)
            now = platform.observe()
            recording.add(now)
            # As often as a loop looks by itself.
            if at_s % _LOOK_S == 0:
                limits.add(now, terms.warm_up_s)
            # Looking is cheap, and judging all that came before is not.
            if at_s % _LOOK_S == 0:
                verdict = recording.judge(terms)
                show(min(1.0, at_s / terms.end_s))
            at_s += 1.0
        found = [limits.find(verdict, moments, terms) for moments in recording.moments.values()]
        return ProbeRun(verdict=verdict, recording=recording, limits=found[0] if found else ())


def read_ground(model: str, *, trigger_s: float | None = None, seed: int = 0) -> SimulatedGround:
    """Of a model by its name or file; BadInput if it is not one of micro-batches."""
    found = build_model(SimulatedModel(model=model))
    if isinstance(found, DataflowModel):
        raise BadInput(f"--simulate: model {found.name} is continuous; layouts of executors need one of micro-batches")
    queries = tuple(replace(query, trigger=Trigger(interval_s=trigger_s)) for query in found.queries)
    return SimulatedGround(model=replace(found, queries=queries), seed=seed)


def shape_model(model: ApplicationModel, layout: Layout) -> ApplicationModel:
    """The model on a layout: its partitions are its slots, every slot has a core of its own, executors are warm."""
    resized = cut_into(model, layout.slots).resized(
        slots_per_worker=layout.cores, min_workers=layout.workers, max_workers=layout.workers,
        initial_workers=layout.workers,
    )  # fmt: skip
    return replace(resized, pool=replace(resized.pool, cores=None, cluster_workers=None))


def limit_reads(model: ApplicationModel, terms: ProbeTerms) -> ApplicationModel:
    """As published, a batch reads at most 20 s of input; one that begins less often has to read more."""
    most = find_read_limit(terms)
    return replace(
        model,
        queries=tuple(
            replace(query, sources=tuple(replace(one, read_limit=most * one.share) for one in query.sources))
            for query in model.queries
        ),
    )
