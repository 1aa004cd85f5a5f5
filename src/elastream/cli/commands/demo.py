"""`elastream demo`."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from elastream.cli.commands.live import LIVE, planned, read_sources, run
from elastream.cli.commands.simulate import print_runs, run_all
from elastream.cli.commands.why import print_lines
from elastream.cli.parsing.setting_sources import read_flags
from elastream.cli.terminal.output import console
from elastream.core.bounds import parse_bounds
from elastream.core.slo import Slo
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.run import Run, best_of
from elastream.experiments.run_folder import find_journal
from elastream.experiments.simulated import check_all, set_up_simulation
from elastream.journal.reader import read
from elastream.journal.story import sentences

# The load comes up from a trough, is hit by a burst on the way, and goes back. Load, start and promise were picked from
# many so that the policies differ visibly and one of them keeps the promise cheaply: a picture, and no evidence.
LOAD = "cosine(20k..70k, period=120m, shift=60m) + spike(30k, at=40m, for=5m)"
POLICIES = ("fixed(workers=9)", "threshold", "lag-proportional", "foresight")
MINUTES = 120
START = 3
SLO_S = 60.0
TICK_S = 5.0

NEXT = (
    ("elastream demo", "the same on real executors"),
    ("elastream simulate --help", "another load, another policy, faults"),
    ("elastream policies", "what can decide, and what it needs"),
    ("elastream workloads", "loads to try, recorded ones among them"),
)


def demo(
    simulated: Annotated[
        bool, typer.Option("--simulated", help="Compare four policies on the simulator instead; takes seconds.")
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
    run(planned(read_sources(read_flags(executors=executors)), **LIVE), None, page=True)


def _simulated(executors: str | None, last: int) -> None:
    setups = [set_up_simulation(experiment) for experiment in _experiments(_bounds(executors))]
    check_all(setups)
    screen = console()
    screen.print("A streaming query on simulated Spark, under a load that rises, spikes and falls.")
    screen.print("Four policies decide how many executors it has.")
    screen.print()
    with TemporaryDirectory() as folder:
        runs = run_all(setups, out=Path(folder))
        best = best_of(runs)
        assert best.folder is not None
        lines = list(sentences(read(find_journal(best.folder))))[-last:] if last else []
    print_runs(setups[0], runs)
    screen.print()
    screen.print(_verdict(best))
    screen.print("The load was picked to show the differences; under another one another policy may be best.")
    if lines:
        screen.print()
        screen.print(f"Its last {len(lines)} sentences, as `elastream why` tells them (time since the start):")
        print_lines(lines)
    screen.print()
    screen.print("Where to go next")
    for command, what in NEXT:
        screen.print(f"  {command:<28}{what}")


def _experiments(bounds: tuple[int, int] | None = None) -> list[Experiment]:
    """One experiment for each policy; without bounds, those of the model."""
    low, high = bounds or (None, None)
    start = START if bounds is None else min(max(START, bounds[0]), bounds[1])
    return [
        Experiment(
            subject=SimulatedModel(model="windowed-count"),
            workload=LOAD,
            duration_s=MINUTES * 60.0,
            policy=parse_policy(text),
            executors=ExecutorBounds(min=low, max=high, start=start),
            slo=Slo(delay_s=SLO_S),
            tick_s=TICK_S,
        )
        for text in POLICIES
    ]


def _bounds(executors: str | None) -> tuple[int, int] | None:
    return None if executors is None else parse_bounds(executors, "--executors")


def _verdict(best: Run) -> str:
    slo = best.experiment.slo
    within, hours = best.summary.records_within_slo or 0.0, best.summary.worker_hours_paid or 0.0
    promised = f" within {slo.delay_s:g} s" if slo is not None else ""
    return f"{best.label} did best: {within:.1%} of the records{promised}, for {hours:.1f} executor-hours paid."
