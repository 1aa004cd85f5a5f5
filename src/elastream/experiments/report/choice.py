"""Which runs a report draws: all policies under the load that tells them apart most, or under that of a named run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elastream.core.errors import BadInput
from elastream.experiments.comparison import COST, KEPT, Contest
from elastream.experiments.report.contents import Contents
from elastream.experiments.store.folder import StoredRun

MOST_RUNS = 12
"""More would be a file that opens slowly and a page that nobody reads to its end."""


def choose_runs(contents: Contents, name: str | None = None) -> list[StoredRun]:
    """Runs of one situation and one seed, a policy each, the best first; a named one before all others."""
    named = None if name is None else _find(contents.runs, name)
    labels = dict(_telling(contents.comparison.contests).situation) if named is None else named.document["labels"]
    situation = _situation(labels)
    same = [run for run in contents.runs if _situation(run.document["labels"]) == situation]
    seeds = [run.document["what"]["seed"] for run in same]
    # The seed that most policies have.
    seed = named.document["what"]["seed"] if named else max(sorted(set(seeds)), key=seeds.count)
    rivals = [run for run in same if run.document["what"]["seed"] == seed]
    return sorted(rivals, key=lambda run: (run is not named, *_order(run)))[:MOST_RUNS]


def _find(runs: Sequence[StoredRun], name: str) -> StoredRun:
    found = [run for run in runs if str(run.identity).startswith(name)]
    if len(found) != 1:
        told = "no run that counts is called so" if not found else f"it means {len(found)} runs; write more of it"
        raise BadInput(f"--run {name}: {told}; `elastream experiment list` shows their names")
    return found[0]


def _telling(contests: Sequence[Contest]) -> Contest:
    """Where the policies that decide differ most in what they keep."""

    def spread(contest: Contest) -> float:
        shares = [share for one in contest.contenders if not one.policy.startswith("fixed")
                  for share in one.values(KEPT).values()]  # fmt: skip
        return max(shares) - min(shares) if shares else 0.0

    return max(contests, key=spread)


def _situation(labels: Mapping[str, str]) -> dict[str, str]:
    return {axis: label for axis, label in labels.items() if axis != "policy"}


def _order(run: StoredRun) -> tuple[bool, float, str]:
    """Those that decide before fixed sizes, the cheapest first."""
    policy, cost = str(run.document["labels"]["policy"]), run.numbers.get(COST)
    return policy.startswith("fixed"), float("inf") if cost is None else float(cost), policy
