"""The process that keeps one cluster: starts master and workers, and ends them and all that they started.

It is apart from the one that wants the cluster, so that it outlives it by the second that cleaning up takes, however
that one ends: its lifeline is a pipe from there, closed by the system at the latest. Executors and Python workers that
lose their parent become children of the keeper (a "child subreaper", on Linux), which ends and collects them all.
Should the keeper itself be killed, the system ends master and workers, and executors leave with their worker; only the
folder stays then, until the next cluster starts or `down` is called.

One line of JSON comes in, the orders. One goes out: `{"ready": folder}`, or `{"wrong": why}` or `{"failed": why}`. A
cluster that is to stay is told so by another line, `stay`: whoever was interrupted before that does not want it.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from elastream.core.errors import BadInput, ElastreamError
from elastream.spark.cluster_folder import ClusterFolder, temporary_folder
from elastream.spark.daemon_settings import daemon_environment
from elastream.spark.daemons import Daemons, Sizes
from elastream.spark.processes import IS_LINUX

# From <linux/prctl.h>.
ADOPT_ORPHANS = 36
STAY = b"stay\n"
# A folder that somebody has removed takes its cluster with it, for nobody could find it to stop it.
LOOK_FOR_FOLDER_EVERY_S = 30.0


class ToldToEnd(Exception):
    """Whoever wanted the cluster has gone, or wants it no longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """What cluster to keep, for as long as the parent lives; without one, until told to end."""

    folder: str | None
    parent: int | None
    workers: int
    cores: int
    memory: str
    daemon_memory: str
    patience_s: float
    spark_home: str
    java_home: str
    environment: Mapping[str, str]

    def to_line(self) -> bytes:
        return f"{json.dumps(asdict(self))}\n".encode()


class Lifeline:
    """Wakes when a signal comes, or the one who wanted the cluster has ended."""

    def __init__(self, parent: int | None) -> None:
        self.parent = parent
        self._poll = select.poll()
        self._signals, writing = os.pipe()
        os.set_blocking(writing, False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, lambda number, frame: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        self._poll.register(self._signals, select.POLLIN)
        self._poll.register(0, select.POLLHUP)
        if parent is not None and IS_LINUX:
            # A forked child of the parent would hold the pipe open after it. One that has ended shows in getppid.
            with contextlib.suppress(ProcessLookupError):
                self._poll.register(os.pidfd_open(parent), select.POLLIN)

    def let_go(self) -> None:
        """From now on only a signal ends the cluster."""
        self._poll.unregister(0)

    def wait(self, seconds: float) -> None:
        """Return after that time, or when a child has ended; ToldToEnd if the cluster is to go."""
        awake = {file for file, _ in self._poll.poll(seconds * 1000)}
        if self._signals in awake:
            awake.discard(self._signals)
            if set(os.read(self._signals, 4096)) - {signal.SIGCHLD}:
                raise ToldToEnd
        if awake or (self.parent is not None and os.getppid() != self.parent):
            raise ToldToEnd


def keep(orders: Orders) -> None:
    """The whole life of a cluster."""
    lifeline = Lifeline(orders.parent)
    sizes = Sizes(workers=orders.workers, cores=orders.cores, memory=orders.memory)
    with the_folder(orders) as folder:
        environment = daemon_environment(
            folder,
            orders.environment,
            spark_home=orders.spark_home,
            java_home=orders.java_home,
            memory=orders.daemon_memory,
        )
        daemons = Daemons(folder, sizes, environment, lifeline.wait)
        try:
            daemons.start(orders.patience_s)
            say({"ready": str(folder.path)})
            if orders.parent is None:
                if read_line() != STAY:
                    return
                lifeline.let_go()
            while folder.state_file.exists():
                daemons.collect()
                lifeline.wait(LOOK_FOR_FOLDER_EVERY_S)
        finally:
            daemons.end()


@contextlib.contextmanager
def the_folder(orders: Orders) -> Iterator[ClusterFolder]:
    """Made and locked; gone at the end."""
    if orders.folder is None:
        folder = temporary_folder()
    else:
        folder = ClusterFolder(path=Path(orders.folder))
        folder.make()
    with folder.locked():
        try:
            yield folder
        finally:
            folder.remove()


def read_line() -> bytes:
    """Byte by byte: what is left in the pipe stays there to be waited for."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def say(answer: Mapping[str, str]) -> None:
    """The one answer; nobody need be there any more to hear it."""
    with contextlib.suppress(OSError):
        os.write(1, f"{json.dumps(answer)}\n".encode())


def main() -> None:
    line = read_line()
    if not line.endswith(b"\n"):
        return
    orders = Orders(**json.loads(line))
    if orders.parent is None and os.fork():
        # The one that asked can collect its child at once, and the keeper belongs to nobody.
        os._exit(0)
    if IS_LINUX:
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    try:
        keep(orders)
    except ToldToEnd:
        pass
    except BadInput as wrong:
        say({"wrong": str(wrong)})
    except ElastreamError as failed:
        say({"failed": str(failed)})
    except Exception as bug:
        say({"failed": f"cluster: unexpected {type(bug).__name__}: {bug}"})


if __name__ == "__main__":
    main()
