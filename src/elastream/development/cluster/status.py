"""What runs of a cluster that was started to stay."""

from dataclasses import dataclass
from typing import Any

from elastream.development.cluster.daemon_settings import page_key
from elastream.development.cluster.folder import ClusterFolder, ClusterState
from elastream.development.cluster.master_page import alive_workers, master_page


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterStatus:
    """A look at the processes, and at what the master says of its workers and applications."""

    folder: ClusterFolder
    state: ClusterState | None
    running: frozenset[str]
    page: dict[str, Any]

    @property
    def is_up(self) -> bool:
        """Whether a driver can use it."""
        return self.state is not None and self.state.is_up and bool(self.page)

    @property
    def workers_alive(self) -> int:
        return alive_workers(self.page)

    @property
    def applications(self) -> list[str]:
        return [str(application.get("name")) for application in self.page.get("activeapps", ())]

    def to_json(self) -> dict[str, Any]:
        where = {"up": self.is_up, "folder": str(self.folder.path)}
        if self.state is None:
            return where
        return where | {
            "master": self.state.master,
            "logs": str(self.folder.path),
            "properties": str(self.folder.driver_file),
            "workers": {"wanted": self.state.workers, "alive": self.workers_alive},
            "cores": {"each": self.state.cores, "used": self.page.get("coresused")},
            "memory": {"each": self.state.memory, "used_mib": self.page.get("memoryused")},
            "applications": self.applications,
            "processes": self.state.listed(self.running),
        }


def status(folder: ClusterFolder) -> ClusterStatus:
    """Look at the cluster of a folder."""
    state = folder.read()
    if state is None:
        return ClusterStatus(folder=folder, state=None, running=frozenset(), page={})
    running = state.running()
    page = {} if state.web is None else master_page(state.web, state.daemons["master"], page_key(folder))
    return ClusterStatus(folder=folder, state=state, running=running, page=page)
