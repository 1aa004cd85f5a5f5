"""Every policy in every situation, coloured by the share of records in time; the numbers stand in the cells as well."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from elastream.experiments.comparison import COST, KEPT, Contender, Contest, name_situations
from elastream.render.html import Html, element

STEPS = {0.0: "below 50%", 0.5: "50%", 0.9: "90%", 0.99: "99%", 0.999: "99.9%", 0.9999: "99.99% and more"}
"""From which share on -> what is written in the legend."""
MOST_ROWS = 300


def draw_heat(contests: Sequence[Contest], letters: Mapping[str, str]) -> Html:
    """A row for each situation, a column for each policy."""
    policies = sorted({one.policy for contest in contests for one in contest.contenders},
                      key=lambda policy: (len(letters.get(policy, "")), letters.get(policy, ""), policy))  # fmt: skip
    head = element(
        "tr",
        element("th", "situation", scope="col"),
        *(element("th", f"{letters.get(policy, '')} {policy}".strip(), scope="col") for policy in policies),
    )
    rows = [
        element("tr", element("th", name, scope="row"), *_cells(contest, policies))
        for name, contest in zip(name_situations(contests), contests, strict=True)
    ]
    left_out = len(rows) - MOST_ROWS
    legend = (
        element("span", element("i", class_=f"key heat-{i}"), label) for i, label in enumerate(STEPS.values())
    )  # fmt: skip
    return element(
        "div",
        element("p", *legend, element("span", "✓ kept in all runs"), class_="legend"),
        element(
            "div",
            element("table", element("thead", head), element("tbody", *rows[:MOST_ROWS]), class_="heat"),
            class_="wide", tabindex=0, role="region", aria_label="Records in time, by situation and policy",
        ),
        element("p", f"{left_out:,} more situations stand in the table.", class_="hint") if left_out > 0 else None,
    )  # fmt: skip


def heat_step(share: float) -> int:
    """Which colour."""
    return bisect_right(list(STEPS), share) - 1


def _cells(contest: Contest, policies: Sequence[str]) -> list[Html]:
    found = {one.policy: one for one in contest.contenders}
    return [_cell(found.get(policy)) for policy in policies]


def _cell(one: Contender | None) -> Html:
    """Share and hours; empty where the policy did not run."""
    if one is None:
        return element("td")
    costs, shares = one.values(COST).values(), one.values(KEPT).values()
    hours = element("small", f"{sum(costs) / len(costs):.3g} h") if costs else None
    if not shares:
        return element("td", hours)
    share = sum(shares) / len(shares)
    kept = " ✓" if one.keeps_slo else ""
    return element("td", element("b", f"{_spell(share)}{kept}"), hours, class_=f"heat-{heat_step(share)}")


def _spell(share: float) -> str:
    """What is nearly all is not called all."""
    return "100%" if share == 1 else f"{min(share, 0.9999):.2%}" if share > 0.99 else f"{share:.1%}"
