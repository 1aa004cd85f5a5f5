"""How many loads a policy keeps an SLO on, and for how many executor-hours; and how two policies compare.

    python -m experiments.slo_on_traces FOLDER_WITH_CSV_FILES
    python -m experiments.slo_on_traces FOLDER --policy 'fixed(workers=16)' --slo 10 --trigger 2
    python -m experiments.slo_on_traces FOLDER --policy lag-proportional --policy foresight --keep runs.jsonl
    python -m experiments.slo_on_traces FOLDER --model daedalus-wordcount --slo 60 --seed 1 --seed 2
    python -m experiments.slo_on_traces --model experiments/wordcount-24.yaml

Without a folder of recorded loads, those of `made_loads.py` are run. Every load is scaled so that its peak is 80 % of
what the largest size can do, waves of tasks counted. With --keep, what was run is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import NamedTuple

from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.simulated import build_model, find_capacity, set_up_simulation
from experiments.made_loads import LOADS

MOST, PEAK = 16, 0.8
# What a policy may keep less of than another and still counts as no worse.
WORSE = 0.005


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
    slots: int | None = None

    def run(self) -> Result:
        """Six hours of it."""
        trigger = None if self.trigger_s is None else Trigger(interval_s=self.trigger_s or None)
        subject = SimulatedModel(model=self.model, trigger=trigger, slots=self.slots)
        bounds = ExecutorBounds(min=1, max=MOST // (self.slots or 1), start=1)
        experiment = Experiment(
            subject=subject,
            workload=self.load.replace("{peak}", f"{PEAK * find_capacity(build_model(subject, bounds)):.0f}"),
            duration_s=6 * 3600.0,
            policy=parse_policy(self.policy),
            executors=bounds,
            slo=Slo(delay_s=self.slo_s),
            tick_s=5.0,
            seed=self.seed,
        )
        found = set_up_simulation(experiment).run()
        summary, exact = found.summary, found.exact
        assert exact is not None
        return Result(
            self,
            summary.records_within_slo or 0.0,
            summary.worker_hours_paid or 0.0,
            summary.actions,
            exact.delay_p99_s or 0.0,
            exact.delay_max_s or 0.0,
        )

    @property
    def place(self) -> tuple[str, int]:
        """What it has in common with the same load under another policy."""
        return self.name, self.seed


class Result(NamedTuple):
    """What came of a case."""

    case: Case
    within: float
    """Share of the records within the SLO."""
    hours: float
    """Of executors, paid."""
    changes: int
    p99_s: float
    max_s: float

    @property
    def is_kept(self) -> bool:
        """Whether 99 of 100 records were in time."""
        return self.within >= Slo(delay_s=self.case.slo_s).share

    def line(self) -> str:
        """For a person."""
        return (
            f"{self.case.name:26} {self.case.seed:3} {self.case.policy:18.18} {self.within:8.2%}"
            f"{' ' if self.is_kept else '*'} {self.hours:6.1f} executor-hours paid {self.changes:5} changes  "
            f"delay p99 {self.p99_s:6.1f} s  max {self.max_s:7.1f} s"
        )


def find_loads(folder: Path | None) -> dict[str, str]:
    """Name -> workload: the recordings of a folder, or without one those that were made up."""
    if folder is None:
        return {name: f"({load}) * {{peak}}" for name, load in LOADS.items()}
    recordings = sorted(folder.glob("*.csv"))
    if not recordings:
        sys.exit(f"{folder}: no CSV files there; name a folder of recorded loads")
    return {file.stem: f'trace("{file}", peak={{peak}})' for file in recordings}


def read_kept(keep: Path | None) -> dict[Case, Result]:
    """What was run before."""
    if keep is None or not keep.exists():
        return {}
    told = [json.loads(line) for line in keep.read_text().splitlines()]
    found = [Result(Case(**case), *numbers) for case, *numbers in told]
    return {result.case: result for result in found}


def run_all(cases: Sequence[Case], keep: Path | None, processes: int) -> Iterator[Result]:
    """Results as they come, those of before first."""
    before = read_kept(keep)
    yield from (before[case] for case in cases if case in before)
    with ProcessPoolExecutor(processes) as pool:
        for future in as_completed(pool.submit(Case.run, case) for case in cases if case not in before):
            result = future.result()
            if keep is not None:
                with keep.open("a") as file:
                    file.write(json.dumps([asdict(result.case), *result[1:]]) + "\n")
            yield result


def print_sums(results: Sequence[Result], policies: Sequence[str]) -> None:
    """How many each policy keeps; of those after the first also where they are worse, and their cost where both do."""
    of = {policy: {one.case.place: one for one in results if one.case.policy == policy} for policy in policies}
    for policy, found in of.items():
        kept = sum(one.is_kept for one in found.values())
        hours = sum(one.hours for one in found.values())
        print(f"{policy}: {kept} of {len(found)} within the SLO, {hours:,.0f} executor-hours paid")
    first, *others = policies
    for policy in others:
        pairs = [(of[first][place], ours) for place, ours in of[policy].items()]
        print(f"{policy} against {first}: {compare(pairs)}")


def compare(pairs: Sequence[tuple[Result, Result]]) -> str:
    """What the second of each pair costs where both keep the SLO, and where it is worse."""
    worse = [
        f"{ours.case.name} ({ours.within - usual.within:+.2%})"
        for usual, ours in pairs
        if ours.within < usual.within - WORSE
    ]
    ratios = [math.log(ours.hours / usual.hours) for usual, ours in pairs if ours.is_kept and usual.is_kept]
    mean = math.exp(sum(ratios) / len(ratios)) if ratios else math.nan
    return (
        f"{mean:.3f} of its hours in the geometric mean of the {len(ratios)} that both keep; more than {WORSE:.1%} of "
        f"the records worse on {', '.join(worse) or 'none'}"
    )


def main() -> None:
    """Print a line per load, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--policy", action="append")
    parser.add_argument("--model", default="enrich", help="a name or a YAML file, of either engine")
    parser.add_argument("--slo", type=float, default=30.0, metavar="SECONDS")
    parser.add_argument("--trigger", type=float, metavar="SECONDS", help="0: as fast as possible")
    parser.add_argument("--slots", type=int, help="per executor; there are sixteen slots in all")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--only", help="loads whose name holds this")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="where results are kept, and found again")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    policies = given.policy or ["lag-proportional"]
    loads = {name: load for name, load in find_loads(given.folder).items() if (given.only or "") in name}
    cases = [
        Case(
            name=name, load=load, policy=policy, model=given.model, slo_s=given.slo, trigger_s=given.trigger, seed=seed,
            slots=given.slots,
        )
        for (name, load), seed, policy in product(loads.items(), given.seed or [0], policies)
    ]  # fmt: skip
    results = []
    for result in run_all(cases, given.keep, given.processes):
        results.append(result)
        print(result.line(), flush=True)
    print_sums(results, policies)


if __name__ == "__main__":
    main()
