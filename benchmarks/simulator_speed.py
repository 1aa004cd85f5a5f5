"""How many times faster than real time the simulator runs, on one core, under every policy.

A 140-minute run of a three-operator job with a 15 s loop: with a 10 s trigger (goal: 20,000 times real time, so at
most 0.42 s), and as fast as possible (goal: 2,000 times).
"""

from dataclasses import replace

from benchmarks.machine import cpu_seconds, machine
from elastream.core.observation import Trigger
from elastream.policies import policies
from elastream.simulator.catalogue import model
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload

DURATION_S = 140 * 60.0
LOAD = parse_workload("cosine(10k..80k, period=60m, noise=5k) + spike(30k, at=40m, for=5m)")


def main() -> None:
    """Print a line per trigger and policy."""
    print(machine())
    print(f"{'trigger':8} {'policy':18} {'CPU s (least, median, greatest)':34} {'x real time':>12} {'batches':>8} goal")
    for label, interval_s, goal in (("10 s", 10.0, 20_000), ("asap", None, 2_000)):
        app = with_trigger(interval_s)
        for name in policies.names():
            least, middle, most = cpu_seconds(lambda app=app, name=name: run(app, name))  # type: ignore[misc]
            speed = DURATION_S / middle
            verdict = "met" if speed >= goal else "MISSED"
            times = f"{least:.3f}, {middle:.3f}, {most:.3f}"
            print(f"{label:8} {name:18} {times:34} {speed:12,.0f} {batches(app, name):8,} {goal:,} {verdict}")


def with_trigger(interval_s: float | None) -> ApplicationModel:
    """The three-operator model with a trigger, starting at the maximum: that is where batches cost most to simulate."""
    base = model("windowed-count")
    queries = tuple(replace(query, trigger=Trigger(interval_s=interval_s)) for query in base.queries)
    return replace(base, queries=queries, pool=replace(base.pool, initial_workers=12))


def run(app: ApplicationModel, name: str) -> object:
    """One run."""
    return simulation(app, name).run()


def batches(app: ApplicationModel, name: str) -> int:
    """How many batches such a run has."""
    counted = _Batches()
    simulation(app, name).run([counted])
    return counted.number


def simulation(app: ApplicationModel, name: str) -> Simulation:
    """A run of one policy with its defaults."""
    return Simulation(app, LOAD, policies.build(name), name=name, duration_s=DURATION_S)


class _Batches:
    number = 0

    def write(self, tick: object) -> None:
        """Remember the newest count."""
        now = getattr(tick, "observation", None)
        if now is not None and now.queries[0].batches is not None:
            self.number = int(now.queries[0].batches.value)

    def close(self) -> None:
        """Nothing to close."""


if __name__ == "__main__":
    main()
