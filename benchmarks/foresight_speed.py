"""How long `foresight` takes to decide, with few sizes to choose from and with many.

    python -m benchmarks.foresight_speed

A wave on micro-batches and on a continuous job; beside it the simple rule, in the same run. An evaluation makes
millions of decisions, and a live loop one in five seconds.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.machine import machine
from elastream.core.decision import Decision
from elastream.core.slo import Slo
from elastream.policies import policies
from elastream.simulator.catalogue import any_model
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload

MINUTES = 60


def main() -> None:
    """A line per engine, number of sizes and policy."""
    print(machine())
    for most in (16, 200):
        for name in ("enrich", "daedalus-wordcount"):
            for policy in ("lag-proportional", "foresight"):
                took_ms = measure(build(name, most), policy, peak=0.8 * most / 16)
                median, p99 = np.quantile(took_ms, (0.5, 0.99))
                print(
                    f"{name:20} 1..{most:<4} {policy:17} {median:6.2f} ms in the median, {p99:6.2f} at p99", flush=True
                )


def build(name: str, most: int) -> ApplicationModel | DataflowModel:
    """The model with so many sizes; a query with as many tasks as there can be executors, and half as many again."""
    model = (
        any_model(name).resized(min_workers=1, max_workers=most, initial_workers=most // 4).promising(Slo(delay_s=60))
    )
    if isinstance(model, DataflowModel):
        return model
    (query,) = model.queries
    stages = tuple(replace(stage, partitions=most * 3 // 2) for stage in query.stages)
    return replace(model, queries=(replace(query, stages=stages),))


def measure(model: ApplicationModel | DataflowModel, policy: str, peak: float) -> list[float]:
    """Milliseconds of every decision of an hour."""
    unit = 120_000 if isinstance(model, ApplicationModel) else 53_000
    load = parse_workload(f"cosine({unit * peak / 8:.0f}..{unit * peak:.0f}, period=20m, noise={unit * peak / 20:.0f})")
    decides = Timed(policies.build(policy, {}))
    Simulation(model, load, decides, name=policy, duration_s=MINUTES * 60.0, tick_s=5.0).run()
    return decides.took_ms


class Timed:
    """A policy whose decisions are timed."""

    def __init__(self, policy: Any) -> None:
        self._policy = policy
        self.took_ms: list[float] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._policy, name)

    def decide(self, *looked: Any) -> Decision:
        """As it does."""
        decide: Callable[..., Decision] = self._policy.decide
        began_s = time.perf_counter()
        decision = decide(*looked)
        self.took_ms.append(1e3 * (time.perf_counter() - began_s))
        return decision


if __name__ == "__main__":
    main()
