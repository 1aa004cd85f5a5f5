"""Controller ticks per second with `fixed` and no journal (goal: 10,000)."""

from dataclasses import replace

from benchmarks.machine import cpu_seconds, machine
from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.core.signals import Signal
from elastream.loop.clock import VirtualClock
from elastream.loop.controller import Controller
from elastream.loop.planner import Planner
from elastream.policies import Fixed
from elastream.simulator.catalogue import model
from elastream.simulator.microbatch.platform import PROVIDES, SimulatedSpark
from elastream.workloads import parse_workload

TICKS = 2_000


class Prepared:
    """A platform that only hands out what was seen before: what is measured is the loop."""

    name = "prepared"
    provides: frozenset[Signal] = PROVIDES

    def __init__(self, looks: list[Observation]) -> None:
        self._looks = iter(looks)

    def observe(self) -> Observation:
        """The next look."""
        return next(self._looks)

    def apply(self, decision: Decision) -> None:
        """Nobody listens."""

    def has_ended(self) -> bool:
        """When they are out, nobody asks."""
        return False


def main() -> None:
    """Print ticks per second."""
    print(machine())
    for workers in (1, 12):
        looks = prepared(workers)
        _, seconds, _ = cpu_seconds(lambda looks=looks: run(looks))  # type: ignore[misc]
        verdict = "met" if TICKS / seconds >= 10_000 else "MISSED"
        print(f"fixed, no journal, {workers:2} executors: {TICKS / seconds:10,.0f} ticks/s   goal 10,000 {verdict}")


def prepared(workers: int) -> list[Observation]:
    """Looks of a simulated run with so many executors."""
    base = model("windowed-count")
    app = replace(base, pool=replace(base.pool, initial_workers=workers))
    clock = VirtualClock()
    curve = parse_workload("constant(5k)").series(duration_s=TICKS * 15.0, seed=0)
    platform = SimulatedSpark(app, {query.name: curve for query in app.queries}, clock)
    looks = []
    for number in range(TICKS + 1):
        clock.sleep_until(number * 15.0)
        looks.append(platform.observe())
    return looks


def run(looks: list[Observation]) -> None:
    """All ticks once."""
    planner = Planner(Fixed(), {}, PROVIDES)
    controller = Controller(platform=Prepared(looks), planner=planner, clock=VirtualClock(), tick_s=15.0)
    controller.run(until_s=TICKS * 15.0 - 1)


if __name__ == "__main__":
    main()
