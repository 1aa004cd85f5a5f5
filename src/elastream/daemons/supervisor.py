"""The process that keeps daemons, such as a Spark cluster: starts them, and ends them and all that they started.

It is apart from the one that wants them, so that it outlives it by the second that cleaning up takes, however that one
ends: its lifeline is a pipe from there, closed by the system at the latest. Grandchildren that lose their parent, such
as executors and Python workers, become children of the supervisor (a "child subreaper", on Linux), which ends and
collects them all. Should the supervisor itself be killed, the system ends its daemons, and executors leave with their
worker; only the folder stays then, until the next supervisor of the kind starts or `down` is called.

One line of JSON comes in, the orders. One goes out: `{"ready": folder}`, or `{"wrong": why}` or `{"failed": why}`. What
is to stay is told so by another line, `stay`: whoever was interrupted before that does not want it. For what is not to
stay, more lines may come, each a command that the daemons know; `{"done": command}` or `{"failed": why}` answers.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from elastream.core.errors import BadInput, ElastreamError
from elastream.daemons.processes import IS_LINUX
from elastream.daemons.state_folder import Folder, remove_own, temporary

# From <linux/prctl.h>.
ADOPT_ORPHANS = 36
STAY = "stay"
# A folder that somebody has removed takes what is kept with it, for nobody could find it to stop it.
LOOK_FOR_FOLDER_EVERY_S = 30.0

Pause = Callable[[float], None]


class ToldToEnd(Exception):
    """Whoever wanted the daemons has gone, or wants them no longer."""


class Daemons(Protocol):
    """What is kept."""

    @property
    def commands(self) -> Mapping[str, Callable[[], None]]:
        """What the owner may ask for between start and end."""

    def start(self) -> None:
        """Return when they can be used."""

    def collect(self) -> bool:
        """Take note of children that have ended."""

    def end(self) -> None:
        """Leave no process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SupervisorOrders:
    """What to keep, for as long as the parent lives; without one, until told to end."""

    folder: str | None
    parent: int | None
    wanted: Mapping[str, object]

    def to_line(self) -> bytes:
        return f"{json.dumps(asdict(self))}\n".encode()


class Lifeline:
    """Wakes when a signal comes, or the one who wanted the daemons has ended."""

    def __init__(self, parent: int | None) -> None:
        self.parent = parent
        self._is_tied = True
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
        """From now on only a signal ends what is kept."""
        self._poll.unregister(0)
        self._is_tied = False

    def wait(self, seconds: float) -> None:
        """Return after that time, or when a child has ended; ToldToEnd if all are to go."""
        self._awake(seconds)

    def listen(self, seconds: float) -> bool:
        """The same, and True as soon as a command has come."""
        if not self._is_tied:
            self._awake(seconds)
            return False
        self._poll.modify(0, select.POLLIN | select.POLLHUP)
        try:
            return self._awake(seconds)
        finally:
            self._poll.modify(0, select.POLLHUP)

    def _awake(self, seconds: float) -> bool:
        awake = dict(self._poll.poll(seconds * 1000))
        if awake.pop(self._signals, 0) and set(os.read(self._signals, 4096)) - {signal.SIGCHLD}:
            raise ToldToEnd
        has_command = awake.get(0) == select.POLLIN
        if has_command:
            del awake[0]
        if awake or (self.parent is not None and os.getppid() != self.parent):
            raise ToldToEnd
        return has_command


def main(kind: type[Folder], describe: Callable[..., Daemons]) -> None:
    """Keep what the orders on standard input want; `describe(folder, pause, **wanted)` makes daemons of it."""
    line = read_line()
    if not line.endswith(b"\n"):
        return
    orders = SupervisorOrders(**json.loads(line))
    if orders.parent is None and os.fork():
        # The one that asked can collect its child at once, and the supervisor belongs to nobody.
        os._exit(0)
    if IS_LINUX:
        ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1)
    try:
        keep(orders, kind, describe)
    except ToldToEnd:
        pass
    except BadInput as wrong:
        say({"wrong": str(wrong)})
    except ElastreamError as failed:
        say({"failed": str(failed)})
    except Exception as bug:
        say({"failed": f"{kind.thing}: unexpected {type(bug).__name__}: {bug}"})


def keep(orders: SupervisorOrders, kind: type[Folder], describe: Callable[..., Daemons]) -> None:
    """The whole life of what is kept."""
    lifeline = Lifeline(orders.parent)
    with the_folder(orders, kind) as folder:
        daemons = describe(folder, lifeline.wait, **orders.wanted)
        try:
            daemons.start()
            say({"ready": str(folder.path)})
            if orders.parent is None:
                if read_line() != f"{STAY}\n".encode():
                    return
                lifeline.let_go()
            while folder.state_file.exists():
                daemons.collect()
                if lifeline.listen(LOOK_FOR_FOLDER_EVERY_S):
                    obey(daemons, read_line().decode().strip())
        finally:
            daemons.end()


def obey(daemons: Daemons, command: str) -> None:
    """A command that fails is told, and ends nothing."""
    try:
        daemons.commands[command]()
    except ElastreamError as failed:
        say({"failed": str(failed)})
    else:
        say({"done": command})


@contextlib.contextmanager
def the_folder(orders: SupervisorOrders, kind: type[Folder]) -> Iterator[Folder]:
    """Made and locked; gone at the end."""
    folder = temporary(kind) if orders.folder is None else kind(path=Path(orders.folder))
    folder.make()
    with folder.locked():
        large: Path | None = None
        try:
            folder.make_parts()
            large = folder.large.resolve()
            yield folder
        finally:
            folder.remove()
            # The runtime directory may go at the end of a login, and with it the only link to this.
            if large is not None:
                remove_own(large)


def read_line() -> bytes:
    """Byte by byte: what is left in the pipe stays there to be waited for."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line


def say(answer: Mapping[str, str]) -> None:
    """An answer; nobody need be there any more to hear it."""
    with contextlib.suppress(OSError):
        os.write(1, f"{json.dumps(answer)}\n".encode())
