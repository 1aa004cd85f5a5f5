"""`elastream experiment`."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from elastream.cli.commands.comparison import compare_runs
from elastream.cli.commands.plan import PlanFile, judge_promises
from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import console, print_json, print_line, print_table, tell
from elastream.cli.terminal.plan_progress import PlanProgress
from elastream.core.errors import BadInput, ElastreamError
from elastream.core.log import log
from elastream.experiments.plan.checks import PlanCheck, check_plan
from elastream.experiments.plan.document import AXES
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import CaseStatus, find_status, run_cases
from elastream.experiments.store.folder import ENVIRONMENT, RunStore, StoredRun, read_stored
from elastream.experiments.store.stored_files import read_environment_file
from elastream.experiments.sweep.backend import SparkSweep
from elastream.experiments.sweep.summary import PolicySummary, summarise_sweep
from elastream.experiments.sweep.where import open_backend, read_on

experiment = typer.Typer(
    name="experiment",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Run the experiments of a plan, go on with them, and look at what there is.

    [bold]Examples[/bold]

    elastream experiment run experiments/first-look.yaml --out results

    elastream experiment list results

    elastream experiment compare results

    elastream experiment diff results RUN RUN
    """,
)

experiment.command("compare")(compare_runs)

Results = Annotated[Path, typer.Argument(metavar="FOLDER", help="What `elastream experiment run --out` wrote.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="The beginning of a run's name, as `list` shows it.")]


@experiment.command()
def run(
    plan: PlanFile,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where runs are kept. Default: results/NAME of the plan.")
    ] = None,
    on: Annotated[
        str,
        typer.Option(
            metavar="local|processes|spark|MASTER",
            help="One after the other here, side by side in a process for each core, or as a Spark job: on the threads "
            "of this machine, or on a master (`local[4]`, `spark://host:7077`, `cluster` of `elastream cluster up`).",
        ),
    ] = "processes",
    environment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A Python packed by venv-pack or conda-pack, for executors without numpy and pydantic."
        ),
    ] = None,
    journals: Annotated[bool, typer.Option("--journals", help="Keep the journal of each run, for `why`.")] = False,
    json: Json = False,
) -> None:
    """Run what a plan says; what is there and was run by the same code is not run again.

    Ctrl-C keeps what is finished, and the same command goes on.

    [bold]Examples[/bold]

    elastream experiment run experiments/first-look.yaml

    elastream experiment run experiments/first-look.yaml --out results/first --on local

    elastream experiment run experiments/first-look.yaml --out /shared/first --on spark://host:7077
    """
    found = check_plan(multiply(read_plan(plan)))
    name, how = found.matrix.plan.name, found.matrix.plan.document.how
    where = read_on(on, is_live=found.matrix.plan.document.how.platform == "spark", environment=environment)
    store = RunStore(out if out is not None else Path("results") / name).open()
    try:
        store.keep_plan(found.matrix.plan)
        statuses = find_status(
            store, found.cases, keep_journal=journals, find_least=how.least_size, find_optimum=how.optimum
        )
        to_run = [one for one in statuses if one.is_to_run]
        if not json:
            _tell_start(found, statuses)
        if len(to_run) == len(statuses) and not json:
            # Said once, when a plan begins.
            for one in judge_promises(found, quiet=json):
                tell(one.sentence())
        # What policies report while thousands of them run, each run's tables hold.
        log.disabled = True
        ran, failed = 0, 0
        summaries: Sequence[PolicySummary] = ()
        if to_run:
            cases = [one.case for one in to_run]
            with open_backend(where, store, cases, environment=environment, tell=_tell_unless(json)) as backend:
                with PlanProgress(quiet=json) as told:
                    told.begin(to_run)
                    ran, failed = run_cases(
                        store,
                        statuses,
                        backend,
                        plan=name,
                        keep_journal=journals,
                        find_least=how.least_size,
                        find_optimum=how.optimum,
                        tell=told.done,
                    )
                if isinstance(backend, SparkSweep):
                    summaries = summarise_sweep(backend.spark, store, [one.identity for one in statuses])
    except KeyboardInterrupt:
        tell(f"what is finished stays in {store.folder}; the same command goes on")
        raise
    finally:
        log.disabled = False
        store.close()
    if json:
        print_json({
            "plan": name, "folder": str(store.folder), "ran": ran, "failed": failed, "experiments": len(statuses),
            "policies": [asdict(one) for one in summaries],
        })  # fmt: skip
    else:
        _print_summaries(summaries)
        wrong = f", {failed:,} of them failed" if failed else ""
        print_line(console(), f"{ran:,} of {len(statuses):,} experiments were run{wrong}; they are in {store.folder}")
    if failed:
        raise ElastreamError(f"{failed:,} failed; `elastream experiment list {store.folder}` says why")


