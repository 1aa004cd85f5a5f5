"""How many loads a policy keeps an SLO on, and for how many executor-hours.

    python -m experiments.slo_on_traces FOLDER_WITH_CSV_FILES
    python -m experiments.slo_on_traces FOLDER --policy 'fixed(workers=16)' --slo 10 --trigger 2
    python -m experiments.slo_on_traces

Without a folder of recorded loads, those of `made_loads.py` are run. Every load is scaled so that its peak is 80 % of
what the largest size can do, waves of tasks counted.
"""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.run import Run
from elastream.experiments.simulated import build_model, set_up_simulation
from elastream.simulator.microbatch.model import ApplicationModel
from experiments.made_loads import LOADS

MOST, PEAK = 16, 0.8


@dataclass(frozen=True, kw_only=True)
class Case:
    """One load under one policy."""

    name: str
    load: str
    """With {peak} for its highest rate."""
    policy: str
    model: str
    slo_s: float
    trigger_s: float | None
    seed: int

    def run(self) -> Run:
        """Six hours of it."""
        trigger = None if self.trigger_s is None else Trigger(interval_s=self.trigger_s or None)
        subject, bounds = SimulatedModel(model=self.model, trigger=trigger), ExecutorBounds(min=1, max=MOST, start=1)
        app = build_model(subject, bounds)
        assert isinstance(app, ApplicationModel)
        experiment = Experiment(
            subject=subject,
            workload=self.load.replace("{peak}", f"{PEAK * capacity_rps(app):.0f}"),
            duration_s=6 * 3600.0,
            policy=parse_policy(self.policy),
            executors=bounds,
            slo=Slo(delay_s=self.slo_s),
            tick_s=5.0,
            seed=self.seed,
        )
        return set_up_simulation(experiment).run()


def capacity_rps(app: ApplicationModel) -> float:
    """Records/s that the largest size can do: tasks that do not fill a last wave take as long as if they did."""
    slots = app.pool.max_workers * app.pool.slots_per_worker
    tasks = max(stage.partitions for query in app.queries for stage in query.stages)
    return app.full_rps() * tasks / slots / math.ceil(tasks / slots)


def find_loads(folder: Path | None) -> dict[str, str]:
    """Name -> workload: the recordings of a folder, or without one those that were made up."""
    if folder is None:
        return {name: f"({load}) * {{peak}}" for name, load in LOADS.items()}
    recordings = sorted(folder.glob("*.csv"))
    if not recordings:
        sys.exit(f"{folder}: no CSV files there; name a folder of recorded loads")
    return {file.stem: f'trace("{file}", peak={{peak}})' for file in recordings}


def main() -> None:
    """Print a line per load, and the sum."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--policy", default="lag-proportional")
    parser.add_argument("--model", default="enrich")
    parser.add_argument("--slo", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--trigger", type=float, metavar="SECONDS", help="0: as fast as possible")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    cases = [
        Case(
            name=name, load=load, policy=given.policy, model=given.model, slo_s=given.slo, trigger_s=given.trigger,
            seed=given.seed,
        )
        for name, load in find_loads(given.folder).items()
    ]  # fmt: skip
    kept, hours = 0, 0.0
    with ProcessPoolExecutor(2) as pool:
        for case, found in zip(cases, pool.map(Case.run, cases), strict=True):
            summary, exact = found.summary, found.exact
            assert exact is not None
            kept, hours = kept + bool(summary.slo_kept), hours + (summary.worker_hours_paid or 0.0)
            print(
                f"{case.name:26} {summary.records_within_slo or 0:8.2%}{' ' if summary.slo_kept else '*'} "
                f"{summary.worker_hours_paid or 0:6.1f} executor-hours paid {summary.actions:5} changes  "
                f"delay p99 {exact.delay_p99_s or 0:5.1f} s  max {exact.delay_max_s or 0:5.1f} s",
                flush=True,
            )
    print(f"{given.policy}: {kept} of {len(cases)} within {given.slo:g} s, {hours:,.0f} executor-hours paid")


if __name__ == "__main__":
    main()
