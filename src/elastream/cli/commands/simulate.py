"""`elastream simulate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from elastream.cli.parsing.completion import complete_faults, complete_models, complete_policies, complete_workloads
from elastream.cli.parsing.options import Assignments, ConfigFile, GuardTexts, Json, OwnConf
from elastream.cli.terminal.output import console, print_json, tell
from elastream.core.errors import BadInput

if TYPE_CHECKING:
    from elastream.config import Resolution
    from elastream.experiments.contender import Contender
    from elastream.experiments.run import Run
    from elastream.experiments.scenario import Scenario
    from elastream.simulator.continuous.model import DataflowModel
    from elastream.simulator.microbatch.model import ApplicationModel

DURATION_S = 140 * 60.0


def simulate(
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="A model by name (see `elastream models`), or a YAML file that describes one.",
            autocompletion=complete_models,
        ),
    ] = "windowed-count",
    workload: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Arrivals over time. Default: a cosine with a spike that suits the model.",
            autocompletion=complete_workloads,
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="What decides, with settings if wanted; may be repeated to compare.",
            autocompletion=complete_policies,
        ),
    ] = None,
    trigger: Annotated[
        str | None, typer.Option(metavar="DURATION|asap", help="Time between batches. Default: the model's.")
    ] = None,
    duration: Annotated[str | None, typer.Option(metavar="DURATION", help="How long to run. Default: 140m.")] = None,
    tick: Annotated[str | None, typer.Option(metavar="DURATION", help="Time between two looks. Default: 5s.")] = None,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="The same seed gives the same run.")] = 0,
    executors: Annotated[str | None, typer.Option(metavar="MIN..MAX", help="Bounds. Default: the model's.")] = None,
    start: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Executors at the start. Default: the model's.")
    ] = None,
    slots: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Slots per executor. Default: the model's.")
    ] = None,
    slo: Annotated[
        str | None, typer.Option(metavar="DURATION", help="99 of 100 records are to be committed within this time.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="What goes wrong, and when (see `elastream faults`); may be repeated.",
            autocompletion=complete_faults,
        ),
    ] = None,
    guard: GuardTexts = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    conf: OwnConf = None,
    out: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Keep journal, numbers and series there.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace runs that are in --out already.")] = False,
    json: Json = False,
) -> None:
    """Run policies on a simulated application, side by side, in seconds.

    [bold]Examples[/bold]

    elastream simulate --policy threshold --policy lag-proportional --slo 30s

    elastream simulate --policy 'threshold(high=0.9, low=0.4)' --guard 'cool-down(after=300s, mode=blocking)'

    elastream simulate --workload 'cosine(10k..90k, period=60m) + spike(20k, at=40m)' --executors 2..16 --start 4

    elastream simulate --model job.yaml --trigger asap --fault 'worker-loss(at=10m, workers=2)' --out runs/loss

    elastream simulate --model kanis-q1 --workload 'cosine(200k..2200k, period=60m)' --policy ds2

    [bold]A model file[/bold]

    name: clicks

    pool: {min_workers: 1, max_workers: 8, slots_per_worker: 2}

    queries: [{name: count, trigger: 10s, sources: [{name: clicks, partitions: 16}],
    stages: [{name: parse, after: clicks, partitions: 16, slot_s_per_record: 50e-6}]}]

    [bold]A model file of a continuous job, as on Flink[/bold]

    name: words

    pool: {min_workers: 1, max_workers: 36}

    logs: [{name: sentences}]

    operators: [{name: split, after: sentences, rate_rps: 20k}, {name: count, after: {split: 20}, rate_rps: 200k,
    buffer: 100k}]
    """
    from elastream.cli.parsing.setting_sources import SettingSources, read_flags
    from elastream.cli.parsing.texts import read_faults, read_seconds
    from elastream.experiments.contender import folder_names
    from elastream.experiments.run_folder import check_free
    from elastream.experiments.scenario import Scenario, fitting_workload
    from elastream.workloads import parse_workload

    duration_s = read_seconds(duration, "--duration") if duration is not None else DURATION_S
    chosen = _model(model, trigger, slots)
    flags = read_flags(executors=executors, slo=slo, tick=tick, guards=guard)
    sources = SettingSources(flags, config, assignments, conf)
    found = sources.resolve()
    chosen = _bounded(chosen, found, start)
    text = workload if workload is not None else fitting_workload(chosen, duration_s)
    scenario = Scenario(
        model=chosen,
        workload=parse_workload(text),
        duration_s=duration_s,
        tick_s=found.settings.tick_s,
        seed=seed,
        guards=found.settings.build_guards(),
        faults=read_faults(fault or []),
    )
    named = [sources.contender(text) for text in policy or [found.settings.policy]]
    # One that cannot run here is no reason to keep the others from running.
    unfit = scenario.find_unfit(named)
    contenders = [one for one in named if one.label not in unfit] or named
    forms = scenario.check(contenders)
    if out is not None:
        check_free(out, force=force)
    if not json:
        for form in forms:
            tell(form)
    runs = run_all(scenario, contenders, out=out, quiet=json)
    if json:
        refused = [{"policy": label, "cannot_run": reason} for label, reason in unfit.items()]
        print_json({**scenario.as_json(), "runs": [*(_as_json(run) for run in runs), *refused]})
    else:
        print_runs(scenario, runs, unfit)
        if out is not None:
            first = folder_names(contenders)[contenders[0].label]
            tell(f"kept in {out}; `elastream why {out / first}` tells what happened")


def run_all(
    scenario: Scenario,
    contenders: Sequence[Contender],
    *,
    out: Path | None = None,
    quiet: bool = False,
) -> list[Run]:
    """Run one policy after the other."""
    from elastream.cli.terminal.progress import Progress
    from elastream.cli.terminal.troubles import troubles_told
    from elastream.experiments.contender import folder_names
    from elastream.experiments.run import Run
    from elastream.experiments.run_folder import make_folder, recorder, write_results

    runs, folders = [], folder_names(contenders)
    with Progress(len(contenders), scenario.duration_s, quiet=quiet) as progress:
        for contender in contenders:
            progress.begin(contender.label)
            simulation = scenario.simulation(contender)
            folder = make_folder(out / folders[contender.label]) if out is not None else None
            journals = [recorder(folder, simulation, contender).open()] if folder is not None else []
            with troubles_told(contender.label):
                outcome = simulation.run(journals, progress.at)
            if folder is not None:
                write_results(folder, scenario, contender, outcome)
            runs.append(Run(contender=contender, outcome=outcome))
            progress.end()
    return runs


def print_runs(scenario: Scenario, runs: Sequence[Run], unfit: Mapping[str, str] = MappingProxyType({})) -> None:
    """What was run, the table, the strips; `unfit` are policies that could not run, with the reason."""
    from rich.text import Text

    from elastream.cli.terminal.results import print_results, print_strips

    screen = console()
    screen.print(Text(scenario.sentence(), style="bold"))
    screen.print(Text(str(scenario.workload), style="cyan"))
    if scenario.model.slo is not None:
        screen.print(f"SLO: {scenario.model.slo.sentence()}")
    screen.print()
    print_results(screen, runs, unfit)
    screen.print()
    print_strips(screen, scenario, runs)


def _model(name: str, trigger: str | None, slots: int | None) -> ApplicationModel | DataflowModel:
    from dataclasses import replace

    from elastream.experiments.scenario import resized
    from elastream.simulator.catalogue import any_model
    from elastream.simulator.continuous.model import DataflowModel
    from elastream.simulator.model_file import read_model, read_trigger

    is_file = name.endswith((".yaml", ".yml")) or "/" in name
    chosen = read_model(Path(name)) if is_file else any_model(name)
    if slots is not None and slots < 1:
        raise BadInput(f"--slots: found {slots}; an executor has at least 1")
    if trigger is not None:
        every = read_trigger(trigger, "--trigger")
        if isinstance(chosen, DataflowModel):
            raise BadInput(f"--trigger: model {chosen.name} is continuous and has no batches; leave it out")
        chosen = replace(chosen, queries=tuple(replace(query, trigger=every) for query in chosen.queries))
    return resized(chosen, slots_per_worker=slots) if slots is not None else chosen


def _bounded(
    model: ApplicationModel | DataflowModel, found: Resolution, start: int | None
) -> ApplicationModel | DataflowModel:
    """The model with the bounds and the promise that were set anywhere; its own where nothing was."""
    from elastream.experiments.scenario import resized

    settings = found.settings
    names = {"min_workers": "min", "max_workers": "max", "initial_workers": "initial"}
    given = {
        field: getattr(settings.executors, name) for field, name in names.items() if _is_set(found, f"executors.{name}")
    }
    model = resized(model, **given)
    if start is not None:
        pools = model.pools.values()
        low, high = max(pool.min_workers for pool in pools), max(pool.max_workers for pool in pools)
        if not low <= start <= high:
            raise BadInput(f"--start: found {start}; the bounds are {low}..{high}")
        model = resized(model, initial_workers=start)
    slo = settings.slo.build()
    return model if slo is None else model.promising(slo)


def _is_set(found: Resolution, path: str) -> bool:
    return found.origins[path].origin != "default"


def _as_json(run: Run) -> dict[str, object]:
    from elastream.experiments.run_folder import run_json

    return run_json(run.contender, run.outcome)
