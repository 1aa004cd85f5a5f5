"""An experiment on the simulator: everything built and checked before it begins, then run."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from elastream.config import settings_of
from elastream.config.guards import build_guards
from elastream.core.bounds import spell_bounds
from elastream.core.errors import BadInput
from elastream.core.guards import Guards
from elastream.core.needs import find_caution, find_slowness, fit, require
from elastream.core.protocols import Journal, Policy
from elastream.core.quantity import spell_number, spell_seconds
from elastream.core.signals import Signal
from elastream.core.slo import Slo
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.run import Run
from elastream.experiments.run_folder import make_folder, open_recorder, write_results
from elastream.policies import policies
from elastream.simulator.catalogue import any_model
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.continuous.platform import SimulatedDataflow, provides
from elastream.simulator.faults import Fault, faults
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.simulator.model_file import read_model
from elastream.simulator.run import Simulation
from elastream.workloads import Pattern, parse_workload

ModelT = TypeVar("ModelT", bound=ApplicationModel | DataflowModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedSetup:
    """A simulated experiment with its parts built."""

    experiment: Experiment
    model: ApplicationModel | DataflowModel
    workload: Pattern
    policy: Policy[Any]
    guards: Guards
    faults: Sequence[Fault]

    def check(self) -> str:
        """In which form the policy runs; raises if it cannot, or if there is no such run."""
        experiment, label = self.experiment, self.experiment.policy.label
        self.workload.series(duration_s=experiment.duration_s, seed=experiment.seed)
        for name, pool in self.model.pools.items():
            if not pool.min_workers <= pool.initial_workers <= pool.max_workers:
                where = f"pool {name}: " if len(self.model.pools) > 1 else ""
                raise BadInput(
                    f"model {self.model.name}: {where}starts with {pool.initial_workers} workers; it must be "
                    f"{spell_bounds(pool.min_workers, pool.max_workers)}, the bounds of its pool"
                )
        platform, provided = self.provided()
        fits = require(label, platform, self.policy.needs, provided).sentence()
        slow = find_slowness(self.policy, experiment.tick_s)
        return f"{label} on {platform}: {'; '.join(filter(None, (fits, slow, find_caution(self.policy, provided))))}"

    def provided(self) -> tuple[str, AbstractSet[Signal]]:
        """The platform, and what it provides of this model."""
        if isinstance(self.model, DataflowModel):
            return SimulatedDataflow.name, provides(self.model)
        return SimulatedSpark.name, SimulatedSpark.provides

    def simulation(self) -> Simulation:
        """The run, before it begins."""
        subject = self.experiment.subject
        noise_seed = subject.noise_seed if isinstance(subject, SimulatedModel) else None
        return Simulation(
            self.model,
            self.workload,
            self.policy,
            name=self.experiment.policy.label,
            guards=self.guards,
            duration_s=self.experiment.duration_s,
            tick_s=self.experiment.tick_s,
            seed=self.experiment.seed,
            noise_seed=noise_seed,
            faults=self.faults,
        )

    def run(
        self,
        *,
        folder: Path | None = None,
        progress: Callable[[float], None] | None = None,
        journals: Sequence[Journal] = (),
    ) -> Run:
        """Run to the end; with a folder, leave journal, numbers and series there."""
        simulation = self.simulation()
        journals = [*journals]
        if folder is not None:
            make_folder(folder)
            journals.append(open_recorder(folder, simulation, self.experiment.policy.name))
        outcome = simulation.run(journals, progress)
        run = Run(
            experiment=self.experiment,
            series=outcome.series,
            summary=outcome.summary,
            exact=outcome.exact,
            form=outcome.form,
            offered_rps=outcome.offered_rps,
            demand=find_demand(self.experiment, outcome.offered_rps),
            folder=folder,
        )
        if folder is not None:
            write_results(run, self.describe())
        return run

    def sentence(self) -> str:
        """One line for a person, about everything but the policy."""
        if isinstance(self.model, DataflowModel):
            how, workers = "continuous", _pools_sentence(self.model)
        else:
            pool, trigger = self.model.pool, self.trigger_s
            slots = "1 slot" if pool.slots_per_worker == 1 else f"{pool.slots_per_worker} slots"
            how = "as fast as possible" if trigger is None else f"a batch every {spell_seconds(trigger)}"
            workers = f"{spell_bounds(pool.min_workers, pool.max_workers)} executors of {slots}"
        given = self.experiment
        return f"{self.model.name}, {how}, {spell_seconds(given.duration_s)}, {workers}, seed {given.seed}"

    def describe(self) -> dict[str, object]:
        """What the experiment comes to with everything that the model has of its own, but the policy."""
        pools = self.model.pools.values()
        slo = self.model.slo
        return {
            "model": self.model.name,
            "workload": str(self.workload),
            "duration_s": self.experiment.duration_s,
            "tick_s": self.experiment.tick_s,
            "seed": self.experiment.seed,
            "trigger_s": self.trigger_s,
            "executors": {
                "min": sum(pool.min_workers for pool in pools),
                "max": sum(pool.max_workers for pool in pools),
                "start": sum(pool.initial_workers for pool in pools),
            },
            "slots_per_worker": next(pool.slots_per_worker for pool in pools),
            "slo": {"delay_s": slo.delay_s, "share": slo.share} if slo else None,
            "guards": {name: settings_of(guard) for name, guard in self.guards.items()},
            "faults": [_describe_fault(fault) for fault in self.faults],
        }

    @property
    def trigger_s(self) -> float | None:
        """Time between batches, where there are batches at fixed times."""
        return None if isinstance(self.model, DataflowModel) else self.model.queries[0].trigger.interval_s

    @property
    def max_workers(self) -> int:
        """Workers there can be, over all pools."""
        most = sum(pool.max_workers for pool in self.model.pools.values())
        room = self.model.cluster_workers if isinstance(self.model, DataflowModel) else None
        return most if room is None else min(most, room)

    @property
    def slo_s(self) -> float | None:
        """The strictest promise."""
        return self.model.slo.delay_s if self.model.slo else None


def set_up_simulation(experiment: Experiment) -> SimulatedSetup:
    """Build the parts of an experiment on the simulator."""
    subject = experiment.subject
    if not isinstance(subject, SimulatedModel):
        raise BadInput(f"experiment: a job runs live and not on the simulator: {subject.job.label}")
    return SimulatedSetup(
        experiment=experiment,
        model=build_model(subject, experiment.executors, experiment.slo),
        workload=parse_workload(experiment.workload),
        policy=policies.build(experiment.policy.name, experiment.policy.settings),
        guards=build_guards({guard.name: guard.settings for guard in experiment.guards}),
        faults=[
            one
            for fault in subject.faults
            for one in faults.build(fault.name, fault.settings).occurrences(experiment.duration_s)
        ],
    )


def check_all(setups: Sequence[SimulatedSetup]) -> list[str]:
    """In which form each policy of a comparison runs; raises before anything has started."""
    labels = [setup.experiment.policy.label for setup in setups]
    twice = next((label for label in labels if labels.count(label) > 1), None)
    if twice:
        raise BadInput(f"policy {twice} is given twice")
    return [setup.check() for setup in setups]


def find_unfit(setups: Sequence[SimulatedSetup]) -> dict[str, str]:
    """Label -> what its policy lacks there, for each setup whose policy cannot run."""
    found = {}
    for setup in setups:
        platform, provided = setup.provided()
        lacking = fit(setup.policy.needs, provided)
        if not lacking.runs:
            found[setup.experiment.policy.label] = f"{lacking.sentence()} on {platform}"
    return found


def build_model(
    subject: SimulatedModel, executors: ExecutorBounds | None = None, slo: Slo | None = None
) -> ApplicationModel | DataflowModel:
    """The model of a subject, with the bounds and the promise of an experiment; its own where nothing is said."""
    bounds = executors or ExecutorBounds()
    name = subject.model
    is_file = name.endswith((".yaml", ".yml")) or "/" in name
    model = read_model(Path(name)) if is_file else any_model(name)
    if subject.trigger is not None:
        if isinstance(model, DataflowModel):
            raise BadInput(f"trigger: model {model.name} is continuous and has no batches; leave it out")
        model = replace(model, queries=tuple(replace(query, trigger=subject.trigger) for query in model.queries))
    model = _resized(
        model,
        slots_per_worker=subject.slots,
        min_workers=bounds.min,
        max_workers=bounds.max,
        initial_workers=bounds.start,
    )
    return model if slo is None else model.promising(slo)


def find_capacity(model: ApplicationModel | DataflowModel) -> float:
    """Records/s that the largest size can do: tasks that do not fill a last wave take as long as if they did."""
    if isinstance(model, DataflowModel):
        return model.full_rps()
    slots = model.pool.max_workers * model.pool.slots_per_worker
    tasks = max(stage.partitions for query in model.queries for stage in query.stages)
    return model.full_rps() * tasks / slots / math.ceil(tasks / slots)


def find_demand(experiment: Experiment, offered_rps: Sequence[float]) -> tuple[int, ...] | None:
    """The fewest workers that can do what is offered, at each moment; the most there may be where none can.

    None where several pools share the work, or it costs nothing: the size that is needed is then no single number.
    """
    capacities = _find_capacities(experiment.subject, experiment.executors)
    if capacities is None:
        return None
    least, rates = capacities
    return tuple(least + min(bisect_left(rates, rps), len(rates) - 1) for rps in offered_rps)


@lru_cache(maxsize=256)
def _find_capacities(subject: object, bounds: ExecutorBounds) -> tuple[int, tuple[float, ...]] | None:
    """The smallest size, and what each can do from there on, never less than a smaller one."""
    if not isinstance(subject, SimulatedModel):
        return None
    model = build_model(subject, bounds)
    if len(model.pools) != 1:
        return None
    [pool] = model.pools.values()
    rates: list[float] = []
    for workers in range(pool.min_workers, pool.max_workers + 1):
        capacity_rps = find_capacity(build_model(subject, ExecutorBounds(min=1, max=workers, start=1)))
        rates.append(max(capacity_rps, rates[-1] if rates else 0.0))
    return None if rates[-1] == float("inf") else (pool.min_workers, tuple(rates))


def fitting_workload(model: ApplicationModel | DataflowModel, duration_s: float) -> str:
    """A wave with a spike that needs most of the pool at its worst and little of it at its best."""
    full_rps = model.full_rps()
    if math.isinf(full_rps):
        full_rps = 1000.0
    low, high, spike = (spell_number(float(f"{share * full_rps:.2g}")) for share in (0.1, 0.55, 0.25))
    period, half, at, lasts = (spell_seconds(max(1, round(part * duration_s))) for part in (0.5, 0.25, 0.7, 0.04))
    return f"cosine({low}..{high}, period={period}, shift={half}) + spike({spike}, at={at}, for={lasts})"


def _resized(model: ModelT, **changes: int | None) -> ModelT:
    """The model with other pools; what is None stays."""
    given = {name: value for name, value in changes.items() if value is not None}
    return cast(ModelT, model.resized(**given)) if given else model


def _pools_sentence(model: DataflowModel) -> str:
    """How many workers each pool may have, said once where it is the same for all that can be resized."""
    bounds = {(pool.min_workers, pool.max_workers) for pool in model.pools.values()}
    free = {one for one in bounds if one[0] < one[1]} or bounds
    told = " or ".join(spell_bounds(low, high) for low, high in sorted(free))
    return f"{told} workers in each of {len(model.pools)} pools" if len(model.pools) > 1 else f"{told} workers"


def _describe_fault(fault: Fault) -> dict[str, object]:
    settings = settings_of(fault)
    # JSON has no infinity, which is how long a fault lasts that does not end.
    return {"fault": faults.name_of(fault)} | {k: None if v == math.inf else v for k, v in settings.items()}
