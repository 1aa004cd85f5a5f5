"""How fast the experiments of a plan run: one after the other, in two processes, and as a Spark job on two threads.

    python -m benchmarks.sweep_speed [EXPERIMENTS]

Goals: two processes at least 1.7 times as fast as one; Spark at most 30 % slower than processes for 1,000 experiments,
the start of its session and its summary included; memory that does not grow with the number of experiments. Beside the
time of the clock stands that of the processors, which others on the machine do not prolong.

What the machine itself can do is measured beside it: the same simulations in bare processes, one and two, that store
nothing and that nobody hands anything; and of Spark's time its start, its experiments and its summary are told apart.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.machine import machine
from elastream.development.cluster.finder import Master
from elastream.experiments.experiment import Experiment
from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.execution import collect_seldom
from elastream.experiments.runner.runner import Here, Processes, RunnerBackend, find_status, run_cases
from elastream.experiments.simulated import set_up_simulation
from elastream.experiments.store.folder import RUNS, RunStore
from elastream.experiments.store.identity import identify
from elastream.experiments.sweep.backend import SparkSweep
from elastream.experiments.sweep.session import sweep_session
from elastream.experiments.sweep.summary import summarise_sweep

if TYPE_CHECKING:
    from threading import Barrier

    from pyspark.sql import SparkSession

PLAN = """\
what: {{model: [enrich, windowed-count], workload: {{wave: "cosine(10k..80k, period=20m, noise=2k)"}}, slo: 60s}}
how: {{policy: [threshold, ds2, lag-proportional, "hpa(target=0.7)"], executors: 1..12, duration: 20m,
      repetitions: {repetitions}}}
"""
PER_SEED = 8
LESS = 4
"""One process runs every so many of what two do: it has nothing that would take time once, and all kinds of them."""


@dataclass
class Way:
    """What one way to run took."""

    experiments: int = 0
    clock_s: float = 0.0
    processor_s: float = 0.0
    grown_mib: float = 0.0
    """Of this process, from a fifth of the experiments to their end."""

    @property
    def each_s(self) -> tuple[float, float]:
        """For an experiment, by the clock and by the processor."""
        return self.clock_s / self.experiments, self.processor_s / self.experiments


def main() -> None:
    """Print a line for each way, and what was to be reached."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(machine(), f"load {os.getloadavg()[0]:.1f}", flush=True)
    one, two, bare_one, bare_two = Way(), Way(), Way(), Way()
    start, swept, summary = Way(), Way(), Way()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        cases = make_cases(folder, number)
        with measured(start):
            session = stack.enter_context(sweep_session(Master(url="local[2]"), folder / "spark"))
        few = cases[::LESS]
        run(one, folder / "one", few, lambda store: Here())
        run_bare(bare_one, 1, few)
        run_bare(bare_two, 2, few)
        run(two, folder / "two", cases, lambda store: Processes(2))
        store = run(swept, folder / "many", cases, lambda store: sweep(session, store, cases))
        with measured(summary):
            summarise_sweep(session, store, [identify(case.experiment) for case in cases])
    spark = add(start, swept, summary)
    for label, way in {
        "one process": one, "two processes": two, "one, bare": bare_one, "two, bare": bare_two,
        "Spark, local[2]": spark,
    }.items():  # fmt: skip
        clock, processor = way.each_s
        print(
            f"{label:16} {way.experiments:5,} experiments  {way.clock_s:6.1f} s  each {clock:.3f} s by the clock, "
            f"{processor:.3f} s of the processors  this process grew by {way.grown_mib:.1f} MiB"
        )
    for label, first, second in (("processes", one, two), ("bare processes", bare_one, bare_two)):
        clock, processor = (before / after for before, after in zip(first.each_s, second.each_s, strict=True))
        print(
            f"two {label} are {clock:.2f} times as fast as one (goal 1.7), for {1 / processor:.2f} times the processors"
        )
    clock, processor = (first / second - 1 for first, second in zip(spark.each_s, two.each_s, strict=True))
    print(f"Spark takes {clock:+.0%} beside two processes (goal +30%), and {processor:+.0%} of the processors:")
    for label, way in {"its start": start, "experiments": swept, "summary": summary}.items():
        print(f"  {label:12} {way.clock_s:6.1f} s by the clock, {way.processor_s:6.1f} s of the processors")


def make_cases(folder: Path, number: int) -> Sequence[Case]:
    """So many experiments, all of one length."""
    file = folder / "plan.yaml"
    file.write_text(PLAN.format(repetitions=-(-number // PER_SEED)), encoding="utf-8")
    return multiply(read_plan(file)).cases[:number]


def run_bare(way: Way, number: int, cases: Sequence[Case]) -> None:
    """Simulate in so many processes, which have all that they need before they begin, and add what it took."""
    context = multiprocessing.get_context("spawn")
    ready, go = context.Barrier(number + 1), context.Barrier(number + 1)
    parts = [[case.experiment for case in cases[first::number]] for first in range(number)]
    processes = [context.Process(target=simulate, args=(part, ready, go)) for part in parts]
    for process in processes:
        process.start()
    ready.wait()
    with measured(way):
        go.wait()
        go.wait()
    for process in processes:
        process.join()
    way.experiments += len(cases)


def simulate(experiments: Sequence[Experiment], ready: Barrier, go: Barrier) -> None:
    """One after the other, once everybody is ready; ends when all have."""
    collect_seldom()
    set_up_simulation(experiments[0]).run()
    ready.wait()
    go.wait()
    for experiment in experiments:
        set_up_simulation(experiment).run()
    go.wait()


def add(*ways: Way) -> Way:
    """All of them, one after the other."""
    whole = Way()
    for way in ways:
        whole.experiments += way.experiments
        whole.clock_s += way.clock_s
        whole.processor_s += way.processor_s
        whole.grown_mib += way.grown_mib
    return whole


def sweep(session: SparkSession, store: RunStore, cases: Sequence[Case]) -> RunnerBackend:
    return SparkSweep(session, store.folder / RUNS, [case.experiment for case in cases])


def run(way: Way, folder: Path, cases: Sequence[Case], backend: Callable[[RunStore], RunnerBackend]) -> RunStore:
    """Run experiments and add what it took."""
    store = RunStore(folder).open()
    statuses, seen = find_status(store, cases), list[float]()
    with measured(way):
        ran, failed = run_cases(store, statuses, backend(store), plan="bench", tell=lambda done: seen.append(rss_mib()))
    assert (ran, failed) == (len(cases), 0)
    way.experiments += ran
    way.grown_mib += seen[-1] - seen[len(seen) // 5]
    store.close()
    return store


@contextmanager
def measured(way: Way) -> Iterator[None]:
    """Add the time until the end of the block."""
    clock_s, processor_s = time.perf_counter(), tree_cpu_s()
    yield
    way.clock_s += time.perf_counter() - clock_s
    way.processor_s += tree_cpu_s() - processor_s


def tree_cpu_s() -> float:
    """Processor time of this process, of those it started, and of theirs, also of those that have ended."""
    stats = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # The name of a process may hold anything.
            fields = file.read_text().rpartition(")")[2].split()
            stats[int(file.parent.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    ours, found = {os.getpid()}, {os.getpid()}
    while found:
        found = {process for process, (parent, _) in stats.items() if parent in found}
        ours |= found
    return sum(stats[process][1] for process in ours if process in stats) / os.sysconf("SC_CLK_TCK")


def rss_mib() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
