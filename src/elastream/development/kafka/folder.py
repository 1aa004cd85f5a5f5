"""Where a broker of one's own keeps its state and its data."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

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
