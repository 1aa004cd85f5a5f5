"""A run of the loop on the simulator, kept tick by tick, to ask what an operator would have seen.

story = tell(application(initial_workers=4), "cosine(5k..70k, period=20m)", Mine(target=0.7), minutes=30)
assert max(story.wanted(from_s=600)) <= 8
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from elastream.core.guards import Guards
from elastream.core.observation import Observation, Trigger
from elastream.core.protocols import Policy
from elastream.core.tick import Tick
from elastream.policies import policies
from elastream.simulator.catalogue import model
from elastream.simulator.faults import Fault
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Outcome, Simulation
from elastream.workloads import parse_workload

TICK_S = 15.0


@dataclass
class Story:
    """What an operator could have watched."""

    ticks: list[Tick] = field(default_factory=list)
    outcome: Outcome | None = None

    def write(self, tick: Tick) -> None:
        """Keep a tick. Implements Journal."""
        self.ticks.append(tick)

    def close(self) -> None:
        """Nothing to close. Implements Journal."""

    def looks(self, from_s: float = 0.0, to_s: float = float("inf")) -> list[Observation]:
        """Observations within a time."""
        seen = [tick.observation for tick in self.ticks if tick.observation is not None]
        return [now for now in seen if from_s <= now.at_s <= to_s]

    def wanted(self, from_s: float = 0.0, to_s: float = float("inf")) -> list[int]:
        """Executors decided within a time, tick by tick."""
        return [
            sum(tick.decision.allocation.values())
            for tick in self.ticks
            if tick.decision is not None and from_s <= tick.at_s <= to_s
        ]

    def ready(self, from_s: float = 0.0, to_s: float = float("inf")) -> list[int]:
        """Executors ready within a time, tick by tick."""
        return [sum(pool.ready for pool in now.pools) for now in self.looks(from_s, to_s)]

    def backlog(self, from_s: float = 0.0, to_s: float = float("inf")) -> list[float]:
        """Records that wait, over all queries, tick by tick."""
        return [sum(query.backlog or 0.0 for query in now.queries) for now in self.looks(from_s, to_s)]

    def reasons(self, from_s: float = 0.0, to_s: float = float("inf")) -> list[str]:
        """What was said, guards included."""
        return [
            tick.decision.sentence() for tick in self.ticks if tick.decision is not None and from_s <= tick.at_s <= to_s
        ]


def application(
    name: str = "windowed-count", *, asap: bool = False, read_limit: float | None = None, **pool: Any
) -> ApplicationModel:
    """A model with another trigger, read limit or pool."""
    base = model(name)
    queries = tuple(
        replace(
            query,
            trigger=Trigger(interval_s=None) if asap else query.trigger,
            sources=tuple(replace(source, read_limit=read_limit) for source in query.sources),
        )
        for query in base.queries
    )
    return replace(base, queries=queries, pool=replace(base.pool, **pool))


def tell(
    app: ApplicationModel,
    workload: str,
    policy: str | Policy[Any],
    *,
    minutes: float,
    guards: Guards | None = None,
    faults: Sequence[Fault] = (),
    tick_s: float = TICK_S,
    **settings: Any,
) -> Story:
    """Run a policy, or one by its name with these settings, to the end and keep everything."""
    story = Story()
    decides = policies.build(policy, settings) if isinstance(policy, str) else policy
    simulation = Simulation(
        app,
        parse_workload(workload),
        decides,
        name=policies.name_of(decides),
        duration_s=minutes * 60,
        tick_s=tick_s,
        guards=guards,
        faults=faults,
        seed=7,
    )
    story.outcome = simulation.run([story])
    return story
