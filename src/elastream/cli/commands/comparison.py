"""`elastream experiment compare`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_line, print_table
from elastream.core.errors import BadInput
from elastream.experiments.comparison import (
    COST,
    KEPT,
    SHARES,
    Comparison,
    Contender,
    Contest,
    compare,
    name_situations,
)
from elastream.experiments.statistics import Estimate
from elastream.experiments.store.folder import RunStore
from elastream.experiments.store.tables import NUMBERS

SHOWN = {COST: "hours paid", KEPT: "in SLO", "delay_p95_s": "p95 s"}
"""Numbers in the table, and what they are called there."""
OPTIMUM = {"cost_to_bound": "/ bound", "cost_to_clairvoyant": "/ plan"}
"""Beside them where a plan asked for the optimum: cost over the lower bound, and over a plan that knew the future."""


def compare_runs(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `elastream experiment run --out` wrote.")],
    by: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Another number to compare by, as `docs/metrics.md` names it."),
    ] = None,
    json: Json = False,
) -> None:
    """Compare policies over their repetitions: who did best on each workload, and how they rank over all.

    By cost, among those that keep the SLO in all their runs. Numbers stand with the interval that holds the true mean
    19 times out of 20. Somebody is named best only where the interval of the difference, seed by seed, excludes 0.

    [bold]Examples[/bold]

    elastream experiment compare results/first-look

    elastream experiment compare results/first-look --by accuracy_under
    """
    found = compare(((run, run.state_now) for run in RunStore(folder).require().runs()), by)
    if not found.contests:
        told = ", ".join(f"{number:,} {why}" for why, number in found.left_out.items()) or "none at all"
        raise BadInput(
            f"{folder}: no finished runs of the present code ({told}); `elastream experiment run` makes them"
        )
    names = name_situations(found.contests)
    if json:
        print_json(_as_json(found, names))
        return
    screen = console()
    for contest, name in zip(found.contests, names, strict=True):
        _print_contest(screen, contest, name, by)
    _print_ranks(screen, found)
    for why, number in found.left_out.items():
        print_line(screen, f"left out: {number:,} runs {why}")


def _print_contest(screen: Console, contest: Contest, name: str, by: str | None) -> None:
    shown = SHOWN if by is None or by in SHOWN else {by: by.replace("_", " "), COST: SHOWN[COST], KEPT: SHOWN[KEPT]}
    shown = shown | {
        number: name for number, name in OPTIMUM.items() if any(one.values(number) for one in contest.contenders)
    }
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("policy", overflow="fold")
    for number in shown:
        table.add_column(shown[number], justify="right", overflow="fold")
    table.add_column("varies", justify="right")
    table.add_column("runs", justify="right")
    for one in contest.contenders:
        estimates = {number: one.estimate(number) for number in shown}
        first = estimates[by or COST]
        varies = "" if first is None or first.variation is None else f"{first.variation:.1%}"
        texts = (_spell(estimates[number], is_share=number in SHARES) for number in shown)
        table.add_row(one.policy, *texts, varies, str(len(one.by_seed)))
    print_line(screen, name)
    print_table(screen, table)
    print_line(screen, f"{contest.sentence}.")
    print_line(screen, "")


def _print_ranks(screen: Console, found: Comparison) -> None:
    ranks = found.ranks
    if ranks is None:
        print_line(screen, "There are no ranks: they need two policies on two workloads.")
        return
    ordered = sorted(ranks.ranks.items(), key=lambda one: one[1])
    told = ", ".join(f"{policy} {rank:.2f}" for policy, rank in ordered)
    print_line(screen, f"Mean ranks over {ranks.workloads:,} workloads: {told}.")
    print_line(
        screen,
        f"Those that differ by less than {ranks.critical_difference:.2f} cannot be told apart (Nemenyi); "
        f"if all were alike, ranks would differ so much with a probability of {ranks.p_value:.2g} (Friedman).",
    )


def _spell(found: Estimate | None, *, is_share: bool) -> str:
    if found is None:
        return ""
    factor, unit = (100, " %") if is_share else (1, "")
    mean = f"{found.mean * factor:.4g}{unit}"
    if found.interval is None:
        return mean
    return f"{mean} [{found.interval.low * factor:.4g}, {found.interval.high * factor:.4g}]"


def _as_json(found: Comparison, names: Sequence[str]) -> dict[str, object]:
    return {
        "by": found.number,
        "workloads": [
            {
                "name": name,
                "labels": dict(contest.situation),
                "winner": contest.winner,
                "sentence": contest.sentence,
                "policies": [_contender_as_json(one) for one in contest.contenders],
            }
            for contest, name in zip(found.contests, names, strict=True)
        ],
        "ranks": None if found.ranks is None else asdict(found.ranks),
        "left_out": found.left_out,
    }


def _contender_as_json(one: Contender) -> dict[str, object]:
    estimates = {number: one.estimate(number) for number in NUMBERS}
    return {
        "policy": one.policy,
        "repetitions": len(one.by_seed),
        "keeps_slo": one.keeps_slo,
        "numbers": {number: asdict(found) for number, found in estimates.items() if found is not None},
    }
