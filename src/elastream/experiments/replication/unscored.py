"""What was found where a document tells nothing: the same tables and pictures, and nothing to agree with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from elastream.experiments.plan.document import AXES
from elastream.experiments.replication.published import PublishedNumber
from elastream.experiments.replication.results import Measure, PlanResults
from elastream.experiments.replication.scoring import Claim, TableScore
from elastream.experiments.statistics import estimate


def tabulate(
    results: PlanResults, numbers: Mapping[PublishedNumber, str | Measure], *, rows: Sequence[str] = ("policy",)
) -> list[TableScore]:
    """A table for each number and each situation, with a row for each of its labels on the axes `rows`. None of these
    numbers can be less than 0."""
    labels = [own for own, _ in results.runs]
    varying = [axis for axis in AXES if len({own.get(axis) for own in labels}) > 1]
    apart = [axis for axis in varying if axis not in rows]
    return [
        TableScore(
            table=", ".join(situation.values()) or results.name,
            quantity=quantity,
            claims=tuple(
                _claim(", ".join(row.values()), quantity, results.values(number, **situation, **row))
                for row in _find_labels([own for own in labels if situation.items() <= own.items()], rows)
            ),
        )
        for situation in _find_labels(labels, apart)
        for quantity, number in numbers.items()
    ]


def _claim(row: str, quantity: PublishedNumber, values: Sequence[float]) -> Claim:
    return Claim(row=row, told=None, found=estimate(values, least=0.0, most=quantity.most) if values else None)


def _find_labels(labels: Sequence[Mapping[str, str]], axes: Sequence[str]) -> list[dict[str, str]]:
    """What there is on some axes, in the order of the plan."""
    found = {tuple((axis, own[axis]) for axis in axes if axis in own): None for own in labels}
    return [dict(pairs) for pairs in found]
