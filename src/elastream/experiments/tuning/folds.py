"""Which loads settings are tuned on and which they are scored on: what was cut from one recording is never parted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np

from elastream.core.errors import suggestion
from elastream.experiments.plan.document import Search
from elastream.experiments.plan.reader import Plan, PlanProblems
from elastream.experiments.tuning.search import require_search
from elastream.workloads import parse_workload
from elastream.workloads.trace import find_traces

FOLDS = 2


@dataclass(frozen=True, slots=True)
class Fold:
    """Loads that are tuned on, and others that are scored."""

    tuned: tuple[str, ...]
    held_out: tuple[str, ...]


def deal(plan: Plan, workloads: Mapping[str, str]) -> list[Fold]:
    """The parts that a plan asks for; one without held-out loads where there is nothing to part."""
    search = require_search(plan)
    # Where recordings may lack, so may what is said of them.
    if plan.document.what.absent == "fail":
        _check_patterns(plan, search, list(workloads))
    groups = group_loads(search.recordings, workloads)
    if search.held_out:
        return [_hold_out(plan, search.held_out, groups)]
    number = min(search.folds or FOLDS, len(groups))
    if number < 2:
        return [Fold(tuple(workloads), ())]
    parts = _deal(groups, number, search.seed)
    return [
        Fold(
            tuple(load for load in workloads if load not in part),
            tuple(load for load in workloads if load in part),
        )
        for part in parts
    ]  # fmt: skip


def group_loads(recordings: Mapping[str, Sequence[str]], workloads: Mapping[str, str]) -> dict[str, list[str]]:
    """Recording -> loads that come from it; a load that nobody names belongs to the files that it reads."""
    found: dict[str, list[str]] = defaultdict(list)
    for label, text in workloads.items():
        named = next((name for name, patterns in recordings.items() if _is_named(label, patterns)), None)
        files = sorted({Path(trace.file).name for trace in find_traces(parse_workload(text))})
        found[named or " and ".join(files) or label].append(label)
    return dict(found)


def _deal(groups: Mapping[str, Sequence[str]], number: int, seed: int) -> list[set[str]]:
    """Recordings by chance, each to the part that has the fewest loads so far; the largest first."""
    names = [str(name) for name in np.random.default_rng(seed).permutation(sorted(groups))]
    parts: list[set[str]] = [set() for _ in range(number)]
    for name in sorted(names, key=lambda name: -len(groups[name])):
        min(parts, key=len).update(groups[name])
    return parts


def _hold_out(plan: Plan, patterns: Sequence[str], groups: Mapping[str, Sequence[str]]) -> Fold:
    held_out = {load for loads in groups.values() for load in loads if _is_named(load, patterns)}
    where = f"{plan.place('search', 'held-out')}: search.held-out"
    for name, loads in groups.items():
        if len(parted := held_out & set(loads)) not in (0, len(loads)):
            other = next(load for load in loads if load not in parted)
            raise PlanProblems([f"{where}: {min(parted)} and {other} are of one recording, {name}; hold out both"])
    tuned = tuple(load for loads in groups.values() for load in loads if load not in held_out)
    if not tuned:
        raise PlanProblems([f"{where}: nothing is left to tune on"])
    return Fold(tuned, tuple(load for loads in groups.values() for load in loads if load in held_out))


def _check_patterns(plan: Plan, search: Search, loads: Sequence[str]) -> None:
    """A pattern that no load has would part what belongs together, and nobody would notice."""
    named: dict[tuple[str, ...], Sequence[str]] = {("held-out",): search.held_out}
    named |= {("recordings", name): patterns for name, patterns in search.recordings.items()}
    for keys, patterns in named.items():
        for pattern in patterns:
            if not any(fnmatchcase(load, pattern) for load in loads):
                place = f"{plan.place('search', *keys)}: {'.'.join(('search', *keys))}"
                raise PlanProblems([f"{place}: there is no load {pattern!r}{suggestion(pattern, loads)}"])


def _is_named(load: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(load, pattern) for pattern in patterns)
