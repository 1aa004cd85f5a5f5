"""Master and workers as child processes: started, watched while they start, and ended with all that they started."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from elastream.spark.cluster_folder import ClusterError, ClusterFolder, ClusterState
from elastream.spark.daemon_settings import LOOPBACK, write_daemon_settings, write_driver_settings
from elastream.spark.master_page import alive_workers, master_page
from elastream.spark.processes import IS_LINUX, descendants, process

DEPLOY = "org.apache.spark.deploy"
LOOK_EVERY_S = 0.05
# A worker ends its executors when asked to leave, which takes a fraction of a second; a loaded machine needs more.
GRACE_S = 5.0
# From <linux/prctl.h>.
SIGNAL_WHEN_PARENT_ENDS = 1

MASTER_LINE = re.compile(r"Starting Spark master at (spark://\S+)")
WEB_LINE = re.compile(r"Bound MasterWebUI to \S+ and started at (http://\S+)")

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many workers, and what each of them offers."""

    workers: int
    cores: int
    memory: str


class Daemons:
    """The processes of one cluster. `pause` waits a little, and raises when the cluster is to go."""

    def __init__(
        self, folder: ClusterFolder, sizes: Sizes, environment: Mapping[str, str], pause: Callable[[float], None]
    ) -> None:
        self.folder = folder
        self.sizes = sizes
        self.environment = environment
        self.pause = pause
        self._children: set[int] = set()
        me = process(os.getpid())
        assert me is not None
        self._state = ClusterState(keeper=me, daemons={}, workers=sizes.workers, cores=sizes.cores, memory=sizes.memory)

    def start(self, patience_s: float) -> None:
        """Return when every worker has registered with the master."""
        deadline = time.monotonic() + patience_s
        self.folder.make_parts()
        self.folder.write(self._state)
        write_daemon_settings(self.folder)
        self._spawn("master", f"{DEPLOY}.master.Master", "--port", "0")
        # A worker that finds no master tries again only after five to fifteen seconds.
        master, web = self._until(self._addresses, deadline, "the master does not answer")
        write_driver_settings(self.folder, master)
        for number in range(1, self.sizes.workers + 1):
            work = str(self.folder.executors / f"worker-{number}")
            room = ["--cores", str(self.sizes.cores), "--memory", self.sizes.memory]
            self._spawn(f"worker-{number}", f"{DEPLOY}.worker.Worker", *room, "--work-dir", work, master)
        self._until(lambda: self._all_registered(web), deadline, "not all workers have registered")
        self._state = replace(self._state, master=master, web=web)
        self.folder.write(self._state)

    def collect(self) -> bool:
        """Take note of children that have ended; whether any is left."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                self._children.discard(ended)
        except ChildProcessError:
            return False
        return True

    def end(self) -> None:
        """Ask master and workers to leave, then end what is left, whatever it is."""
        for pid in self._children:
            os.kill(pid, signal.SIGTERM)  # not yet collected, so that the id is still theirs
        deadline = time.monotonic() + GRACE_S
        while self.collect() and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
        while self.collect():
            for pid in descendants(os.getpid()) if IS_LINUX else self._children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(LOOK_EVERY_S)

    def _spawn(self, name: str, main: str, *arguments: str) -> None:
        settings = ["--host", LOOPBACK, "--webui-port", "0", "--properties-file", str(self.folder.daemon_file)]
        with (self.folder.logs / f"{name}.log").open("wb") as log:
            daemon = subprocess.Popen(
                [f"{self.environment['SPARK_HOME']}/bin/spark-class", main, *settings, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder.path,
                env=self.environment,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        self._children.add(daemon.pid)
        # `collect` waits for it, together with those that nobody here has started.
        daemon.returncode = 0
        known = process(daemon.pid)
        if known is None:
            raise ClusterError(f"cluster: {name} ended at once: {self._last_words(name)}")
        self._state = replace(self._state, daemons=self._state.daemons | {name: known})
        self.folder.write(self._state)

    def _until(self, look: Callable[[], Found | None], deadline: float, problem: str) -> Found:
        began = time.monotonic()
        while (found := look()) is None:
            self.pause(LOOK_EVERY_S)
            self.collect()
            for name, daemon in self._state.daemons.items():
                if daemon.pid not in self._children:
                    raise ClusterError(f"cluster: {name} ended while starting: {self._last_words(name)}")
            if time.monotonic() > deadline:
                waited_s = time.monotonic() - began
                raise ClusterError(f"cluster: {problem} after {waited_s:.0f} s; is the machine overloaded?")
        return found

    def _addresses(self) -> tuple[str, str] | None:
        log = (self.folder.logs / "master.log").read_text(errors="replace")
        master, web = MASTER_LINE.search(log), WEB_LINE.search(log)
        return (master[1], web[1]) if master and web else None

    def _all_registered(self, web: str) -> bool | None:
        return alive_workers(master_page(web)) >= self.sizes.workers or None

    def _last_words(self, name: str) -> str:
        """The last line of the log that is not part of a stack trace; the log goes with the folder."""
        lines = (self.folder.logs / f"{name}.log").read_text(errors="replace").splitlines()
        told = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith(("at ", "... "))]
        return told[-1] if told else "it said nothing"


def end_with_parent() -> None:
    """In a child about to become a daemon: the system ends it when its parent ends, by kill -9 too."""
    if IS_LINUX:
        ctypes.CDLL(None).prctl(SIGNAL_WHEN_PARENT_ENDS, signal.SIGKILL)
