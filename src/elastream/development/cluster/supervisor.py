"""The process that keeps one cluster, its master and its workers; see `elastream.daemons.supervisor`."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from elastream.daemons.child_processes import Children
from elastream.daemons.ports import LOOPBACK
from elastream.daemons.processes import this_process
from elastream.daemons.supervisor import Pause, main
from elastream.development.cluster.daemon_settings import (
    daemon_environment,
    page_key,
    write_daemon_settings,
    write_driver_settings,
)
from elastream.development.cluster.folder import ClusterFolder, ClusterState
from elastream.development.cluster.status import alive_workers, master_page

DEPLOY = "org.apache.spark.deploy"
# A worker ends its executors when asked to leave, which takes a fraction of a second; a loaded machine needs more.
GRACE_S = 5.0

MASTER_LINE = re.compile(r"Starting Spark master at (spark://\S+)")
WEB_LINE = re.compile(r"Bound MasterWebUI to \S+ and started at (http://\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many workers, and what each of them offers."""

    workers: int
    cores: int
    memory: str


class MasterAndWorkers:
    """The daemons of one cluster."""

    def __init__(
        self,
        folder: ClusterFolder,
        sizes: Sizes,
        environment: Mapping[str, str],
        patience_s: float,
        pause: Pause,
    ) -> None:
        self.folder = folder
        self.sizes = sizes
        self.environment = environment
        self.patience_s = patience_s
        self.commands: Mapping[str, Callable[[], None]] = {}
        self._children = Children("cluster", pause)
        self._state = ClusterState(
            supervisor=this_process(), daemons={}, workers=sizes.workers, cores=sizes.cores, memory=sizes.memory
        )

    def start(self) -> None:
        """Return when every worker has registered with the master."""
        deadline = time.monotonic() + self.patience_s
        self.folder.write(self._state)
        write_daemon_settings(self.folder)
        self._spawn("master", f"{DEPLOY}.master.Master", "--port", "0")
        # A worker that finds no master tries again only after five to fifteen seconds.
        master, web = self._children.until(self._addresses, deadline, "the master does not answer")
        write_driver_settings(self.folder, master)
        for number in range(1, self.sizes.workers + 1):
            work = str(self.folder.executors / f"worker-{number}")
            room = ["--cores", str(self.sizes.cores), "--memory", self.sizes.memory]
            self._spawn(f"worker-{number}", f"{DEPLOY}.worker.Worker", *room, "--work-dir", work, master)
        self._children.until(lambda: self._all_registered(web), deadline, "not all workers have registered")
        self._state = replace(self._state, master=master, web=web)
        self.folder.write(self._state)

    def collect(self) -> bool:
        return self._children.collect()

    def end(self) -> None:
        self._children.end(GRACE_S)

    def _spawn(self, name: str, main: str, *arguments: str) -> None:
        settings = ["--host", LOOPBACK, "--webui-port", "0", "--properties-file", str(self.folder.daemon_file)]
        self._children.spawn(
            name,
            [f"{self.environment['SPARK_HOME']}/bin/spark-class", main, *settings, *arguments],
            log=self.folder.logs / f"{name}.log",
            folder=self.folder.path,
            environment=self.environment,
        )
        self._state = replace(self._state, daemons=dict(self._children.named))
        self.folder.write(self._state)

    def _addresses(self) -> tuple[str, str] | None:
        log = (self.folder.logs / "master.log").read_text(errors="replace")
        master, web = MASTER_LINE.search(log), WEB_LINE.search(log)
        return (master[1], web[1]) if master and web else None

    def _all_registered(self, web: str) -> bool | None:
        page = master_page(web, self._children.named["master"], page_key(self.folder))
        return alive_workers(page) >= self.sizes.workers or None


def describe(
    folder: ClusterFolder,
    pause: Pause,
    *,
    workers: int,
    cores: int,
    memory: str,
    daemon_memory: str,
    patience_s: float,
    spark_home: str,
    java_home: str,
    environment: Mapping[str, str],
) -> MasterAndWorkers:
    """What `cluster` wants, in the supervisor."""
    variables = daemon_environment(
        folder, environment, spark_home=spark_home, java_home=java_home, memory=daemon_memory
    )
    return MasterAndWorkers(folder, Sizes(workers=workers, cores=cores, memory=memory), variables, patience_s, pause)


if __name__ == "__main__":
    main(ClusterFolder, describe)
