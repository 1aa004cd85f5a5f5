"""`elastream tune`."""

import json as json_text
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from elastream.cli.commands.plan import PlanFile, judge_promises
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_line, print_table, tell, write_line
from elastream.cli.terminal.plan_progress import PlanProgress
from elastream.core.log import log
from elastream.experiments.plan.checks import PlanCheck, check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import Plan, read_plan
from elastream.experiments.store.folder import RunStore, StoreError
from elastream.experiments.sweep.where import open_backend, read_on
from elastream.experiments.tuning.folds import Fold
from elastream.experiments.tuning.page import make_tuning_page
from elastream.experiments.tuning.result import TunedPolicy, Tuning, as_json
from elastream.experiments.tuning.search import choose_search, require_search
from elastream.experiments.tuning.tuner import Tuner, find_folds
from elastream.experiments.tuning.words import answer, describe_search, paste, tell_scores

RESULT, PAGE = "tuning.json", "tuning.html"


def tune(
    plan: PlanFile,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where runs are kept. Default: results/NAME of the plan.")
    ] = None,
    search: Annotated[
        str | None, typer.Option(metavar="grid|random|optuna", help="How settings are picked, in place of the plan's.")
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Settings that are tried of each policy, in place of the plan's."),
    ] = None,
    on: Annotated[
        str,
        typer.Option(metavar="local|processes|spark|MASTER", help="Where experiments run, as `experiment run` has it."),
    ] = "processes",
    json: Json = False,
) -> None:
    """Look for the settings of policies that cost least at the SLO, and score them on loads that they never saw.

    Settings are tuned on some loads and scored on others; what was cut from one recording is never parted. The plan's
    own settings are tried first. Runs are ordinary ones: Ctrl-C keeps what is finished, the same command goes on, and
    `elastream report FOLDER` shows them.

    [bold]Examples[/bold]

    elastream tune experiments/tuning/first-look.yaml

    elastream tune experiments/tuning/first-look.yaml --search grid --trials 16

    elastream tune experiments/tuning/scenarios.yaml --out results/tuned --json > tuned.json

    [bold]What a plan says of it[/bold]

    search: {settings: {lag-proportional: {drain: 10s..120s, headroom: 1.0..1.6}}, trials: 30, folds: 2}

    A range is between two ends, a list are choices. `held-out: "*_2d_*"` in place of folds names loads that are only
    scored; `recordings: {twitter: "*twitter*"}` says which loads were cut from one recording.
    """
    document = choose_search(read_plan(plan), by=search, trials=trials)
    found = check_plan(multiply(document))
    is_live = document.document.how.platform == "spark"
    where, folds = read_on(on, is_live=is_live), find_folds(document, found.cases)
    store = RunStore(out if out is not None else Path("results") / document.name).open()
    try:
        store.keep_plan(document)
        if not json:
            _tell_start(found, document, folds)
            for one in judge_promises(found, quiet=json):
                tell(one.sentence())
        log.disabled = True
        with open_backend(where, store, found.cases, tell=tell) as backend, PlanProgress(quiet=json) as told:
            tuning = Tuner(document, found.cases, store, backend, told).run()
        _keep(store.folder, tuning)
    except KeyboardInterrupt:
        tell(f"what is finished stays in {store.folder}; the same command goes on")
        raise
    finally:
        log.disabled = False
        store.close()
    if json:
        print_json({"folder": str(store.folder), **as_json(tuning)})
    else:
        _print(console(), tuning, store.folder)


def _keep(folder: Path, tuning: Tuning) -> None:
    try:
        (folder / RESULT).write_text(json_text.dumps(as_json(tuning), indent=2) + "\n", encoding="utf-8")
        (folder / PAGE).write_text(make_tuning_page(tuning, folder), encoding="utf-8")
    except OSError as wrong:
        raise StoreError(f"{folder}: the result cannot be written: {wrong.strerror}") from None


def _tell_start(found: PlanCheck, plan: Plan, folds: Sequence[Fold]) -> None:
    for line in describe_search(require_search(plan), folds):
        tell(f"{plan.name}: {line}")
    for left in found.matrix.left_out:
        tell(f"left out: {left.what}: {left.why}")
    for lacking in found.unfit:
        tell(f"cannot run: {lacking.policy} on {lacking.subject}: {lacking.reason}")


def _print(screen: Console, tuning: Tuning, folder: Path) -> None:
    searched = [one for one in tuning.policies if one.is_searched]
    for one in searched:
        for sentence in answer(tuning, one):
            print_line(screen, sentence)
        # Whole, however narrow the terminal is: it is copied.
        write_line(f"  {paste(one)}")
        _print_front(screen, one)
        print_line(screen, "")
    if len(tuning.policies) > 1:
        _print_policies(screen, tuning.policies)
    print_line(screen, f"The runs, {RESULT} and {PAGE} are in {folder}")


def _print_front(screen: Console, one: TunedPolicy) -> None:
    table = _table(f"{one.label}: settings on the front", "hours paid", "records in time", "runs in SLO")
    for trial in one.front:
        found = trial.score(one.basis)
        assert found is not None
        assert found.cost is not None
        assert found.share is not None
        chosen = " <" if trial.text == one.chosen.text else ""
        table.add_row(
            f"{trial.text}{chosen}",
            f"{found.cost.mean:.2f}",
            f"{found.share.mean:.3%}",
            f"{found.kept} of {found.runs}",
        )
    print_table(screen, table)


def _print_policies(screen: Console, policies: Sequence[TunedPolicy]) -> None:
    table = _table("policy", "tuned on", "not tuned on", "as the plan has it")
    for one in policies:
        form = "{} h, {}"
        columns = (
            [choice.tuned for choice in one.choices], one.held_out, [choice.own_held_out for choice in one.choices]
        )  # fmt: skip
        table.add_row(one.label, *(tell_scores(scores, form) for scores in columns))
    print_table(screen, table)
    print_line(screen, "Worker-hours of a run, and runs that kept the promise, on loads of either kind.")


def _table(first: str, *headings: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column(first, overflow="fold")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table
