"""What `simulate` and `demo` run: a model under a workload, and the policies that compete."""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from elastream.config import settings_of
from elastream.core.bounds import spell_bounds
from elastream.core.errors import BadInput
from elastream.core.guards import Guards
from elastream.core.needs import fit, require
from elastream.core.quantity import spell_number, spell_seconds
from elastream.core.signals import Signal
from elastream.experiments.contender import Contender
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.continuous.platform import SimulatedDataflow, provides
from elastream.simulator.faults import Fault
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.simulator.run import Simulation
from elastream.workloads import Pattern

ModelT = TypeVar("ModelT", bound=ApplicationModel | DataflowModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything about a run but the policy."""

    model: ApplicationModel | DataflowModel
    workload: Pattern
    duration_s: float
    tick_s: float = 15.0
    seed: int = 0
    guards: Guards = field(default_factory=dict)
    faults: Sequence[Fault] = ()

    def check(self, contenders: Sequence[Contender]) -> list[str]:
        """In which form each policy runs; raises before anything has started."""
        labels = [one.label for one in contenders]
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice:
            raise BadInput(f"policy {twice} is given twice")
        self.workload.series(duration_s=self.duration_s, seed=self.seed)
        for name, pool in self.model.pools.items():
            if not pool.min_workers <= pool.initial_workers <= pool.max_workers:
                where = f"pool {name}: " if len(self.model.pools) > 1 else ""
                raise BadInput(
                    f"model {self.model.name}: {where}starts with {pool.initial_workers} workers; it must be "
                    f"{spell_bounds(pool.min_workers, pool.max_workers)}, the bounds of its pool"
                )
        platform, provided = self._provided()
        fits = [require(one.label, platform, one.policy.needs, provided) for one in contenders]
        return [f"{one.label} on {platform}: {found.sentence()}" for one, found in zip(contenders, fits, strict=True)]

    def find_unfit(self, contenders: Sequence[Contender]) -> dict[str, str]:
        """Label -> what it lacks here, for each policy that cannot run."""
        platform, provided = self._provided()
        fits = {one.label: fit(one.policy.needs, provided) for one in contenders}
        return {label: f"{found.sentence()} on {platform}" for label, found in fits.items() if not found.runs}

    def _provided(self) -> tuple[str, AbstractSet[Signal]]:
        if isinstance(self.model, DataflowModel):
            return SimulatedDataflow.name, provides(self.model)
        return SimulatedSpark.name, SimulatedSpark.provides

    def simulation(self, contender: Contender) -> Simulation:
        """The run of one policy, before it begins."""
        return Simulation(
            self.model,
            self.workload,
            contender.policy,
            name=contender.label,
            guards=self.guards,
            duration_s=self.duration_s,
            tick_s=self.tick_s,
            seed=self.seed,
            faults=self.faults,
        )

    def sentence(self) -> str:
        """One line for a person."""
        if isinstance(self.model, DataflowModel):
            how, workers = "continuous", _pools_sentence(self.model)
        else:
            pool, trigger = self.model.pool, self.trigger_s
            slots = "1 slot" if pool.slots_per_worker == 1 else f"{pool.slots_per_worker} slots"
            how = "as fast as possible" if trigger is None else f"a batch every {spell_seconds(trigger)}"
            workers = f"{spell_bounds(pool.min_workers, pool.max_workers)} executors of {slots}"
        return f"{self.model.name}, {how}, {spell_seconds(self.duration_s)}, {workers}, seed {self.seed}"

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        pools = self.model.pools.values()
        return {
            "model": self.model.name,
            "workload": str(self.workload),
            "duration_s": self.duration_s,
            "tick_s": self.tick_s,
            "seed": self.seed,
            "trigger_s": self.trigger_s,
            "executors": {
                "min": sum(pool.min_workers for pool in pools),
                "max": sum(pool.max_workers for pool in pools),
                "start": sum(pool.initial_workers for pool in pools),
            },
            "slots_per_worker": next(pool.slots_per_worker for pool in pools),
            "slo": {"delay_s": self.model.slo.delay_s, "share": self.model.slo.share} if self.model.slo else None,
            "guards": {name: settings_of(guard) for name, guard in self.guards.items()},
            "faults": [_spelt(fault) for fault in self.faults],
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


def fitting_workload(model: ApplicationModel | DataflowModel, duration_s: float) -> str:
    """A wave with a spike that needs most of the pool at its worst and little of it at its best."""
    full_rps = model.full_rps()
    if math.isinf(full_rps):
        full_rps = 1000.0
    low, high, spike = (spell_number(float(f"{share * full_rps:.2g}")) for share in (0.1, 0.55, 0.25))
    period, half, at, lasts = (spell_seconds(max(1, round(part * duration_s))) for part in (0.5, 0.25, 0.7, 0.04))
    return f"cosine({low}..{high}, period={period}, shift={half}) + spike({spike}, at={at}, for={lasts})"


def resized(model: ModelT, **changes: Any) -> ModelT:
    """The model with other pools; what is None stays."""
    given = {name: value for name, value in changes.items() if value is not None}
    return cast(ModelT, model.resized(**given))


def _pools_sentence(model: DataflowModel) -> str:
    """How many workers each pool may have, said once where it is the same for all that can be resized."""
    bounds = {(pool.min_workers, pool.max_workers) for pool in model.pools.values()}
    free = {one for one in bounds if one[0] < one[1]} or bounds
    told = " or ".join(spell_bounds(low, high) for low, high in sorted(free))
    return f"{told} workers in each of {len(model.pools)} pools" if len(model.pools) > 1 else f"{told} workers"


def _spelt(fault: Fault) -> dict[str, Any]:
    from elastream.simulator.faults import faults

    settings = settings_of(fault)
    # JSON has no infinity, which is how long a fault lasts that does not end.
    return {"fault": faults.name_of(fault)} | {k: None if v == math.inf else v for k, v in settings.items()}
