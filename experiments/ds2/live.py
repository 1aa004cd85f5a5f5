"""The claim of 5.4 and 5.5 on Spark: from every start to the same size, in at most three changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.results import Measure, PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.replication.size_path import SizeStep, read_path
from elastream.experiments.store.folder import StoredRun
from experiments.ds2.convergence import MOST_STEPS
from experiments.ds2.numbers import SHARE

CALM_S = 60.0
"""Of the wall: a decision takes 40 s here, and executors come within seconds."""
STEADY = 0.95
"""Of the highest rate."""
CHANGES = PublishedNumber(title="changes of size under the load", tolerance=0.0, floor=0.49)
EXECUTORS = PublishedNumber(title="executors in the end", tolerance=0.0, floor=0.49)
WAITING = PublishedNumber(title="what waits in the end, in seconds of the load", floor=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderLoad:
    """A run from the first record to the last: before that executors are waited for, after it the load is none."""

    begin_s: float
    end_s: float
    sizes: tuple[SizeStep, ...]

    @property
    def changes(self) -> tuple[SizeStep, ...]:
        """While records came."""
        return tuple(step for step in self.sizes if self.begin_s <= step.at_s <= self.end_s)

    @property
    def last(self) -> int:
        """Executors that were wanted when the last record came."""
        return [sum(step.pools.values()) for step in self.sizes if step.at_s <= self.end_s][-1]

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing changed towards the end."""
        return all(step.at_s <= self.end_s - CALM_S for step in self.changes)


def read_under_load(run: StoredRun) -> UnderLoad | None:
    """None where no record came."""
    moments = _read_loaded(run)
    if not moments:
        return None
    return UnderLoad(begin_s=moments[0]["t_s"], end_s=moments[-1]["t_s"], sizes=read_path(run).steps)


def _read_loaded(run: StoredRun) -> list[dict[str, float]]:
    """The moments of a steady load. Rates are means over a window, so that the last ones of a load are lower."""
    columns = ["t_s", "arrived_rps", "backlog"]
    moments = pq.read_table(run.folder / "ticks.parquet", columns=columns).to_pylist()
    loaded = [row for row in moments if row["arrived_rps"] and row["backlog"] is not None]
    most_rps = max((row["arrived_rps"] for row in loaded), default=0.0)
    return [row for row in loaded if row["arrived_rps"] >= STEADY * most_rps]


def score_live(results: PlanResults) -> list[TableScore]:
    """What carries over is scored; sizes and changes themselves have nothing beside them."""
    usual = {policy: _find_usual(results, policy) for policy in _list(results, "policy")}
    measures: Mapping[str, tuple[PublishedNumber, float | None, Measure]] = {
        "at rest after at most three changes": (SHARE, 1.0, _is_steady),
        "ends where most starts end": (SHARE, 1.0, lambda run: _ends_at(run, usual[run.document["labels"]["policy"]])),
        "sizes": (EXECUTORS, None, lambda run: _measure(run, lambda seen: seen.last)),
        "steps": (CHANGES, None, lambda run: _measure(run, lambda seen: len(seen.changes))),
        "what waits": (WAITING, None, _find_waiting),
    }
    return [
        TableScore(table=f"Sections 5.4 and 5.5 on Spark: {name}", quantity=quantity, claims=tuple(
            Claim(row=f"{policy}, from {start}", told=told, found=results.estimate(measure, policy=policy, start=start))
            for policy in usual for start in _list(results, "start")
        ))
        for name, (quantity, told, measure) in measures.items()
    ]  # fmt: skip


def _list(results: PlanResults, axis: str) -> list[str]:
    return list(dict.fromkeys(labels[axis] for labels, _ in results.runs))


def _measure(run: StoredRun, number: Callable[[UnderLoad], float]) -> float | None:
    seen = read_under_load(run)
    return None if seen is None else float(number(seen))


def _is_steady(run: StoredRun) -> float | None:
    return _measure(run, lambda seen: seen.is_at_rest and len(seen.changes) <= MOST_STEPS)


def _ends_at(run: StoredRun, size: float | None) -> float | None:
    return _measure(run, lambda seen: seen.last == size)


def _find_usual(results: PlanResults, policy: str) -> float | None:
    ends = [_measure(run, lambda seen: seen.last) for run in results.find(policy=policy)]
    return Counter(ends).most_common(1)[0][0] if ends else None


def _find_waiting(run: StoredRun) -> float | None:
    """At the last moment of the load."""
    moments = _read_loaded(run)
    return moments[-1]["backlog"] / moments[-1]["arrived_rps"] if moments else None
