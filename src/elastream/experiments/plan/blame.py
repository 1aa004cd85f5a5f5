"""Which part of a plan is to blame for experiments that cannot be: file, line and key, where the others tell it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from elastream.experiments.plan.document import matches
from elastream.experiments.plan.reader import Plan, PlanProblems

Labels = Mapping[str, str]
WHAT = ("model", "job", "workload", "slo", "faults")
"""Axes that stand below `what`; the others stand below `how`."""


class Problems:
    """What is wrong with experiments, each thing told once however many it stops."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._wrong: dict[str, list[Labels]] = defaultdict(list)
        self._right: list[Labels] = []

    def add(self, labels: Labels, problem: str | None) -> None:
        """An experiment, and what is wrong with it; None: nothing."""
        if problem is None:
            self._right.append(labels)
        else:
            self._wrong[problem].append(labels)

    def throw(self) -> None:
        """Raise them all, if there are any."""
        if self._wrong:
            raise PlanProblems([self._tell(problem, labels) for problem, labels in self._wrong.items()])

    def _tell(self, problem: str, wrong: Sequence[Labels]) -> str:
        keys = self._find_cause(wrong)
        if keys is None:
            return f"{self._plan.path}: {', '.join(wrong[0].values())}: {problem}"
        return f"{self._plan.place(*keys)}: {'.'.join(map(str, keys))}: {problem}"

    def _find_cause(self, wrong: Sequence[Labels]) -> tuple[str | int, ...] | None:
        """What all of them share and no other has: a rule of `cases`, or else one label."""
        for number, rule in enumerate(self._plan.document.cases):
            if all(matches(rule.where, one) for one in wrong) and not any(
                matches(rule.where, one) for one in self._right
            ):
                return "cases", number, "set"
        # Where nothing went well, what is shared by all says nothing.
        everything = [*self._right, *_flatten(self._wrong.values())]
        shared = [
            (axis, label)
            for axis, label in wrong[0].items()
            if all(one.get(axis) == label for one in wrong)
            and not any(one.get(axis) == label for one in self._right)
            and any(one.get(axis) != label for one in everything)
        ]
        if len(shared) != 1:
            return None
        axis, label = shared[0]
        return ("open",) if axis == "draw" else ("what" if axis in WHAT else "how", axis, label)


def _flatten(parts: Iterable[Sequence[Labels]]) -> list[Labels]:
    return [one for part in parts for one in part]
