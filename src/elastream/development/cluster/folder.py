"""Where a cluster of one's own keeps its state: who runs, where it listens, and the secret."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from elastream.core.errors import ElastreamError
from elastream.daemons.state_folder import DaemonState, StateFolder, standing

SECRET = "spark.authenticate.secret"
DRIVER_FILE = "driver.conf"


class ClusterError(ElastreamError):
    """A cluster that could not be started, stopped or found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState(DaemonState):
    """What is known of a cluster on disk; without an address it is still starting."""

    workers: int
    cores: int
    memory: str
    master: str | None = None
    web: str | None = None

    @property
    def has_answered(self) -> bool:
        return self.master is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFolder(StateFolder[ClusterState]):
    """The layout of the folder."""

    thing: ClassVar[str] = "cluster"
    trouble: ClassVar[type[ElastreamError]] = ClusterError

    @property
    def conf(self) -> Path:
        return self.path / "conf"

    @property
    def logs(self) -> Path:
        return self.path / "log"

    @property
    def executors(self) -> Path:
        """Working folders of executors, with what they print."""
        return self.large / "executors"

    @property
    def scratch(self) -> Path:
        """Shuffle files and local state."""
        return self.large / "scratch"

    @property
    def temporary(self) -> Path:
        """What the JVMs and Python workers would leave in /tmp when killed, such as unpacked libraries."""
        return self.large / "tmp"

    @property
    def daemon_file(self) -> Path:
        """Properties of master and workers, with the secret."""
        return self.conf / "daemon.conf"

    @property
    def driver_file(self) -> Path:
        """Properties for `spark-submit --properties-file`, with the secret."""
        return self.conf / DRIVER_FILE

    @property
    def parts(self) -> tuple[Path, ...]:
        return self.conf, self.logs, self.executors, self.scratch, self.temporary

    def parse(self, text: str) -> ClusterState:
        return ClusterState.from_json(text)


def standing_folder() -> ClusterFolder:
    """Where `elastream cluster up` puts the cluster unless told otherwise."""
    return standing(ClusterFolder)
