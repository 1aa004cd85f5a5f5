"""What came of a fidelity plan, in sentences: for the terminal and for the page."""

from __future__ import annotations

from collections.abc import Sequence

from elastream.experiments.fidelity.study import FidelityResult
from elastream.experiments.fidelity.verdict import (
    GOALS,
    QUANTITIES,
    FidelityVerdict,
    Name,
    Quantity,
    count_met,
    find_median,
)

WORDS: dict[Quantity, str] = {
    "worker_hours": "executor-hours", "delay_p95_s": "p95 delay", "mean_backlog": "mean backlog", "changes": "changes"
}  # fmt: skip
NAIVE: tuple[Name, ...] = ("last value", "linear in the rate")


def tell_slots(result: FidelityResult) -> str:
    """Which slots were limited: what must stand first."""
    told = []
    for group in result.groups:
        judged = sum(one.job == group.job for one in result.verdicts)
        told.append(f"{group.slots} in {judged} of {len(result.verdicts)} judged runs (job {group.job})")
    return f"{result.name}: {'; '.join(told)}"


def tell_goals(verdicts: Sequence[FidelityVerdict]) -> list[str]:
    """How far off the simulator is, a line for each number."""
    lines = []
    for quantity in QUANTITIES:
        middle = find_median(verdicts, "simulator", quantity)
        if middle is None:
            continue
        goal = GOALS.get(quantity)
        aim = f"; within {goal:.0%} in {count_met(verdicts, quantity)} of {len(verdicts)}" if goal is not None else ""
        lines.append(f"{WORDS[quantity]}: off by {middle:.0%} in the median of {len(verdicts)} runs{aim}")
    return lines


def tell_naive(verdicts: Sequence[FidelityVerdict]) -> list[str]:
    """How far off naive predictors are, a line for each of them."""
    lines = []
    for name in NAIVE:
        found = [(WORDS[quantity], find_median(verdicts, name, quantity)) for quantity in QUANTITIES]
        told = ", ".join(f"{word} {middle:.0%}" for word, middle in found if middle is not None)
        if told:
            lines.append(f"{name}: {told}")
    return lines
