"""Where a broker of one's own keeps its state and its data, and what runs of it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from elastream.core.errors import ElastreamError
from elastream.daemons.state_folder import DaemonState, StateFolder, standing


class BrokerError(ElastreamError):
    """A broker that could not be started, stopped or found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerState(DaemonState):
    """What is known of a broker on disk; without an address it is starting, or was stopped for a while."""

    heap: str
    bootstrap: str | None = None
    secured: str | None = None
    """Where it asks for a password, if it does anywhere."""

    @property
    def has_answered(self) -> bool:
        return self.bootstrap is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFolder(StateFolder[BrokerState]):
    """The layout of the folder."""

    thing: ClassVar[str] = "broker"
    trouble: ClassVar[type[ElastreamError]] = BrokerError

    @property
    def settings_file(self) -> Path:
        return self.path / "conf" / "server.properties"

    @property
    def data(self) -> Path:
        """Topics, and Kafka's own records of them."""
        return self.large / "data"

    @property
    def log_file(self) -> Path:
        return self.path / "log" / "broker.log"

    @property
    def temporary(self) -> Path:
        """What a JVM would leave in /tmp when killed, such as unpacked libraries."""
        return self.large / "tmp"

    @property
    def parts(self) -> tuple[Path, ...]:
        return self.settings_file.parent, self.data, self.log_file.parent, self.temporary

    def parse(self, text: str) -> BrokerState:
        return BrokerState.from_json(text)


def standing_folder() -> BrokerFolder:
    """Where `elastream kafka up` puts the broker unless told otherwise."""
    return standing(BrokerFolder)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    """A look at the processes."""

    folder: BrokerFolder
    state: BrokerState | None
    running: frozenset[str]

    @property
    def is_up(self) -> bool:
        """Whether it can be written and read."""
        return self.state is not None and self.state.is_up and "broker" in self.running

    def to_json(self) -> dict[str, Any]:
        where = {"up": self.is_up, "folder": str(self.folder.path)}
        if self.state is None:
            return where
        return where | {
            "bootstrap": self.state.bootstrap,
            "heap": self.state.heap,
            "log": str(self.folder.log_file),
            "processes": self.state.listed(self.running),
        }


def status(folder: BrokerFolder) -> BrokerStatus:
    """Look at the broker of a folder."""
    state = folder.read()
    return BrokerStatus(folder=folder, state=state, running=frozenset() if state is None else state.running())
