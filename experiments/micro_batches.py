"""What every policy does on micro-batches under steady loads: `python -m experiments.micro_batches` measures it anew.

Each case is run for 90 minutes from four workers, and its last 15 are looked at: how many workers there are, against
the fewest that keep up (found by fixed sizes), and how long the oldest record waits. Whose batches take longer than the
trigger allows falls behind. The figures go into the package, where `elastream policies` shows them, so that none is
typed in. All policies take about three minutes of a processor.
"""

import argparse
import json
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from statistics import mean, median
from typing import Any, NamedTuple

from elastream.core.needs import fit
from elastream.core.observation import Trigger
from elastream.policies import policies
from elastream.policies.micro_batches import FIGURES, read_figures
from elastream.simulator.microbatch.platform import SimulatedSpark
from elastream.testing import Story, application, tell

COMMAND = "python -m experiments.micro_batches"
MINUTES, LAST_S, TICK_S = 90.0, 900.0, 5.0
START, MOST = 4, 24


class Case(NamedTuple):
    """A steady load on a job."""

    model: str
    rate_rps: int
    trigger_s: float

    @property
    def name(self) -> str:
        """As figures are kept by."""
        return f"{self.model} at {self.rate_rps:,}/s, a batch every {self.trigger_s:g} s"


CASES = (
    Case("windowed-count", 60_000, 10.0),
    Case("windowed-count", 80_000, 10.0),
    Case("windowed-count", 60_000, 60.0),
    Case("enrich", 80_000, 10.0),
)


class Found(NamedTuple):
    """How a run ended."""

    workers: float
    delay_s: float
    keeps_up: bool


def run(case: Case, policy: str, *, minutes: float = MINUTES, **settings: Any) -> Found:
    """A policy under a case."""
    base = application(case.model, max_workers=MOST, initial_workers=START)
    trigger = Trigger(interval_s=case.trigger_s)
    app = replace(base, queries=tuple(replace(query, trigger=trigger) for query in base.queries))
    story = tell(app, f"constant({case.rate_rps})", policy, minutes=minutes, tick_s=TICK_S, **settings)
    from_s = minutes * 60 - LAST_S
    return Found(
        workers=round(mean(story.wanted(from_s=from_s)), 2),
        delay_s=round(_oldest_s(story, from_s), 1),
        keeps_up=median(_batches_s(story, from_s)) <= case.trigger_s,
    )


def fewest(case: Case) -> int:
    """The fewest workers that keep up."""
    return next(size for size in range(1, MOST + 1) if run(case, "fixed", minutes=40.0, workers=size).keeps_up)


def main(arguments: list[str] | None = None) -> int:
    """Measure, and keep the figures of each policy as soon as they are there."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("policies", nargs="*", help="measure these anew, and leave the figures of all others")
    chosen = parser.parse_args(arguments).policies
    names = chosen or [name for name in policies.names() if is_measured(name)]
    with ProcessPoolExecutor() as pool:
        needed = dict(zip([case.name for case in CASES], pool.map(fewest, CASES), strict=True))
        found = {} if not chosen else read_figures()["policies"]
        for name, cases in zip(names, pool.map(measure, names), strict=True):
            print(name, *(f"{one['workers']:.1f}" for one in cases.values()), flush=True)
            found[name] = cases
            kept = {"command": COMMAND, "cases": needed, "policies": dict(sorted(found.items()))}
            FIGURES.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return 0


def measure(name: str) -> dict[str, dict[str, float | bool]]:
    """A policy in all cases."""
    return {case.name: run(case, name)._asdict() for case in CASES}


def is_measured(name: str) -> bool:
    """Whether a policy decides anything on micro-batches, with nothing set."""
    return name not in ("fixed", "schedule") and fit(policies.build(name).needs, SimulatedSpark.provides).runs


def _batches_s(story: Story, from_s: float) -> list[float]:
    """How long batches take; one that outlasts the run as well."""
    looks = story.looks(from_s)
    ended = {query.finished.id: query.finished for now in looks for query in now.queries if query.finished is not None}
    lasting = [now.at_s - query.running.started_s for now in looks[-1:] for query in now.queries if query.running]
    return [batch.duration_s for batch in ended.values()] or lasting


def _oldest_s(story: Story, from_s: float) -> float:
    ages = [source.backlog_age_s for now in story.looks(from_s) for query in now.queries for source in query.sources]
    return max((age.value for age in ages if age is not None), default=0.0)


if __name__ == "__main__":
    sys.exit(main())
