"""How many times faster than real time the continuous engine runs, on one core, under every policy that can.

A 140-minute run of a job with five operators in steps of one second: a loop of 15 s (goal: 20,000 times real time, at
least 5,000), and a loop of 1 s, where most of the time goes into looks and deciding, so that there is no goal.
"""

from dataclasses import replace

from benchmarks.machine import cpu_seconds, machine
from elastream.core.errors import BadInput
from elastream.core.needs import fit
from elastream.core.protocols import Policy
from elastream.policies import policies
from elastream.simulator.continuous.engine import ContinuousEngine
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    MeasuringModel,
    OperatorModel,
    RestartModel,
    own_pools,
)
from elastream.simulator.continuous.platform import provides
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload

DURATION_S = 140 * 60.0
LOAD = parse_workload("cosine(10k..80k, period=60m, noise=5k) + spike(30k, at=40m, for=5m)")
GOAL, LEAST = 20_000, 5_000


def main() -> None:
    """Print a line per loop and policy."""
    print(machine())
    print(f"{'loop':6} {'policy':20} {'CPU s (least, median, greatest)':34} {'x real time':>12} goal")
    curve = LOAD.series(duration_s=DURATION_S, seed=0)
    tell(
        "-", "engine alone", cpu_seconds(lambda: ContinuousEngine(job(), {"events": curve}, seed=0).advance(DURATION_S))
    )
    for tick_s, names in ((15.0, runnable()), (1.0, ["fixed", "threshold"])):
        for name in names:
            policy = policies.build(name)
            took = cpu_seconds(lambda p=policy, t=tick_s: run(p, t), runs=3)  # type: ignore[misc]
            tell(f"{tick_s:g} s", name, took, goal=tick_s == 15.0)


def tell(loop: str, name: str, took: tuple[float, float, float], *, goal: bool = True) -> None:
    """One line."""
    speed = DURATION_S / took[1]
    verdict = "met" if speed >= GOAL else "least met" if speed >= LEAST else "MISSED"
    times = ", ".join(f"{seconds:.3f}" for seconds in took)
    print(f"{loop:6} {name:20} {times:34} {speed:12,.0f} {f'{GOAL:,} {verdict}' if goal else '-'}")


def job() -> DataflowModel:
    """Two branches that meet: five operators with a pool each, bounded buffers, restarts that replay."""
    operators = (
        OperatorModel(name="read", after=(Feed("events"),), rate_rps=20_000.0),
        OperatorModel(name="parse", after=(Feed("read"),), rate_rps=10_000.0, buffer=5_000.0),
        OperatorModel(name="enrich", after=(Feed("parse", 0.5),), rate_rps=8_000.0, buffer=5_000.0),
        OperatorModel(
            name="count",
            after=(Feed("parse", 0.5), Feed("enrich")),
            rate_rps=9_000.0,
            buffer=5_000.0,
            stateful=True,
            hot_share=0.02,
        ),
        OperatorModel(name="write", after=(Feed("count", 0.2),), rate_rps=10_000.0, buffer=5_000.0),
    )
    return DataflowModel(
        name="five",
        logs=(LogModel(name="events"),),
        operators=operators,
        pools=own_pools(operators, replace(WARM, max_workers=12, initial_workers=6, cpu_ceiling=0.9, cpu_noise=0.02)),
        restart=RestartModel(grow_s=30.0, shrink_s=15.0, checkpoint_s=10.0),
        measuring=MeasuringModel(busy_ceiling=0.95, unsteady=0.1),
    )


def runnable() -> list[str]:
    """Policies that need no settings and find what they need; of each file one, for its presets cost the same."""
    found: dict[str, str] = {}
    for name in policies.names():
        try:
            policy = policies.build(name)
        except BadInput:
            continue
        if fit(policy.needs, provides(job())).runs:
            found.setdefault(type(policy).__module__, name)
    return list(found.values())


def run(policy: Policy[object], tick_s: float) -> object:
    """One run."""
    return Simulation(job(), LOAD, policy, name="any", duration_s=DURATION_S, tick_s=tick_s).run()


if __name__ == "__main__":
    main()
