"""`elastream plan`."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_line, tell, write_line
from elastream.cli.terminal.progress import Progress
from elastream.core.errors import BadInput
from elastream.core.quantity import spell_seconds
from elastream.experiments.plan.checks import Impossible, PlanCheck, check_plan, find_impossible
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import PlanProblems, read_plan
from elastream.experiments.plan.schema import read_schema

plan = typer.Typer(
    name="plan",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Check a plan: one file that says what is measured and how. `elastream experiment run` runs it.

    [bold]Examples[/bold]

    elastream plan check experiments/first-look.yaml

    elastream plan schema > plan.schema.json
    """,
)

PlanFile = Annotated[Path, typer.Argument(metavar="FILE", help="A plan, in YAML.")]


@plan.command()
def check(file: PlanFile, json: Json = False) -> None:
    """Say how many experiments a plan has, how long they last, what each policy lacks, and which promises cannot hold.

    Nothing is written. For promises, the largest size runs once under each load.

    [bold]Examples[/bold]

    elastream plan check experiments/first-look.yaml

    [bold]A plan[/bold]

    what: {model: enrich, workload: {wave: "cosine(20k..90k, period=60m)"}, slo: 30s}

    how: {policy: [lag-proportional, "hpa(target=0.7)", ds2], executors: 1..16, repetitions: 5}
    """
    try:
        matrix = multiply(read_plan(file))
        found = check_plan(matrix)
        searched = _describe_search(found)
    except PlanProblems as wrong:
        for line in wrong.lines[:-1]:
            tell(f"elastream: {line}")
        raise BadInput(wrong.lines[-1]) from None
    impossible = judge_promises(found, quiet=json)
    if json:
        print_json(_as_json(found, impossible))
        return
    screen = console()
    for line in [*_describe(found), *searched, *(one.sentence() for one in impossible)]:
        print_line(screen, line)


@plan.command()
def schema() -> None:
    """Print the JSON schema of plans, for editors.

    [bold]Examples[/bold]

    elastream plan schema > plan.schema.json
    """
    write_line(read_schema())


def judge_promises(found: PlanCheck, *, quiet: bool) -> list[Impossible]:
    """Promises that not even the largest size keeps; progress is shown while it runs."""
    with Progress(1, 1.0, quiet=quiet) as progress:
        progress.begin("what the largest size keeps")
        return find_impossible(found.cases, lambda done, total: progress.at(done / total))


def _describe(found: PlanCheck) -> list[str]:
    matrix = found.matrix
    lines = [f"{matrix.plan.name}: {_count(found)}, {spell_seconds(round(found.duration_s))} of runs in their own time"]
    lines += [f"  {axis}: {', '.join(labels)}" for axis, labels in matrix.axes.items()]
    lines.append(f"  seeds: {', '.join(map(str, matrix.plan.document.how.all_seeds))}")
    lines += [f"left out: {one.what} ({one.experiments} experiments): {one.why}" for one in matrix.left_out]
    lines += found.forms
    return lines + [f"cannot run: {one.policy} on {one.subject}: {one.reason}" for one in found.unfit]


def _describe_search(found: PlanCheck) -> list[str]:
    """What `elastream tune` would look for, if the plan says it; PlanProblems if it cannot be."""
    plan = found.matrix.plan
    if plan.document.search is None:
        return []
    # What searches runs experiments too, and needs what comes with the laboratory.
    from elastream.experiments.tuning.space import read_searched
    from elastream.experiments.tuning.tuner import find_folds
    from elastream.experiments.tuning.words import describe_search

    read_searched(plan)
    return describe_search(plan.document.search, find_folds(plan, found.cases))


def _count(found: PlanCheck) -> str:
    number = len(found.cases)
    return "1 experiment" if number == 1 else f"{number:,} experiments"


def _as_json(found: PlanCheck, impossible: list[Impossible]) -> dict[str, object]:
    matrix = found.matrix
    return {
        "plan": matrix.plan.name,
        "experiments": len(found.cases),
        "duration_s": found.duration_s,
        "axes": {axis: list(labels) for axis, labels in matrix.axes.items()},
        "seeds": list(matrix.plan.document.how.all_seeds),
        "left_out": [{"what": one.what, "why": one.why, "experiments": one.experiments} for one in matrix.left_out],
        "unfit": [{"policy": one.policy, "subject": one.subject, "reason": one.reason} for one in found.unfit],
        "forms": list(found.forms),
        "impossible": [
            {"subject": one.subject, "workload": one.workload, "promised": one.promised, "least_s": one.least_s}
            for one in impossible
        ],
    }
