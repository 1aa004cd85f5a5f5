"""A cluster of one's own: a standalone master and workers out of the pyspark wheel, on loopback, for as long as wanted.

    with LocalCluster(ClusterSettings(workers=2, cores=4)) as cluster:
        spark = SparkSession.builder.config(map=cluster.settings_for_driver()).getOrCreate()

`up` is the same for a cluster that stays after the process that started it, until `daemons.client.down`.
"""

import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from elastream.core.errors import BadInput
from elastream.core.extras import MissingExtra
from elastream.core.quantity import mebibytes
from elastream.daemons import client
from elastream.daemons.client import SupervisorClient
from elastream.daemons.java import java_home
from elastream.daemons.supervisor import SupervisorOrders
from elastream.development.cluster.daemon_settings import page_key
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver
from elastream.development.cluster.folder import ClusterError, ClusterFolder, ClusterState, standing_folder
from elastream.development.cluster.status import master_page

# More than anyone's machine holds; a slip of the keyboard should not start a thousand JVMs.
MOST_WORKERS = 64
# With less, master and workers spend their time collecting garbage or do not start.
LEAST_DAEMON_MIB = 128
SUPERVISOR = "elastream.development.cluster.supervisor"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSettings:
    """How large a cluster is, and where its state lies; cores and memory are those that each worker offers.

    Neither is taken from the machine: a worker may offer more cores than there are.
    """

    workers: int = 2
    cores: int = 6
    memory: str = "4g"
    folder: Path | None = None
    daemon_memory: str = "256m"
    patience_s: float = 120.0

    def __post_init__(self) -> None:
        _require(1 <= self.workers <= MOST_WORKERS, "workers", f"{self.workers} is not from 1 to {MOST_WORKERS}")
        _require(1 <= self.cores <= 1024, "cores", f"{self.cores} is not from 1 to 1024 for each worker")
        _require(mebibytes(self.memory) >= 1, "memory", f"{self.memory!r} is not a size such as 512m or 4g")
        daemon_mib = mebibytes(self.daemon_memory)
        fits = f"{self.daemon_memory!r} is not a size of at least {LEAST_DAEMON_MIB}m"
        _require(daemon_mib >= LEAST_DAEMON_MIB, "daemon_memory", fits)
        _require(0 < self.patience_s < 3600, "patience_s", f"{self.patience_s:g} is not above 0 and below 3600")


def _require(holds: bool, name: str, found: str) -> None:
    if not holds:
        raise BadInput(f"cluster: {name}: {found}")


class LocalCluster:
    """Starts on entering, with every worker registered, and is gone on leaving: processes and folder.

    It goes too when this process ends without leaving, by kill -9 for instance; see `daemons.supervisor`.
    """

    def __init__(self, settings: ClusterSettings | None = None) -> None:
        self.settings = settings or ClusterSettings()
        self._supervisor: SupervisorClient[ClusterFolder] | None = None
        self._state: ClusterState | None = None
        self._folder: ClusterFolder | None = None
        self._environment = DriverEnvironment()

    def __enter__(self) -> Self:
        if self._supervisor is not None:
            raise ClusterError("cluster: is running already; make another LocalCluster for a second one")
        orders = _orders(self.settings, parent=os.getpid())
        try:
            self._supervisor = SupervisorClient(SUPERVISOR, ClusterFolder)
            self._folder = self._supervisor.start(orders)
            self._state = self._folder.read()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def folder(self) -> Path:
        return self._running()[0].path

    @property
    def master(self) -> str:
        """Its address, such as `spark://127.0.0.1:40123`."""
        return self._running()[1].master or ""

    def page(self) -> dict[str, Any]:
        """What the master says of its workers and applications."""
        folder, state = self._running()
        return master_page(state.web or "", state.daemons["master"], page_key(folder))

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by name: supervisor, master, worker-1, worker-2..."""
        state = self._running()[1]
        return {"supervisor": state.supervisor.pid, **{name: daemon.pid for name, daemon in state.daemons.items()}}

    def settings_for_driver(self) -> dict[str, str]:
        """What a session of this process needs, for `builder.config(map=...)`; ask just before making the session."""
        return settings_for_driver(self._running()[0], self._environment)

    def _running(self) -> tuple[ClusterFolder, ClusterState]:
        if self._folder is None or self._state is None:
            raise ClusterError("cluster: is not running; enter it first: with LocalCluster(...) as cluster:")
        return self._folder, self._state

    def _end(self) -> None:
        supervisor, self._supervisor, self._folder, self._state = self._supervisor, None, None, None
        self._environment.restore()
        if supervisor is not None:
            supervisor.let_go()


def up(settings: ClusterSettings) -> tuple[ClusterFolder, ClusterState, bool]:
    """Start a cluster that stays; the one that is there already, and False, if there is one in that folder."""
    folder = ClusterFolder(path=settings.folder.absolute()) if settings.folder else standing_folder()
    state, is_new = client.up(SUPERVISOR, folder, lambda: _orders(settings, parent=None, folder=folder))
    return folder, state, is_new


def _orders(settings: ClusterSettings, *, parent: int | None, folder: ClusterFolder | None = None) -> SupervisorOrders:
    if folder is None and settings.folder is not None:
        folder = ClusterFolder(path=settings.folder.absolute())
    wanted = {
        "workers": settings.workers,
        "cores": settings.cores,
        "memory": f"{mebibytes(settings.memory)}m",
        "daemon_memory": f"{mebibytes(settings.daemon_memory)}m",
        "patience_s": settings.patience_s,
        "spark_home": str(_closed(spark_home())),
        "java_home": str(java_home().path),
        "environment": dict(os.environ),
    }
    return SupervisorOrders(folder=None if folder is None else str(folder.path), parent=parent, wanted=wanted)


def _closed(home: Path) -> Path:
    """A Spark that has all that the filter of its pages needs."""
    if not any((home / "jars").glob("jjwt-impl-*.jar")):
        raise BadInput(
            f"{home}: this Spark has no jjwt-impl-*.jar and cannot close its pages to other users; unset SPARK_HOME"
        )
    return home


def spark_home() -> Path:
    """The Spark that a driver of this process would use: the cluster must be of the same version."""
    if os.environ.get("SPARK_HOME"):
        home = Path(os.environ["SPARK_HOME"])
        if not (home / "bin" / "spark-class").exists():
            raise BadInput(f"SPARK_HOME: there is no Spark in {home}; correct or unset it")
        return home
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise MissingExtra("a cluster on this machine", "pyspark")
    return Path(found.submodule_search_locations[0])
