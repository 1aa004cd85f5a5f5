"""What runs of a broker that was started to stay."""

from dataclasses import dataclass
from typing import Any

from elastream.development.kafka.folder import BrokerFolder, BrokerState


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
