"""What `simulate` and `demo` run: a model under a workload, and the policies that compete."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from elastream.cli.output import tell
from elastream.cli.reading import Contender, plain_settings
from elastream.core.errors import BadInput
from elastream.core.guards import Guards
from elastream.core.needs import require
from elastream.core.quantity import spell_number, spell_seconds
from elastream.simulator.faults import Fault
from elastream.simulator.model import ApplicationModel
from elastream.simulator.platform import SimulatedSpark
from elastream.simulator.run import Simulation
from elastream.workloads import Pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """Everything about a run but the policy."""

    model: ApplicationModel
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
        start, pool = self.model.pool.initial_workers, self.model.pool
        if not pool.min_workers <= start <= pool.max_workers:
            raise BadInput(
                f"model {self.model.name}: starts with {start} workers; it must be {pool.min_workers} to "
                f"{pool.max_workers}, the bounds of its pool"
            )
        platform = SimulatedSpark
        fits = [require(one.label, platform.name, one.policy.needs, platform.provides) for one in contenders]
        return [f"{one.label} on {platform.name}: {fit.sentence()}" for one, fit in zip(contenders, fits, strict=True)]

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
        pool, trigger = self.model.pool, self.model.queries[0].trigger.interval_s
        slots = "1 slot" if pool.slots_per_worker == 1 else f"{pool.slots_per_worker} slots"
        every = "as fast as possible" if trigger is None else f"a batch every {spell_seconds(trigger)}"
        return (
            f"{self.model.name}, {every}, {spell_seconds(self.duration_s)}, "
            f"{pool.min_workers} to {pool.max_workers} executors of {slots}, seed {self.seed}"
        )

    def as_json(self) -> dict[str, Any]:
        """As plain values."""
        pool, slos = self.model.pool, [query.slo for query in self.model.queries]
        return {
            "model": self.model.name,
            "workload": str(self.workload),
            "duration_s": self.duration_s,
            "tick_s": self.tick_s,
            "seed": self.seed,
            "trigger_s": self.model.queries[0].trigger.interval_s,
            "executors": {"min": pool.min_workers, "max": pool.max_workers, "start": pool.initial_workers},
            "slots_per_worker": pool.slots_per_worker,
            "slo_p95_s": next((slo.p95_s for slo in slos if slo), None),
            "guards": {name: plain_settings(guard) for name, guard in self.guards.items()},
            "faults": [_spelt(fault) for fault in self.faults],
        }

    @property
    def slo_s(self) -> float | None:
        """The strictest promise."""
        return min((query.slo.p95_s for query in self.model.queries if query.slo), default=None)


def fitting_workload(model: ApplicationModel, duration_s: float) -> str:
    """A wave with a spike that needs most of the pool at its worst and little of it at its best."""
    work_s = sum(query.slot_s_per_record() for query in model.queries)
    full_rps = model.pool.max_workers * model.pool.slots_per_worker / work_s if work_s else 1000.0
    low, high, spike = (spell_number(float(f"{share * full_rps:.2g}")) for share in (0.1, 0.55, 0.25))
    period, half, at, lasts = (spell_seconds(max(1, round(part * duration_s))) for part in (0.5, 0.25, 0.7, 0.04))
    return f"cosine({low}..{high}, period={period}, shift={half}) + spike({spike}, at={at}, for={lasts})"


def resized(model: ApplicationModel, **changes: Any) -> ApplicationModel:
    """The model with another pool; what is None stays."""
    given = {name: value for name, value in changes.items() if value is not None}
    pool = replace(model.pool, **given)
    if "initial_workers" not in given:
        # The model's own start has to follow bounds that were moved.
        within = min(max(pool.initial_workers, pool.min_workers), pool.max_workers)
        pool = replace(pool, initial_workers=within)
    return replace(model, pool=pool)


def _spelt(fault: Fault) -> dict[str, Any]:
    import math

    from elastream.simulator.faults import faults

    settings = plain_settings(fault)
    # JSON has no infinity, which is how long a fault lasts that does not end.
    return {"fault": faults.name_of(fault)} | {k: None if v == math.inf else v for k, v in settings.items()}


class _Teller(logging.Handler):
    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label

    def emit(self, record: logging.LogRecord) -> None:
        tell(f"{self._label}: {record.getMessage()}")


@contextmanager
def troubles_told(label: str) -> Iterator[None]:
    """What the loop survives is told with the name of the policy that met it."""
    log, teller = logging.getLogger("elastream"), _Teller(label)
    propagates, log.propagate = log.propagate, False
    log.addHandler(teller)
    try:
        yield
    finally:
        log.removeHandler(teller)
        log.propagate = propagates
