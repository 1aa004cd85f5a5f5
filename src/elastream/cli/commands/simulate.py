"""`elastream simulate`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

import typer
from rich.text import Text

from elastream.cli.parsing.completion import complete_faults, complete_models, complete_policies, complete_workloads
from elastream.cli.parsing.options import Assignments, ConfigFile, GuardTexts, Json, OwnConf
from elastream.cli.parsing.setting_sources import SettingSources, read_flags
from elastream.cli.parsing.texts import read_seconds
from elastream.cli.terminal.output import console, print_json, print_line, tell, troubles_told
from elastream.cli.terminal.progress import Progress
from elastream.cli.terminal.results import print_results, print_strips
from elastream.config import Resolution
from elastream.core.errors import BadInput
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import choose_guards, parse_faults
from elastream.experiments.optimum.optimum import NO_OPTIMUM, Optimum, find_optimum
from elastream.experiments.optimum.schedule_file import SCHEDULE, write_schedule
from elastream.experiments.run import Run
from elastream.experiments.run_folder import check_free, name_folders
from elastream.experiments.simulated import (
    SimulatedSetup,
    build_model,
    check_all,
    find_unfit,
    fitting_workload,
    set_up_simulation,
)
from elastream.simulator.model_file import read_trigger

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
    optimum: Annotated[
        bool,
        typer.Option("--optimum", help="Also find what keeping the SLO would have cost had the future been known."),
    ] = False,
    json: Json = False,
) -> None:
    """Run policies on a simulated application, side by side, in seconds.

    [bold]Examples[/bold]

    elastream simulate --policy threshold --policy lag-proportional --slo 30s

    elastream simulate --policy 'threshold(high=0.9, low=0.4)' --guard 'cool-down(after=300s, mode=blocking)'

    elastream simulate --workload 'cosine(10k..90k, period=60m) + spike(20k, at=40m)' --executors 2..16 --start 4

    elastream simulate --model job.yaml --trigger asap --fault 'worker-loss(at=10m, workers=2)' --out runs/loss

    elastream simulate --workload 'cosine(10k..90k, period=60m)' --slo 30s --optimum --out runs/wave

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
    duration_s = read_seconds(duration, "--duration") if duration is not None else DURATION_S
    subject = _subject(model, trigger, slots, fault or [])
    flags = read_flags(executors=executors, slo=slo, tick=tick, guards=guard)
    sources = SettingSources(flags, config, assignments, conf)
    found = sources.resolve()
    bounds, promise = _bounds(subject, found, start), found.settings.slo.build()
    text = workload if workload is not None else fitting_workload(build_model(subject, bounds, promise), duration_s)
    choices = [sources.policy(text) for text in policy or [found.settings.policy]]
    named = [
        set_up_simulation(
            Experiment(
                subject=subject,
                workload=text,
                duration_s=duration_s,
                policy=choice,
                guards=choose_guards(found.settings.guards),
                executors=bounds,
                slo=promise,
                tick_s=found.settings.tick_s,
                seed=seed,
            )
        )
        for choice in choices
    ]
    # One that cannot run here is no reason to keep the others from running.
    unfit = find_unfit(named)
    setups = [one for one in named if one.experiment.policy.label not in unfit] or named
    forms = check_all(setups)
    if out is not None:
        check_free(out, force=force)
    if not json:
        for form in forms:
            tell(form)
    runs = run_all(setups, out=out, quiet=json)
    if optimum and not json:
        tell("finding what the SLO would have cost with the load known: about half a minute for six hours")
    found_optimum = find_optimum(setups[0].experiment) if optimum else None
    if out is not None and found_optimum is not None and found_optimum.run is not None:
        write_schedule(out / SCHEDULE, found_optimum.run)
    if json:
        refused = [{"policy": label, "cannot_run": reason} for label, reason in unfit.items()]
        told = {"optimum": found_optimum.as_json() if found_optimum else None} if optimum else {}
        print_json({**setups[0].describe(), "runs": [*(run.as_json() for run in runs), *refused], **told})
    else:
        print_runs(setups[0], runs, unfit)
        if optimum:
            _print_optimum(found_optimum, runs, out)
        if out is not None:
            first = name_folders([setup.experiment.policy for setup in setups])[0]
            tell(f"kept in {out}; `elastream why {out / first}` tells what happened")


def run_all(setups: Sequence[SimulatedSetup], *, out: Path | None = None, quiet: bool = False) -> list[Run]:
    """Run one policy after the other, and show how far they have come."""
    names = name_folders([setup.experiment.policy for setup in setups])
    runs = []
    with Progress(len(setups), setups[0].experiment.duration_s, quiet=quiet) as progress:
        for setup, name in zip(setups, names, strict=True):
            label = setup.experiment.policy.label
            progress.begin(label)
            with troubles_told(label):
                runs.append(setup.run(folder=out / name if out is not None else None, progress=progress.at))
            progress.end()
    return runs


def print_runs(setup: SimulatedSetup, runs: Sequence[Run], unfit: Mapping[str, str] = MappingProxyType({})) -> None:
    """What was run, the table, the strips. All runs have the model and the workload of one setup.

    `unfit` are policies that could not run, with the reason.
    """
    screen = console()
    screen.print(Text(setup.sentence(), style="bold"))
    screen.print(Text(str(setup.workload), style="cyan"))
    if setup.model.slo is not None:
        screen.print(f"SLO: {setup.model.slo.sentence()}")
    screen.print()
    print_results(screen, runs, unfit)
    screen.print()
    print_strips(screen, setup, runs)


def _print_optimum(found: Optimum | None, runs: Sequence[Run], out: Path | None) -> None:
    screen = console()
    print_line(screen, "")
    for line in [NO_OPTIMUM] if found is None else found.sentences(runs):
        print_line(screen, line)
    if found is not None and found.run is not None and out is not None:
        schedule = out / SCHEDULE
        tell(f"the plan is in {schedule}; `--policy 'schedule(\"{schedule}\")'` replays it")


def _subject(model: str, trigger: str | None, slots: int | None, faults: Sequence[str]) -> SimulatedModel:
    if slots is not None and slots < 1:
        raise BadInput(f"--slots: found {slots}; an executor has at least 1")
    every = read_trigger(trigger, "--trigger") if trigger is not None else None
    subject = SimulatedModel(model=model, trigger=every, slots=slots, faults=parse_faults(faults))
    try:
        build_model(subject)
    except BadInput as wrong:
        # What is wrong about a part that has a flag is told by the name of the flag.
        raise BadInput(f"--{wrong}" if str(wrong).startswith("trigger:") else str(wrong)) from None
    return subject


def _bounds(subject: SimulatedModel, found: Resolution, start: int | None) -> ExecutorBounds:
    """The bounds that were set anywhere; the model's own where nothing was."""
    given = {name: getattr(found.settings.executors, name) for name in ("min", "max", "initial")}
    given = {name: value for name, value in given.items() if _is_set(found, f"executors.{name}")}
    bounds = ExecutorBounds(min=given.get("min"), max=given.get("max"), start=given.get("initial"))
    if start is None:
        return bounds
    pools = build_model(subject, bounds).pools.values()
    low, high = max(pool.min_workers for pool in pools), max(pool.max_workers for pool in pools)
    if not low <= start <= high:
        raise BadInput(f"--start: found {start}; the bounds are {low}..{high}")
    return replace(bounds, start=start)


def _is_set(found: Resolution, path: str) -> bool:
    return not found.is_default(path)
