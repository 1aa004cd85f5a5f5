"""A recorded run of a simulated job, made in memory."""

from dataclasses import replace

from elastream.advice.advice import KeptTicks, parse_option
from elastream.advice.recorded_run import RecordedRun, take_last
from elastream.core.slo import Slo
from elastream.journal.format import describe
from elastream.journal.reader import Part, Recording
from elastream.policies import policies
from elastream.simulator.catalogue import any_model
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload

SLO = Slo(delay_s=30.0)
LOAD = "cosine(5k..40k, period=8m)"
TICK_S = 10.0


def record(
    policy: str = "lag-proportional",
    *,
    minutes: float = 10,
    seed: int = 77,
    load: str = LOAD,
    slo: Slo | None = SLO,
    tick_s: float = TICK_S,
) -> Recording:
    """A run of `enrich` on 1 to 8 executors."""
    model = any_model("enrich")
    assert isinstance(model, ApplicationModel)
    model = model.resized(min_workers=1, max_workers=8, initial_workers=3)
    model = model if slo is None else model.promising(slo)
    chosen = parse_option(policy).policy
    simulation = Simulation(
        model, parse_workload(load), chosen, name=policy, duration_s=60.0 * minutes, tick_s=tick_s, noise_seed=seed
    )
    kept = KeptTicks()
    simulation.run([kept])
    header = describe(
        simulation.planner, simulation.platform, policy=policies.name_of(chosen), tick_s=tick_s,
        max_age_s=simulation.controller.max_age_s, utc_s=0.0,
    )  # fmt: skip
    return Recording(parts=(Part(name="journal", header=header, snapshot=None, ticks=tuple(kept.ticks)),))


def changed(recording: Recording, **header: object) -> Recording:
    """The same with another header."""
    part = recording.parts[0]
    return Recording(parts=(replace(part, header=replace(part.header, **header)),))  # type: ignore[arg-type]


def taken(recording: Recording, last_s: float | None = None) -> RecordedRun:
    """The run of it."""
    return take_last(recording, "run", last_s)
