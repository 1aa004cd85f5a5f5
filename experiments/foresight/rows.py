"""What came of the runs, as rows: one for each policy, job, load and seed, beside the least that could be paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from elastream.config.yaml_file import load_yaml
from elastream.core.slo import Slo
from elastream.experiments.replication.results import PlanResults
from elastream.experiments.store.folder import StoredRun
from elastream.workloads import parse_workload

HERE = Path(__file__).parent
# A load leaps where a minute brings by so much of the highest rate more than the minute before it.
_LEAP, _MINUTE_S = 1 / 3, 60


class Situation(NamedTuple):
    """Everything but the policy."""

    job: str
    load: str
    seed: int
    more: str = ""
    """What else the plan varies: faults, promises."""


class Least(NamedTuple):
    """What was the least that could be paid in a situation, in worker-hours; None is not known, or cannot be had."""

    bound: float | None
    clairvoyant: float | None
    """A plan that knew the load, replayed."""
    fixed: float | None
    """The smallest size that keeps the promise by itself."""


class Row(NamedTuple):
    """A run."""

    policy: str
    at: Situation
    share: float
    """Of the records, in time."""
    kept: bool
    hours: float
    """Of workers, paid."""
    changes: int
    leaps: bool


def read_rows(results: PlanResults) -> list[Row]:
    """The finished runs of a plan."""
    return [_row(labels, run) for labels, run in results.runs]


def read_least(results: PlanResults) -> dict[Situation, Least]:
    """What the runs know of the optimum."""
    found = {}
    for labels, run in results.runs:
        hours = run.document["what"]["duration_s"] / 3600
        workers = run.numbers.get("least_workers")
        fixed = None if workers is None else workers * hours
        found[_situation(labels, run)] = Least(
            run.numbers.get("bound_hours"), run.numbers.get("clairvoyant_hours"), fixed
        )
    return found


def read_half(file: str) -> frozenset[str]:
    """The loads that a half leaves out."""
    content = load_yaml(HERE / file)
    assert isinstance(content, dict)
    return frozenset(load for rule in content["exclude"] for load in rule["where"]["workload"])


def leaps(workload: str, duration_s: float, seed: int = 0) -> bool:
    """Whether a load leaps: from one minute to the next by more than a third of its highest rate."""
    series = parse_workload(workload).series(duration_s=duration_s, seed=seed)
    arrived = [series.arrived(float(second)) for second in range(0, int(duration_s) + 1, 10)]
    steps = _MINUTE_S // 10
    minutes = [(after - before) / _MINUTE_S for before, after in zip(arrived, arrived[steps:], strict=False)]
    rises = (after - before for before, after in zip(minutes, minutes[steps:], strict=False))
    return max(rises, default=0.0) > _LEAP * series.max_rps


def of_half(rows: Iterable[Row], left_out: frozenset[str]) -> list[Row]:
    """Those of the loads that are not left out."""
    return [row for row in rows if row.at.load not in left_out]


def _row(labels: Mapping[str, str], run: StoredRun) -> Row:
    what, share = run.document["what"], float(run.numbers.get("records_within_slo") or 0.0)
    return Row(
        policy=labels["policy"],
        at=_situation(labels, run),
        share=share,
        kept=share >= Slo(**what["slo"]).share,
        hours=float(run.numbers["worker_hours_paid"]),
        changes=int(run.numbers["actions"]),
        leaps=_leaps(what["workload"], what["duration_s"]),
    )


_leaps = lru_cache(maxsize=1024)(leaps)


def _situation(labels: Mapping[str, str], run: StoredRun) -> Situation:
    more = ", ".join(labels[axis] for axis in ("slo", "faults") if axis in labels)
    return Situation(labels.get("model") or labels["job"], labels["workload"], int(run.numbers["seed"]), more)
