"""`elastream demo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from elastream.cli.terminal.output import console

if TYPE_CHECKING:
    from elastream.simulator.microbatch.model import ApplicationModel
    from elastream.simulator.run import Summary

# The load comes up from a trough, is hit by a burst on the way, and goes back. Load, start and promise were picked from
# many so that the policies differ visibly and one of them keeps the promise cheaply: a picture, and no evidence.
LOAD = "cosine(20k..70k, period=120m, shift=60m) + spike(30k, at=40m, for=5m)"
POLICIES = ("fixed(workers=9)", "threshold", "lag-proportional")
MINUTES = 120
START = 3
SLO_S = 60.0

NEXT = (
    ("elastream demo", "the same on real executors"),
    ("elastream simulate --help", "another load, another policy, faults"),
    ("elastream policies", "what can decide, and what it needs"),
    ("elastream workloads", "loads to try, recorded ones among them"),
)


def demo(
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Compare three policies on the simulator instead; takes seconds.")
    ] = False,
    executors: Annotated[
        str | None, typer.Option(metavar="MIN..MAX", help="Bounds. Default: 1..5; simulated: the model's.")
    ] = None,
    last: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Simulated: how many sentences of why to print.")
    ] = 6,
) -> None:
    """Real executors come and go under a running query while its load rises, spikes and falls; about 4.5 minutes.

    Starts a Spark cluster on this machine, runs a query with state on it, attaches an autoscaler, and compares every
    output record with the input. Slots are limited to a rate, so that a small machine can show many of them.

    [bold]Examples[/bold]

    elastream demo

    elastream demo --simulated --last 20
    """
    if simulated:
        _simulated(executors, last)
        return
    from elastream.cli.commands.live import LIVE, planned, read_sources, run
    from elastream.cli.parsing.setting_sources import read_flags

    run(planned(read_sources(read_flags(executors=executors)), **LIVE), None)


def _simulated(executors: str | None, last: int) -> None:
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from elastream.cli.commands.simulate import print_runs, run_all
    from elastream.cli.commands.why import print_lines
    from elastream.cli.parsing.texts import read_policy
    from elastream.experiments.contender import folder_names
    from elastream.experiments.run import best_of
    from elastream.experiments.scenario import Scenario
    from elastream.journal.reader import read
    from elastream.journal.story import sentences
    from elastream.workloads import parse_workload

    scenario = Scenario(model=_model(executors), workload=parse_workload(LOAD), duration_s=MINUTES * 60.0)
    contenders = [read_policy(text) for text in POLICIES]
    scenario.check(contenders)
    screen = console()
    screen.print("A streaming query on simulated Spark, under a load that rises, spikes and falls.")
    screen.print("Three policies decide how many executors it has.")
    screen.print()
    with TemporaryDirectory() as folder:
        runs = run_all(scenario, contenders, out=Path(folder))
        best = best_of(runs)
        recorded = Path(folder) / folder_names(contenders)[best.contender.label]
        lines = list(sentences(read(recorded)))[-last:] if last else []
    print_runs(scenario, runs)
    screen.print()
    screen.print(_verdict(best.contender.label, best.summary))
    screen.print("The load was picked to show the differences; under another one another policy may be best.")
    if lines:
        screen.print()
        screen.print(f"Its last {len(lines)} sentences, as `elastream why` tells them (time since the start):")
        print_lines(lines)
    screen.print()
    screen.print("Where to go next")
    for command, what in NEXT:
        screen.print(f"  {command:<28}{what}")


def _model(executors: str | None) -> ApplicationModel:
    from dataclasses import replace

    from elastream.core.bounds import parse_bounds
    from elastream.core.slo import Slo
    from elastream.experiments.scenario import resized
    from elastream.simulator.catalogue import model

    base = resized(model("windowed-count"), initial_workers=START)
    if executors is not None:
        low, high = parse_bounds(executors, "--executors")
        start = min(max(START, low), high)
        base = resized(base, min_workers=low, max_workers=high, initial_workers=start)
    return replace(base, queries=tuple(replace(query, slo=Slo(delay_s=SLO_S)) for query in base.queries))


def _verdict(label: str, summary: Summary) -> str:
    within, hours = summary.within_slo or 0.0, summary.worker_hours
    return f"{label} did best: {within:.1%} of the records within {SLO_S:g} s, with {hours:.1f} executor-hours."
