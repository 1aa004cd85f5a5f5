"""How long the evaluation of the first document takes: its four plans, their reports and its page.

    python -m benchmarks.evaluation_speed [REPETITIONS]

Goal: under five minutes on two cores with five repetitions, and one is aimed for. Beside the time of the clock stands
that of the processors, which others on the machine do not prolong: two cores that do nothing else need half of it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.sweep_speed import Way, add, measured
from elastream.cli import main as elastream
from experiments.kanis.__main__ import EVALUATION, tell
from experiments.replication import Evaluation, score

PLANS = ("parameter-optimisation", "workloads", "queries", "convergence")
REPETITIONS, CORES = 5, 2
GOAL_S, AIM_S = 300.0, 60.0


def main() -> None:
    """Print a line for each plan, and what was to be reached."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    print(machine(), f"load {os.getloadavg()[0]:.1f}", f"{repetitions} repetitions", flush=True)
    runs, pages = Way(), Way()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for plan in PLANS:
            source = EVALUATION.folder / f"{plan}.yaml"
            file = folder / source.name
            file.write_text(f"include: {source}\nhow: {{repetitions: {repetitions}}}\n", encoding="utf-8")
            one, out = Way(), folder / "out" / plan
            with measured(one):
                call("experiment", "run", str(file), "--out", str(out), "--on", "processes")
            one.experiments = len(list((out / "runs").iterdir()))
            with measured(pages):
                call("report", str(out))
            runs = add(runs, one)
            tell_way(plan, one)
        with measured(pages), redirect_stderr(StringIO()):
            account = score(Evaluation(folder=folder, plans=PLANS, tell=tell), folder / "out")
        assert len(account.chapters) == len(PLANS)
    pages.experiments = runs.experiments
    tell_way("reports and the page", pages)
    runs = add(runs, Way(0, pages.clock_s, pages.processor_s))
    tell_way("in all", runs)
    times = REPETITIONS / repetitions
    clock_s, processor_s = runs.clock_s * times, runs.processor_s * times
    alone_s = processor_s / CORES
    how = "" if repetitions == REPETITIONS else f", at the rate of {repetitions}"
    print(
        f"{REPETITIONS} repetitions{how}: {clock_s:.0f} s by the clock here, {clock_s / GOAL_S:.2f} times the goal of "
        f"{GOAL_S:.0f} s; {processor_s:.0f} s of the processors, on {CORES} idle cores {alone_s:.0f} s: "
        f"{alone_s / GOAL_S:.2f} times the goal and {alone_s / AIM_S:.2f} times the aim of {AIM_S:.0f} s"
    )


def call(*arguments: str) -> None:
    """A command, without what it says."""
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()) as told:
        code = elastream(list(arguments))
    if code:
        sys.exit(f"elastream {' '.join(arguments)} ended with code {code}: {told.getvalue()}")


def tell_way(label: str, way: Way) -> None:
    """One line."""
    clock, processor = way.each_s
    print(
        f"{label:24} {way.experiments:4} runs  {way.clock_s:6.1f} s by the clock, {way.processor_s:6.1f} s of the "
        f"processors; each {clock:.3f} and {processor:.3f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
