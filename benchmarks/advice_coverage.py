"""`python -m benchmarks.advice_coverage`: how often what comes of another policy lies in the interval told of it.

The truth is a model that the adviser does not know: it has a recording of one policy on it, and says what others would
have come to. Then they run on the truth, with other noise.
"""

from collections import Counter
from collections.abc import Sequence

from elastream.advice.advice import Adviser, KeptTicks, parse_option
from elastream.advice.figures import AdviceFigures, RunSpan
from elastream.advice.recorded_run import take_last
from elastream.core.log import log
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.journal.format import describe
from elastream.journal.reader import Part, Recording
from elastream.policies import policies
from elastream.simulator.catalogue import any_model
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload
from elastream.workloads.pattern import Pattern

MODELS = ("windowed-count", "enrich", "nexmark-q5")
RECORDED = ("lag-proportional", "foresight", "threshold")
OTHERS = ("foresight", "lag-proportional", "threshold", "fixed(workers=8)")
SLO = Slo(delay_s=30.0)
DURATION_S, TICK_S = 1800.0, 10.0
NUMBERS = ("executor_hours", "within", "delay_p95_s")
DRAWS = 5


def simulate(model: ApplicationModel, load: Pattern, policy: str, seed: int) -> tuple[Simulation, Sequence[Tick]]:
    """A run of the truth."""
    chosen = parse_option(policy).policy
    run = Simulation(model, load, chosen, name=policy, duration_s=DURATION_S, tick_s=TICK_S, noise_seed=seed)
    kept = KeptTicks()
    run.run([kept])
    return run, kept.ticks


def record(model: ApplicationModel, load: Pattern, policy: str) -> Recording:
    """A run of the truth as its journal has it."""
    run, ticks = simulate(model, load, policy, 1001)
    header = describe(
        run.planner, run.platform, policy=policies.name_of(run.planner.policy), tick_s=TICK_S,
        max_age_s=run.controller.max_age_s, utc_s=0.0,
    )  # fmt: skip
    return Recording(parts=(Part(name="journal", header=header, snapshot=None, ticks=tuple(ticks)),))


def main() -> None:
    """Every policy that was recorded, and what is said of the others."""
    log.disabled = True
    told: Counter[str] = Counter()
    held: Counter[str] = Counter()
    for name in MODELS:
        found = any_model(name)
        assert isinstance(found, ApplicationModel)
        rps = 0.7 * found.full_rps()
        model = found.resized(min_workers=1, max_workers=12, initial_workers=4).promising(SLO)
        load = parse_workload(
            f"cosine({0.1 * rps:.0f}..{0.6 * rps:.0f}, period=15m) + spike({0.2 * rps:.0f}, at=12m, for=90s)"
        )
        for recorded in RECORDED:
            adviser = Adviser(take_last(record(model, load, recorded), name), draws=DRAWS)
            advice = adviser.advise([parse_option(other) for other in OTHERS if other != recorded])
            for option in advice.options:
                ticks = simulate(model, load, option.label, 2001)[1]
                truth: AdviceFigures = RunSpan(ticks, adviser.loads, TICK_S, 60.0).measure(0.0, DURATION_S, SLO)
                for number in NUMBERS:
                    said, came = getattr(option.prediction, number), getattr(truth, number)
                    told[number] += 1
                    held[number] += said.low - 1e-9 <= came <= said.high + 1e-9
                    if not said.low - 1e-9 <= came <= said.high + 1e-9:
                        print(f"{name}, {recorded} recorded: {option.label}: {number} {came:.4g}, "
                              f"told {said.value:.4g} ({said.low:.4g} to {said.high:.4g})", flush=True)  # fmt: skip
    for number in NUMBERS:
        print(f"{number}: {held[number]} of {told[number]} in their intervals")


if __name__ == "__main__":
    main()
