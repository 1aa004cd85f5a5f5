"""What a reader needs to believe a report: seeds, versions, raw data, repetitions, and what was left out and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from elastream.experiments.report.contents import Contents
from elastream.experiments.report.standing import Overview
from elastream.render.html import Html, element

MOST = 20
"""Of errors, exclusions and values that are told one by one."""


def check_items(contents: Contents, overview: Overview) -> list[tuple[str, list[str]]]:
    """What is told, and what there is to tell of it."""
    contests = contents.comparison.contests
    repetitions = sorted({len(one.by_seed) for contest in contests for one in contest.contenders})
    seeds = sorted({seed for contest in contests for one in contest.contenders for seed in one.by_seed})
    items = [
        ("Runs", [f"{len(contents.runs):,} count, in {spell_count(len(contests), 'situation')}"]),
        ("Repetitions", [_tell_repetitions(repetitions)]),
        ("Seeds", [f"{_spell_seeds(seeds)}; the same for every policy, so that they are compared in pairs"]),
        ("Raw data", [f"{contents.folder}/runs: ticks, decisions and summary of each run as Parquet"]),
        ("Left out", list(_tell_left_out(contents, overview)) or ["nothing"]),
    ]
    return items + [(what.capitalize(), _tell_counts(values)) for what, values in contents.origins.items()]


def draw_checklist(items: list[tuple[str, list[str]]]) -> Html:
    """The list."""
    return element(
        "dl",
        *(
            element("div", element("dt", what), element("dd", *(element("p", line) for line in lines)))
            for what, lines in items
        ),
        class_="checklist",
    )


def spell_count(number: int, what: str) -> str:
    """`1 policy`, `2 policies`."""
    return f"{number:,} {what if number == 1 else f'{what[:-1]}ies' if what.endswith('y') else f'{what}s'}"


def _tell_repetitions(found: list[int]) -> str:
    if not found:
        return "none"
    told = " or ".join(str(number) for number in found)
    return f"{told}; with one there is no interval" if found[0] == 1 else f"{told}; intervals hold 19 times out of 20"


def _spell_seeds(seeds: list[int]) -> str:
    if len(seeds) > 2 and seeds == list(range(seeds[0], seeds[-1] + 1)):
        return f"{seeds[0]} to {seeds[-1]}"
    shown = ", ".join(map(str, seeds[:MOST]))
    return shown if len(seeds) <= MOST else f"{shown} and {len(seeds) - MOST} more"


def _tell_left_out(contents: Contents, overview: Overview) -> Iterator[str]:
    for one in contents.plan.get("exclude", [])[:MOST]:
        where = ", ".join(f"{axis} {_spell_labels(labels)}" for axis, labels in one["where"].items())
        yield f"by the plan: {where}: {one['why']}"
    for why, number in contents.comparison.left_out.items():
        yield f"{spell_count(number, 'run')} {why}"
    for error, number in list(contents.failures.items())[:MOST]:
        yield f"{number:,} ended with: {error}"
    if (apart := overview.situations - len(overview.shared)) > 0:
        yield f"{spell_count(apart, 'situation')} that not every policy ran, from means over all of them"


def _spell_labels(labels: object) -> str:
    return " or ".join(map(str, labels)) if isinstance(labels, list) else str(labels)


def _tell_counts(values: Mapping[str, int]) -> list[str]:
    if len(values) == 1:
        return list(values)
    shown = [f"{value} ({number:,} runs)" for value, number in list(values.items())[:MOST]]
    return shown if len(values) <= MOST else [*shown, f"and {len(values) - MOST:,} more"]
