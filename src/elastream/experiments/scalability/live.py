"""Probes on a real cluster that is started for its layout: the application runs under `elastream run`, at a fixed size.

A probe is an application of its own, so that none inherits what the one before has left: driver, executors, checkpoint.
It records the journal that every watched application has; the series that is judged is read from there while it is
written.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from elastream.core.tick import Tick
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.experiments.scalability.host import HostCores, pin_executors
from elastream.experiments.scalability.layout import Layout, Work
from elastream.experiments.scalability.limits import ProbeLimit, ProbeLimits
from elastream.experiments.scalability.probe import ProbeTerms, ProbeVerdict
from elastream.experiments.scalability.recording import ProbeRecording
from elastream.experiments.scalability.study import ProbeRun, Show
from elastream.journal.follower import JournalFollower

JOURNAL, LOG, LOAD_LOG = "journal", "driver.log", "load.log"
# What the embedded source has made before a first look is no inheritance; sessions begin slowly.
_INHERITED_S = 60.0
# On a busy machine a session with its executors takes a minute; what takes longer than this does not come.
_START_S = 240.0
_SILENT_S = 90.0
_LOOK_EVERY_S = 0.5
_END_S = 20.0


class Application(Protocol):
    """What runs in a probe."""

    def command(self, terms: ProbeTerms, folder: Path) -> list[str]:
        """The script with its arguments."""

    def settings(self, layout: Layout) -> Mapping[str, str]:
        """Spark's properties of its own."""

    @property
    def options(self) -> Sequence[str]:
        """Of `elastream run`."""

    def load(self, terms: ProbeTerms, folder: Path) -> list[str] | None:
        """The command of what writes its load; None: it makes its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveGround:
    """Layouts on this machine, or on a cluster that exists."""

    application: Application
    work: Work
    memory: str
    master: str | None = None
    """None: a cluster is started for each layout."""

    @contextmanager
    def open(self, layout: Layout) -> Iterator[LiveBench]:
        """A worker for each executor, with its cores and its memory."""
        if self.master is not None:
            yield LiveBench(self, layout, self.master)
            return
        workers = ClusterSettings(
            workers=layout.workers, cores=layout.cores, memory=f"{layout.memory_mib(self.memory)}m"
        )
        with LocalCluster(workers) as cluster:
            yield LiveBench(self, layout, str(cluster.folder))


class LiveBench:
    """A cluster of one layout."""

    def __init__(self, ground: LiveGround, layout: Layout, master: str) -> None:
        self._ground, self._layout, self._master = ground, layout, master

    def run(self, terms: ProbeTerms, folder: Path, show: Show) -> ProbeRun:
        """Start the application, watch it to its verdict, end it."""
        application = self._ground.application
        # What is started stands in that folder, and is told it by name.
        folder = folder.absolute()
        command = [*self._run_command(folder), *application.command(terms, folder)]
        with _running(command, folder, folder / LOG) as driver:
            watch = _ProbeWatch(self._ground.work, folder, pins=self._pins)
            verdict = watch.wait_for_query(driver, terms)
            load = application.load(terms, folder)
            if verdict is None and load is None:
                verdict = watch.follow(terms, [driver], show)
            elif verdict is None and load is not None:
                with _running(load, folder, folder / LOAD_LOG) as producer:
                    verdict = watch.follow(terms, [driver, producer], show)
        assert verdict is not None
        return ProbeRun(verdict=verdict, recording=watch.recording, limits=watch.find_limits(verdict, terms))

    @property
    def _pins(self) -> int | None:
        """Cores that each executor is held to, on a machine of our own that has as many as the layout."""
        fits = self._layout.slots <= len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else False
        return self._layout.cores if self._ground.master is None and self._ground.work == "real" and fits else None

    def _run_command(self, folder: Path) -> list[str]:
        application, layout, workers = self._ground.application, self._layout, self._layout.workers
        conf = {**application.settings(layout), **layout.settings(self._ground.memory)}
        return [
            sys.executable, "-m", "elastream", "run", "--quiet", "--master", self._master,
            "--executors", f"{workers}..{workers}", "--policy", "fixed", "--set", "tick_s=1",
            "--journal", str(folder / JOURNAL), *application.options,
            *(word for key, value in conf.items() for word in ("--conf", f"{key}={value}")),
        ]  # fmt: skip


class _ProbeWatch:
    """Reads the journal of an application while it is written."""

    def __init__(self, work: Work, folder: Path, *, pins: int | None) -> None:
        self.recording = ProbeRecording(work)
        self._follower = JournalFollower(folder / JOURNAL)
        self._folder, self._pins, self._host = folder, pins, HostCores()
        self._limits = ProbeLimits()

    def wait_for_query(self, driver: subprocess.Popen[bytes], terms: ProbeTerms) -> ProbeVerdict | None:
        """Until a query is seen whose totals are known, and it may be measured; why it cannot be, if it cannot."""
        until_s = time.monotonic() + _START_S
        seen = ProbeRecording("real")
        while time.monotonic() < until_s:
            for tick in self._ticks():
                if tick.observation is not None:
                    seen.add(tick.observation)
            if seen.moments:
                return _inherited(seen, terms)
            if driver.poll() is not None:
                words = seen.failed or _last_words(self._folder / LOG)
                return ProbeVerdict(state="broken", reason=f"the job ended before its query had begun: {words}")
            time.sleep(_LOOK_EVERY_S)
        why = seen.problem or "none began"
        return ProbeVerdict(state="broken", reason=f"no query that can be measured came within {_START_S:.0f} s: {why}")

    def follow(self, terms: ProbeTerms, needed: Sequence[subprocess.Popen[bytes]], show: Show) -> ProbeVerdict:
        """To the verdict."""
        verdict, seen_s = self.recording.judge(terms), time.monotonic()
        while not verdict.is_final:
            time.sleep(_LOOK_EVERY_S)
            for tick in self._ticks():
                seen_s = time.monotonic()
                self._take(tick, terms.warm_up_s)
            verdict = self.recording.judge(terms)
            show(min(1.0, self._at_s / terms.end_s))
            if verdict.is_final:
                break
            ended = next((one for one in needed if one.poll() is not None), None)
            if ended is not None:
                what, log = ("job", LOG) if ended is needed[0] else ("producer", LOAD_LOG)
                words = self.recording.failed or _last_words(self._folder / log)
                return ProbeVerdict(state="broken", reason=f"the {what} ended: {words}")
            if time.monotonic() - seen_s > _SILENT_S:
                return ProbeVerdict(state="broken", reason=f"the job has told nothing for {_SILENT_S:.0f} s")
        return verdict

    def find_limits(self, verdict: ProbeVerdict, terms: ProbeTerms) -> tuple[ProbeLimit, ...]:
        """What kept the job from the rate: of the query that waited most."""
        series = max(self.recording.moments.values(), key=lambda moments: moments[-1].arrived - moments[-1].committed,
                     default=[])  # fmt: skip
        return self._limits.find(verdict, series, terms)

    @property
    def _at_s(self) -> float:
        return max((series[-1].at_s for series in self.recording.moments.values()), default=0.0)

    def _ticks(self) -> Iterator[Tick]:
        for found in self._follower.read():
            if isinstance(found, Tick):
                yield found

    def _take(self, tick: Tick, warm_up_s: float) -> None:
        now = tick.observation
        if now is None:
            return
        self.recording.add(now, self._host.read(now.at_s))
        if self._pins is not None:
            pin_executors([worker.pid for pool in now.pools for worker in pool.workers if worker.pid], self._pins)
        self._limits.add(now, warm_up_s)


def _inherited(seen: ProbeRecording, terms: ProbeTerms) -> ProbeVerdict | None:
    """A query that begins with a backlog goes on with the probe before, or with what others have written."""
    waiting = sum(series[-1].arrived - series[-1].committed for series in seen.moments.values())
    if waiting <= max(_INHERITED_S * terms.rate_rps, 100.0):
        return None
    return ProbeVerdict(
        state="broken",
        reason=f"its query began with a backlog of {waiting:,.0f} records: give its checkpoint a place in {{folder}}, "
        "and begin with the latest offsets, or a topic of its own",
    )


@contextmanager
def _running(command: Sequence[str], folder: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with all that it starts; ended as by Ctrl-C, and for good if it does not listen."""
    # What was printed before an error is to stand before it: its last words are told.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=folder, env=environment,
            start_new_session=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        if process.poll() is not None:
            break
        process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_S)
    # Its JVM and whatever else it has started share its group.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_words(log: Path) -> str:
    """The last line that says something."""
    try:
        lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return "it said nothing"
    return lines[-1] if lines else "it said nothing"
