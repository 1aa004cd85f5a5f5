"""How fast the experiments of a plan run: one after the other, in two processes, and as a Spark job on two threads.

    python -m benchmarks.sweep_speed [EXPERIMENTS]

Goals: two processes at least 1.7 times as fast as one; Spark at most 30 % slower than processes for 1,000 experiments,
the start of its session and its summary included; memory that does not grow with the number of experiments. Beside the
time of the clock stands that of the processors, which others on the machine do not prolong.
"""

from __future__ import annotations

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
from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.runner.runner import Here, Processes, RunnerBackend, find_status, run_cases
from elastream.experiments.store.folder import RUNS, RunStore
from elastream.experiments.store.identity import identify
from elastream.experiments.sweep.backend import SparkSweep
from elastream.experiments.sweep.session import sweep_session
from elastream.experiments.sweep.summary import summarise_sweep

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAN = """\
what: {{model: [enrich, windowed-count], workload: {{wave: "cosine(10k..80k, period=20m, noise=2k)"}}, slo: 60s}}
how: {{policy: [threshold, ds2, lag-proportional, "hpa(target=0.7)"], executors: 1..12, duration: 20m,
      repetitions: {repetitions}}}
"""
PER_SEED = 8
LESS = 4
"""One process runs a share of what two do: it has nothing that would take time once."""


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
    one, two, spark = Way(), Way(), Way()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        cases = make_cases(folder, number)
        with measured(spark):
            session = stack.enter_context(sweep_session(Master(url="local[2]"), folder / "spark"))
        run(one, folder / "one", cases[: len(cases) // LESS], lambda store: Here())
        run(two, folder / "two", cases, lambda store: Processes(2))
        store = run(spark, folder / "many", cases, lambda store: sweep(session, store, cases))
        with measured(spark):
            summarise_sweep(session, store, [identify(case.experiment) for case in cases])
    for label, way in {"one process": one, "two processes": two, "Spark, local[2]": spark}.items():
        clock, processor = way.each_s
        print(
            f"{label:16} {way.experiments:5,} experiments  {way.clock_s:6.1f} s  each {clock:.3f} s by the clock, "
            f"{processor:.3f} s of the processors  this process grew by {way.grown_mib:.1f} MiB"
        )
    clock, processor = (first / second for first, second in zip(one.each_s, two.each_s, strict=True))
    print(
        f"two processes are {clock:.2f} times as fast as one (goal 1.7), for {1 / processor:.2f} times the processors"
    )
    clock, processor = (first / second - 1 for first, second in zip(spark.each_s, two.each_s, strict=True))
    print(f"Spark takes {clock:+.0%} beside two processes (goal +30%), and {processor:+.0%} of the processors")


def make_cases(folder: Path, number: int) -> Sequence[Case]:
    """So many experiments, all of one length."""
    file = folder / "plan.yaml"
    file.write_text(PLAN.format(repetitions=-(-number // PER_SEED)), encoding="utf-8")
    return multiply(read_plan(file)).cases[:number]


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
