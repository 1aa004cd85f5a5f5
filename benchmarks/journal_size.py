"""What a journal costs with a thousand executors and a hundred queries: bytes of a snapshot, and time in the tick."""

import shutil
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.machine import machine
from elastream.attachment.assembly import GUARDS
from elastream.config import build_guards
from elastream.core.observation import (
    FinishedBatch,
    Observation,
    OperatorWork,
    Pool,
    Query,
    Reading,
    Source,
    Worker,
)
from elastream.core.tick import Tick
from elastream.core.topology import Operator, Topology
from elastream.journal.background_writer import BackgroundRecorder
from elastream.journal.format import Header, fingerprint, snapshot_line, tick_line
from elastream.journal.writer import Recorder, journal_files
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.simulator.microbatch.platform import PROVIDES

EXECUTORS, QUERIES, TICK_S = 1_000, 100, 5.0
STAGES = tuple(f"stage-{number}" for number in range(3))


def main() -> None:
    """Print sizes and times after so many minutes of the run."""
    print(machine())
    guards = build_guards({path.removeprefix("guards."): {} for path in GUARDS})
    planner = Planner(policies.build("lag-proportional", {}), guards, PROVIDES)
    folder = Path(tempfile.mkdtemp())
    journal = BackgroundRecorder(Recorder(folder, planner=planner, header=_header())).open()
    spent_s: list[float] = []
    for number in range(1, 721):
        now = look(number * TICK_S)
        plan = planner.plan(now)
        tick = Tick(number=number, at_s=now.at_s, utc_s=now.utc_s, observation=now, decision=plan.decision)
        began_s = time.thread_time()
        journal.write(tick)
        spent_s.append(time.thread_time() - began_s)
        while journal.waiting > 2:
            time.sleep(0.01)
        if number * TICK_S in (300.0, 1200.0, 3600.0):
            report(number * TICK_S, planner, tick, spent_s)
            spent_s.clear()
    journal.close()
    sizes = [path.stat().st_size for path in journal_files(folder)]
    print(
        f"files: {len(sizes)}, the largest {max(sizes) / 2**20:.2f} MiB of 8, all {sum(sizes) / 2**20:.1f} MiB of 160"
    )
    shutil.rmtree(folder)


def report(at_s: float, planner: Planner, tick: Tick, spent_s: list[float]) -> None:
    """One line of figures."""
    began_s = time.thread_time()
    size = len(snapshot_line(planner.snapshot()))
    made_s = time.thread_time() - began_s
    line = len(tick_line(tick))
    print(
        f"after {at_s / 60:3.0f} min: snapshot {size / 2**20:.2f} MiB, made in {made_s * 1e3:.0f} ms outside the tick; "
        f"a tick's line {line / 2**10:.0f} KiB; in the tick {median(spent_s) * 1e3:.2f} ms in the median, "
        f"{max(spent_s) * 1e3:.0f} ms at most"
    )


def look(at_s: float, *, executors: int = EXECUTORS, queries: int = QUERIES) -> Observation:
    """One look at an application of that size, in which everything moves."""
    workers = tuple(
        Worker(
            id=str(number),
            state="ready",
            since_s=0.0,
            node=f"node-{number % 50}",
            running_tasks=3,
            cpu=Reading(0.5 + (number + at_s) % 97 / 200, at_s),
            cpu_from="prometheus",
            memory_bytes=Reading(1e9 + number * at_s, at_s),
            records=Reading(number * at_s * 1.1, at_s),
        )
        for number in range(executors)
    )
    pool = Pool(
        name="executors", slots_per_worker=4, min_workers=1, max_workers=2 * executors, wanted=executors,
        requested=executors, ready=executors, leaving=0, workers=workers, busy_slot_s=Reading(at_s * 3000, at_s),
    )  # fmt: skip
    run = tuple(_query(number, at_s) for number in range(queries))
    return Observation(at_s=at_s, utc_s=1.79e9 + at_s, application="app", pools=(pool,), queries=run)


def _query(number: int, at_s: float) -> Query:
    rate = 1000.0 + number
    done = at_s - at_s % 10
    work = tuple(
        OperatorWork(
            name=name,
            tasks=200,
            records_in=Reading(rate * done, at_s),
            records_out=Reading(rate * done / 2, at_s),
            busy_s=Reading(done * 9.1, at_s),
        )
        for name in STAGES
    )
    batch = FinishedBatch(
        id=int(done), started_s=done - 8.0, ended_s=done, rows=rate * 10, busy_s=91.0, driver_s=0.7, critical_s=2.0,
        parts_s={"addBatch": 7.1, "planning": 0.4, "commit": 0.2},
    )  # fmt: skip
    return Query(
        id=f"query-{number}",
        name=f"query {number}",
        phase="running",
        topology=Topology(operators=tuple(Operator(name=name, pool="executors") for name in STAGES)),
        sources=(Source(name="kafka", arrived=Reading(rate * at_s, at_s), committed=Reading(rate * done, at_s)),),
        operators=work,
        finished=batch,
        batches=Reading(done / 10, at_s),
        driver_s=Reading(done * 0.07, at_s),
    )


def _header() -> Header:
    first = look(0.0)
    return Header(
        policy="lag-proportional", policy_class="-", tick_s=TICK_S, max_age_s=15.0, platform="benchmark", provides=(),
        started_utc="2026-01-01T00:00:00+00:00", elastream="-", fingerprint=fingerprint(first),
    )  # fmt: skip


if __name__ == "__main__":
    main()
