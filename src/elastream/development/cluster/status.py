"""What runs of a cluster: its processes, and what its master says of itself on its page."""

import base64
import hashlib
import hmac
import http.client
import json
import time
from dataclasses import dataclass
from typing import Any

from elastream.daemons.ports import listens
from elastream.daemons.processes import Process
from elastream.development.cluster.daemon_settings import page_key
from elastream.development.cluster.folder import ClusterFolder, ClusterState

# It answers in milliseconds; one that is busy starting executors on a loaded machine may need longer.
PATIENCE_S = 5.0
# A token that got into other hands is soon worth nothing.
TOKEN_LASTS_S = 60


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

    def to_json(self) -> dict[str, object]:
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


def master_page(web: str, master: Process, key: str) -> dict[str, object]:
    """Workers, applications, cores and memory; nothing if it does not answer, or somebody else does in its place.

    A standalone master shows its page only to those who have the key.
    """
    address = web.removeprefix("http://")
    port = int(address.rpartition(":")[2])
    if not listens(master, port):
        return {}
    # Not urllib, which would ask the proxy of the environment for it.
    line = http.client.HTTPConnection(address, timeout=PATIENCE_S)
    try:
        line.request("GET", "/json/", headers={"Authorization": f"Bearer {token(key, time.time())}"})
        answer = line.getresponse()
        page = json.loads(answer.read()) if answer.status == http.client.OK else {}
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    finally:
        line.close()
    # It takes its port once, so that nobody else had it meanwhile if it has it still.
    return page if isinstance(page, dict) and listens(master, port) else {}


def token(key: str, now_s: float) -> str:
    """A JSON Web Token (RFC 7519) signed with HMAC-SHA256, which is what Spark's filter wants to see."""
    claims = [{"alg": "HS256", "typ": "JWT"}, {"exp": int(now_s) + TOKEN_LASTS_S}]
    signed = ".".join(_spell(json.dumps(part).encode()) for part in claims)
    secret = base64.urlsafe_b64decode(f"{key}==")
    return f"{signed}.{_spell(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


def alive_workers(page: dict[str, Any]) -> int:
    return sum(worker.get("state") == "ALIVE" for worker in page.get("workers", ()))


def _spell(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
