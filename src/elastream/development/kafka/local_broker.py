"""A Kafka of one's own, for development and tests: one broker on loopback, for as long as wanted.

    with LocalBroker(BrokerSettings(heap="512m")) as broker:
        create_topic(broker.bootstrap, "events", partitions=4)

Unless told otherwise it asks nobody for a password: every user of the machine can read and write it. `up` is the same
for a broker that stays after the process that started it, until `machine.client.down`.
"""

import os
import signal
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from elastream.core.errors import BadInput
from elastream.core.quantity import mebibytes
from elastream.daemons import client
from elastream.daemons.client import END_WITHIN_S, SupervisorClient
from elastream.daemons.java import java_home
from elastream.daemons.supervisor import SupervisorOrders
from elastream.development.kafka.folder import BrokerError, BrokerFolder, BrokerState, standing_folder
from elastream.development.kafka.jars import Tell, broker_jars, silently

SUPERVISOR = "elastream.development.kafka.supervisor"
# With less it does not start, or spends its time collecting garbage.
LEAST_HEAP_MIB = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """How large a broker is, and where; without a port any free one, without a folder a temporary one.

    The folder goes with the broker, and the topics in it.
    """

    heap: str = "512m"
    port: int | None = None
    folder: Path | None = None
    password: str | None = field(default=None, repr=False)
    """Opens a second door, at which user `elastream` gives it (SASL, PLAIN); the first one stays open to all."""
    patience_s: float = 120.0

    def __post_init__(self) -> None:
        heap = f"{self.heap!r} is not a size of at least {LEAST_HEAP_MIB}m, such as 512m or 2g"
        _require(mebibytes(self.heap) >= LEAST_HEAP_MIB, "heap", heap)
        _require(self.port is None or 1 <= self.port <= 65535, "port", f"{self.port} is not from 1 to 65535")
        # It stands in a quoted text of Java's.
        is_plain = self.password is None or (self.password != "" and self.password.isalnum())
        _require(is_plain, "password", "it must be of letters and digits")
        _require(0 < self.patience_s < 3600, "patience_s", f"{self.patience_s:g} is not above 0 and below 3600")


def _require(holds: bool, name: str, found: str) -> None:
    if not holds:
        raise BadInput(f"broker: {name}: {found}")


class LocalBroker:
    """Can be written and read on entering, and is gone on leaving: process and folder.

    It goes too when this process ends without leaving, by kill -9 for instance; see `daemons.supervisor`. In between it
    can be stopped, killed and started again, or made to pause, to see what becomes of its clients.
    """

    def __init__(self, settings: BrokerSettings | None = None, *, tell: Tell = silently) -> None:
        self.settings = settings or BrokerSettings()
        self.tell = tell
        self._supervisor: SupervisorClient[BrokerFolder] | None = None
        self._folder: BrokerFolder | None = None
        self._bootstrap = self._secured = ""

    def __enter__(self) -> Self:
        if self._supervisor is not None:
            raise BrokerError("broker: is running already; make another LocalBroker for a second one")
        orders = _orders(self.settings, parent=os.getpid(), folder=None, tell=self.tell)
        try:
            self._supervisor = SupervisorClient(SUPERVISOR, BrokerFolder)
            self._folder = self._supervisor.start(orders)
            self._bootstrap, self._secured = self._state().bootstrap or "", self._state().secured or ""
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def bootstrap(self) -> str:
        """Its address, such as `127.0.0.1:40123`; the same after another start, and while it is stopped."""
        self._entered()
        return self._bootstrap

    @property
    def secured(self) -> str:
        """The address of the door that asks for the password."""
        self._entered()
        return self._secured

    @property
    def folder(self) -> Path:
        return self._entered()[1].path

    @property
    def pid(self) -> int:
        """Of the broker itself; another one after another start."""
        return self._state().daemons["broker"].pid

    def stop(self) -> None:
        """Ask it to leave, and wait until it has; port and data stay."""
        self._entered()[0].ask("stop")

    def kill(self) -> None:
        """End it as a machine that loses power does, and wait until it has gone."""
        self._send(signal.SIGKILL)
        self._state().daemons["broker"].wait(END_WITHIN_S)

    def start(self) -> None:
        """Start it again after `stop` or `kill`, and wait until it can be used."""
        self._entered()[0].ask("start")

    def pause(self) -> None:
        """Let it answer nobody until `resume`: connections stay, and nothing moves."""
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        if not self._state().daemons["broker"].send(number):
            raise BrokerError("broker: does not run; start it first: broker.start()")

    def _entered(self) -> tuple[SupervisorClient[BrokerFolder], BrokerFolder]:
        if self._supervisor is None or self._folder is None:
            raise BrokerError("broker: is not running; enter it first: with LocalBroker(...) as broker:")
        return self._supervisor, self._folder

    def _state(self) -> BrokerState:
        folder = self._entered()[1]
        state = folder.read()
        if state is None:
            raise BrokerError(f"{folder.path}: the broker has gone; somebody stopped it or removed its folder")
        return state

    def _end(self) -> None:
        supervisor, self._supervisor, self._folder = self._supervisor, None, None
        if supervisor is not None:
            supervisor.let_go()


def up(settings: BrokerSettings, tell: Tell = silently) -> tuple[BrokerFolder, BrokerState, bool]:
    """Start a broker that stays; the one that is there already, and False, if there is one in that folder."""
    folder = BrokerFolder(path=settings.folder.absolute()) if settings.folder else standing_folder()
    state, is_new = client.up(SUPERVISOR, folder, lambda: _orders(settings, parent=None, folder=folder, tell=tell))
    return folder, state, is_new


def _orders(
    settings: BrokerSettings, *, parent: int | None, folder: BrokerFolder | None, tell: Tell
) -> SupervisorOrders:
    if folder is None and settings.folder is not None:
        folder = BrokerFolder(path=settings.folder.absolute())
    wanted = {
        "jars": [str(jar) for jar in broker_jars(tell)],
        "java_home": str(java_home().path),
        "heap": f"{mebibytes(settings.heap)}m",
        "port": settings.port,
        "password": settings.password,
        "patience_s": settings.patience_s,
        "environment": dict(os.environ),
    }
    tell("starting Kafka ...")
    return SupervisorOrders(folder=None if folder is None else str(folder.path), parent=parent, wanted=wanted)
