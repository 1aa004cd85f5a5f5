"""What runs of a broker that was started to stay."""

from dataclasses import dataclass
from typing import Any

from elastream.kafka.broker_folder import BrokerFolder, BrokerState


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
        processes = {"keeper": self.state.keeper, **self.state.daemons}
        return where | {
            "bootstrap": self.state.bootstrap,
            "heap": self.state.heap,
            "log": str(self.folder.log_file),
            "processes": [
                {"name": name, "pid": process.pid, "running": name in self.running}
                for name, process in processes.items()
            ],
        }


def status(folder: BrokerFolder) -> BrokerStatus:
    """Look at the broker of a folder."""
    state = folder.read()
    processes = {} if state is None else {"keeper": state.keeper, **state.daemons}
    running = frozenset(name for name, process in processes.items() if process.is_running)
    return BrokerStatus(folder=folder, state=state, running=running)