@experiment.command(name="list")
def list_runs(folder: Results, json: Json = False) -> None:
    """List the runs in a folder, with what they cost and kept; those of older code are marked.

    [bold]Examples[/bold]

    elastream experiment list results/first-look
    """
    rows = _rows(list(RunStore(folder).require().runs()))
    if json:
        print_json(rows)
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("run", no_wrap=True)
    table.add_column("what")
    for heading in ("hours paid", "in SLO"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    for row in rows:
        paid, kept = row["worker_hours_paid"], row["records_within_slo"]
        table.add_row(
            row["run"][:12], row["what"], "" if paid is None else f"{paid:.2f}", "" if kept is None else f"{kept:.2%}",
            row["state"],
        )  # fmt: skip
    screen, errors = console(), dict[str, list[str]]()
    print_table(screen, table)
    for row in rows:
        if row["error"]:
            errors.setdefault(row["error"], []).append(row["run"][:12])
    for error, runs in errors.items():
        # As long as it is, it would leave the other columns no room.
        more = f" and {len(runs) - 1:,} more" if len(runs) > 1 else ""
        print_line(screen, f"{runs[0]}{more}: {error}")


@experiment.command()
def show(folder: Results, run: RunName, json: Json = False) -> None:
    """Show one run: what it was, its numbers, and where it came from.

    [bold]Examples[/bold]

    elastream experiment show results/first-look 3f2a
    """
    found = _find(folder, run)
    state = found.state_now
    if json:
        print_json({
            **found.document, "numbers": dict(found.numbers), "state": state, "error": found.error,
            "environment": read_environment_file(found.folder / ENVIRONMENT),
        })  # fmt: skip
        return
    screen = console()
    print_line(screen, f"{found.identity}: {found.error or state}")
    environment = read_environment_file(found.folder / ENVIRONMENT)
    told = {**found.document.get("labels", {}), **found.numbers, **_flat(environment)}
    for name, value in told.items():
        if value is not None:
            print_line(screen, f"  {name}: {_spell(value)}")
    print_line(screen, f"  folder: {found.folder}")


@experiment.command()
def diff(folder: Results, run: RunName, other: RunName, json: Json = False) -> None:
    """Show in what two runs differ: what was run, and what came of it.

    [bold]Examples[/bold]

    elastream experiment diff results/first-look 3f2a 9b01
    """
    first, second = _find(folder, run), _find(folder, other)
    what = [_flat(one.document.get("what", {})) for one in (first, second)]
    numbers = [dict(one.numbers) for one in (first, second)]
    changed = {
        part: {
            name: [left.get(name), right.get(name)]
            for name in dict.fromkeys([*left, *right])
            if left.get(name) != right.get(name)
        }
        for part, (left, right) in {"what": what, "numbers": numbers}.items()
    }
    if json:
        print_json({"runs": [str(first.identity), str(second.identity)], **changed})
        return
    screen = console()
    for part, names in changed.items():
        print_line(screen, f"{part}:" if names else f"{part}: the same")
        for name, (left, right) in names.items():
            print_line(screen, f"  {name}: {_spell(left)} | {_spell(right)}")


def _tell_unless(quiet: bool) -> Callable[[str], None]:
    return (lambda text: None) if quiet else tell


AGAIN = {
    "stale": "were run by older code", "failed": "had failed", "damaged": "are damaged",
    "without journal": "have no journal", "without least size": "have no least size to compare with",
    "without optimum": "have no optimum to compare with",
}  # fmt: skip
"""Why experiments that are there are run again."""


def _tell_start(found: PlanCheck, statuses: Sequence[CaseStatus]) -> None:
    states = [one.state for one in statuses]
    number = "1 experiment" if len(statuses) == 1 else f"{len(statuses):,} experiments"
    told = [f"{states.count('finished'):,} are finished"] if "finished" in states else []
    told += [f"{states.count(state):,} {why} and are run again" for state, why in AGAIN.items() if state in states]
    tell(": ".join([found.matrix.plan.name, ", ".join([number, *told])]))
    for one in statuses:
        if one.state == "damaged" and one.run is not None:
            tell(f"{one.run.error}; it is run again")
    for left in found.matrix.left_out:
        tell(f"left out: {left.what}: {left.why}")
    for lacking in found.unfit:
        tell(f"cannot run: {lacking.policy} on {lacking.subject}: {lacking.reason}")


def _print_summaries(summaries: Sequence[PolicySummary]) -> None:
    if not summaries:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("policy")
    for heading in ("experiments", "failed", "mean hours paid", "in SLO", "kept it"):
        table.add_column(heading, justify="right", no_wrap=True)
    for one in summaries:
        table.add_row(
            one.policy, f"{one.experiments:,}", f"{one.failed:,}",
            "" if one.worker_hours_paid is None else f"{one.worker_hours_paid:.2f}",
            *("" if share is None else f"{share:.2%}" for share in (one.records_within_slo, one.kept)),
        )  # fmt: skip
    print_table(console(), table)


def _find(folder: Path, name: str) -> StoredRun:
    store = RunStore(folder).require()
    found = [identity for identity in store.identities() if str(identity).startswith(name)]
    if len(found) != 1:
        told = "there is none" if not found else f"it means {len(found)} runs; write more of it"
        raise BadInput(f"{folder}: run {name!r}: {told}")
    return read_stored(store.path(found[0]), found[0])


def _rows(runs: Sequence[StoredRun]) -> list[dict[str, Any]]:
    """A row for each run, called by what it has and others have not."""
    runs = sorted(runs, key=_order)
    labels = [one.document.get("labels", {}) for one in runs]
    # Of a damaged run nothing may be known, which is no difference.
    differing = [axis for axis in AXES if len({one.get(axis) for one in labels if one}) > 1]
    rows = []
    for one, names in zip(runs, labels, strict=True):
        told = [str(names[axis]) for axis in differing if axis in names]
        rows.append({
            "run": str(one.identity),
            "what": ", ".join([*told, f"seed {one.document.get('what', {}).get('seed', 'unknown')}"]),
            "state": one.state_now,
            "error": one.error,
            "worker_hours_paid": one.numbers.get("worker_hours_paid"),
            "records_within_slo": one.numbers.get("records_within_slo"),
        })  # fmt: skip
    return rows


def _order(one: StoredRun) -> tuple[object, ...]:
    """As plans order them, so that those that are compared stand side by side."""
    labels, seed = one.document.get("labels", {}), one.document.get("what", {}).get("seed", 0)
    return (*(str(labels.get(axis, "")) for axis in AXES), seed)


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {name: value}
    parts: Sequence[dict[str, object]] = [_flat(part, f"{name}.{key}" if name else key) for key, part in value.items()]
    return {key: found for part in parts for key, found in part.items()}


def _spell(value: object) -> str:
    return "-" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
