"""`elastream fidelity`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from elastream.cli.commands.plan import PlanFile
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_line, print_table, tell
from elastream.cli.terminal.progress import Progress
from elastream.cli.terminal.strips import compact
from elastream.core.errors import ElastreamError
from elastream.core.log import log
from elastream.core.quantity import spell_seconds
from elastream.evaluation.measures import Value
from elastream.experiments.fidelity.page import write_fidelity_page
from elastream.experiments.fidelity.sentences import tell_goals, tell_naive, tell_slots
from elastream.experiments.fidelity.study import PAGE, FidelityResult, FidelityStudy
from elastream.experiments.fidelity.verdict import NAMES, QUANTITIES, FidelityVerdict, Quantity
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.execution import Done

ROWS: dict[Quantity, str] = {
    "worker_hours": "exec. min", "delay_p95_s": "delay p95", "mean_backlog": "backlog", "changes": "changes"
}  # fmt: skip
NARROW = 70
"""Columns of a terminal on which numbers stand closer."""


def fidelity(
    plan: PlanFile,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where runs are kept. Default: results/NAME of the plan.")
    ] = None,
    recorded: Annotated[
        bool,
        typer.Option("--recorded", help="Start nothing on executors: compare with what was recorded, by any code."),
    ] = False,
    json: Json = False,
) -> None:
    """Run a plan on executors and on a model calibrated on one of its runs, and say how far the simulator is off.

    One run of each job calibrates (`calibrate:` in the plan), all others are judged: executor-hours, delay, backlog and
    decisions, beside what two naive predictors would have said. Ctrl-C keeps what is finished, and the same command
    goes on.

    [bold]Examples[/bold]

    elastream fidelity experiments/fidelity.yaml

    elastream fidelity experiments/fidelity.yaml --out results/fidelity --recorded

    [bold]What makes a plan one for fidelity[/bold]

    how: {platform: spark, ...}

    calibrate: {workload: wave, policy: lag-proportional}
    """
    matrix = multiply(read_plan(plan))
    study = FidelityStudy(matrix, out if out is not None else Path("results") / matrix.plan.name)
    failed = 0
    try:
        if not recorded:
            check_plan(matrix)
            failed = _run_live(study, quiet=json)
        log.disabled = True
        with Progress(1, 1.0, quiet=json) as progress:
            result = study.compare(lambda run, done: _show(progress, run, done))
    except KeyboardInterrupt:
        tell(f"what is finished stays in {study.folder}; the same command goes on")
        raise
    finally:
        log.disabled = False
    page = write_fidelity_page(result, study.folder / PAGE)
    if json:
        print_json({**result.as_json(), "page": str(page)})
    else:
        print_fidelity(console(), result, page)
    if failed or result.lacking:
        lacking = result.lacking[0] if result.lacking else f"{failed} runs on executors failed"
        raise ElastreamError(f"{len(result.lacking) or failed} of the plan's runs could not be judged: {lacking}")


def _show(progress: Progress, run: str, done: float) -> None:
    progress.begin(f"simulating {run}")
    progress.at(done)


def _run_live(study: FidelityStudy, *, quiet: bool) -> int:
    missing = study.find_missing()
    if not missing:
        return 0
    lasts_s = sum(one.case.experiment.duration_s for one in missing)
    if not quiet:
        lasts = spell_seconds(round(lasts_s))
        tell(f"{len(missing)} runs on executors: {lasts} of load, and about a minute more for each")
        for one in missing:
            tell(f"  {one.state}: {one.case.title}")
    done = 0

    def tell_done(one: Done) -> None:
        nonlocal done
        done += 1
        if not quiet:
            what = f"failed: {one.error}" if one.error else f"took {spell_seconds(round(one.took_s))}"
            tell(f"{done} of {len(missing)}: {one.task.title}: {what}")

    return study.run_live(missing, tell_done)


def print_fidelity(screen: Console, result: FidelityResult, page: Path) -> None:
    """For a person: every run with its numbers, then how far off they are."""
    print_line(screen, tell_slots(result))
    told = [(f"{one.title}; calibrated on {one.known}", one) for one in result.verdicts]
    told += [(f"{own.title}: by its own model", own) for own in result.own]
    for heading, one in told:
        screen.print()
        print_line(screen, heading)
        print_table(screen, _table(one, gap=1 if screen.width < NARROW else 2))
    screen.print()
    for line in [*tell_goals(result.verdicts), *tell_naive(result.verdicts)]:
        print_line(screen, line)
    print_line(screen, f"every run, drawn: {page}")


def _table(one: FidelityVerdict, *, gap: int) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    table.add_column("")
    for heading in ("live", "simulated", "of draws", "off by", "last", "linear"):
        table.add_column(heading, justify="right", no_wrap=True)
    for quantity in QUANTITIES:
        extent = one.extent(quantity)
        table.add_row(
            ROWS[quantity], _spell(getattr(one.live, quantity), quantity),
            _spell(getattr(one.said["simulator"], quantity), quantity),
            "" if extent is None else "..".join(_spell(end, quantity) for end in extent),
            *(_share(one.error(name, quantity)) for name in NAMES),
        )  # fmt: skip
    table.add_row("same size", "", "", "", *(_share(one.agreement(name)) for name in NAMES))
    return table


def _spell(value: Value, quantity: Quantity) -> str:
    if value is None:
        return ""
    return {
        "worker_hours": f"{value * 60:.1f}", "delay_p95_s": f"{value:.1f}s", "mean_backlog": compact(value),
        "changes": f"{value:.0f}",
    }[quantity]  # fmt: skip


def _share(value: Value) -> str:
    return "" if value is None else f"{value:.0%}"
