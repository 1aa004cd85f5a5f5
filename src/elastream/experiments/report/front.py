"""The one picture: what each policy costs, against the share of records that it has in time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from elastream.experiments.comparison import COST, KEPT
from elastream.experiments.report.standing import Overview, PolicyStanding, find_front
from elastream.experiments.statistics import Estimate
from elastream.render import marks
from elastream.render.html import Html
from elastream.render.marks import AxisMark
from elastream.render.scatter import Dot, Scatter, draw_scatter

NINES = {0.0: "0%", 0.5: "50%", 0.9: "90%", 0.99: "99%", 0.999: "99.9%", 0.9999: "≥99.99%"}
MOST_NINES = 4.0
"""More are drawn as so many: the axis would have no end."""


def place_share(share: float) -> float:
    """From 0 to 1: what is missing to 100 % by powers of ten, since that is what promises differ in."""
    nines = MOST_NINES if share >= 1 else min(MOST_NINES, -math.log10(1 - max(0.0, share)))
    return nines / MOST_NINES


def draw_front(overview: Overview, promised: float | None) -> Html | None:
    """Nothing where cost or shares are unknown."""
    placed = [(one, cost, kept) for one in overview.standings
              if (cost := one.estimate(COST)) is not None and (kept := one.estimate(KEPT)) is not None]  # fmt: skip
    if not placed:
        return None
    ends = [cost.interval.high if cost.interval is not None else cost.mean for _, cost, _ in placed]
    scale = marks.numbers(max(*ends, 1e-9) if len(ends) > 1 else max(ends[0], 1e-9))
    most = scale[-1].at
    front = find_front([one for one, _, _ in placed if not one.is_fixed])
    return draw_scatter(
        Scatter(
            title="Cost against records in time",
            description=_describe(placed, front),
            across="worker-hours paid, mean of a run",
            along="records within the SLO",
            columns=[AxisMark(at=mark.at / most, label=mark.label) for mark in scale],
            rows=[AxisMark(at=place_share(share), label=label) for share, label in NINES.items()],
            dots=[_dot(one, cost, kept, most) for one, cost, kept in placed],
            front=[(_known(one, COST) / most, place_share(_known(one, KEPT))) for one in front],
            limit=None
            if promised is None
            else AxisMark(at=place_share(promised), label=f"promised {100 * promised:.4g}%"),
        )
    )


def _dot(one: PolicyStanding, cost: Estimate, kept: Estimate, most: float) -> Dot:
    return Dot(
        letter=one.letter,
        title=f"{one.letter}: {one.policy}: {spell(cost, '{:.3g}')} worker-hours, {spell(kept, '{:.3%}')} in time",
        at=(cost.mean / most, place_share(kept.mean)),
        across=None if cost.interval is None else (cost.interval.low / most, min(1.0, cost.interval.high / most)),
        along=None if kept.interval is None else (place_share(kept.interval.low), place_share(kept.interval.high)),
        is_reference=one.is_fixed,
        href=f"#policy-{one.letter}",
    )


def spell(found: Estimate, form: str) -> str:
    """`4.2 [4.1, 4.3]`; one repetition has no interval."""
    mean = form.format(found.mean)
    if found.interval is None:
        return mean
    return f"{mean} [{form.format(found.interval.low)}, {form.format(found.interval.high)}]"


def _describe(placed: Sequence[tuple[PolicyStanding, Estimate, Estimate]], front: Sequence[PolicyStanding]) -> str:
    names = ", ".join(f"{one.letter} {one.policy}" for one in front)
    fixed = sum(one.is_fixed for one, _, _ in placed)
    return f"{len(placed)} policies, {fixed} of them fixed sizes. Front, from cheap to good: {names or 'none'}."


def _known(one: PolicyStanding, name: str) -> float:
    found = one.mean(name)
    assert found is not None
    return found
