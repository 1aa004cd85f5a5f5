"""Workers that join a cluster and can be killed with all that runs on them, as a machine that loses power."""

import os
import signal
import subprocess
import time
from types import TracebackType
from typing import Self

from elastream.daemons.child_processes import end_with_parent
from elastream.daemons.java import java_home
from elastream.daemons.ports import LOOPBACK
from elastream.daemons.processes import command_line, descendants, process
from elastream.development.cluster.daemon_settings import daemon_environment
from elastream.development.cluster.folder import ClusterFolder
from elastream.development.cluster.local_cluster import LocalCluster, spark_home
from elastream.development.cluster.supervisor import DEPLOY

JOIN_WITHIN_S = 90.0
# More than any worker of the cluster: the master starts executors where most cores are free, so some come here.
CORES = 32


class SpareWorker:
    """One more worker for a cluster."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Return when the master knows it."""
        folder = ClusterFolder(path=self.cluster.folder)
        before = self._known()
        settings = ["--host", LOOPBACK, "--webui-port", "0", "--properties-file", str(folder.daemon_file)]
        room = ["--cores", str(CORES), "--memory", "32g", "--work-dir", str(folder.executors / "spare")]
        command = [f"{spark_home()}/bin/spark-class", f"{DEPLOY}.worker.Worker", *settings, *room, self.cluster.master]
        environment = daemon_environment(
            folder, os.environ, spark_home=str(spark_home()), java_home=str(java_home().path), memory="256m"
        )
        log_file = folder.logs / "spare.log"
        with log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder.path, env=environment, preexec_fn=end_with_parent
            )
        deadline = time.monotonic() + JOIN_WITHIN_S
        while not self._known() - before:
            assert self._process.poll() is None, f"the spare worker ended: {log_file.read_text()[-500:]}"
            assert time.monotonic() < deadline, "the spare worker has not registered"
            time.sleep(0.1)

    def _known(self) -> set[str]:
        return {worker["id"] for worker in self.cluster.page().get("workers", ())}

    def executors(self) -> dict[str, int]:
        """Process ids of the executors here, by the name Spark gives them."""
        return executors_under(self._process.pid) if self._process is not None else {}

    def replace(self) -> None:
        """Another one joins, and this one is killed: what was here is then started there, where most cores are free."""
        old = self._process
        self.start()
        _kill_with_all_under_it(old)

    def kill(self) -> None:
        """kill -9 of the worker and everything under it."""
        worker, self._process = self._process, None
        _kill_with_all_under_it(worker)


def _kill_with_all_under_it(worker: subprocess.Popen[bytes] | None) -> None:
    if worker is None:
        return
    for pid in [worker.pid, *descendants(worker.pid)]:
        kill(pid)
    worker.wait()


def executors_under(pid: int) -> dict[str, int]:
    found = {}
    for child in descendants(pid):
        arguments = command_line(child)
        if "--executor-id" in arguments:
            found[arguments[arguments.index("--executor-id") + 1]] = child
    return found


def kill(pid: int) -> None:
    found = process(pid)
    if found is not None:
        found.send(signal.SIGKILL)
