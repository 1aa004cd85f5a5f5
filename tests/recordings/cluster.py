"""A small standalone cluster out of the pyspark wheel, on loopback."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests.recordings.workloads import Workload

LOOPBACK = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def write_settings(folder: Path) -> None:
    """Settings of the daemons and the driver; in a file, since a secret on a command line can be read by anyone."""
    settings = {
        "spark.authenticate": "true",
        "spark.authenticate.secret": secrets.token_hex(32),
        "spark.master.rest.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
        # The only memory of a whole process that an executor reports to its driver.
        "spark.executor.processTreeMetrics.enabled": "true",
        "spark.decommission.enabled": "true",
        "spark.storage.decommission.enabled": "true",
        "spark.scheduler.maxRetainedRemovedDecommissionExecutors": "20",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # A look reads all stages that are kept, and needs no more than those since the last look.
        "spark.ui.retainedStages": "60",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        # Ending executors on purpose makes Spark log pages of warnings.
        "spark.log.level": "OFF",
    }
    conf = folder / "conf"
    conf.mkdir(mode=0o700)
    (conf / "spark-defaults.conf").write_text("\n".join(f"{key} {value}" for key, value in settings.items()))


def settle_environment(folder: Path) -> None:
    os.environ |= {
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
        "TZ": "UTC",
    }


@contextmanager
def cluster(folder: Path, *, workers: int, cores: int) -> Iterator[str]:
    """A standalone cluster out of the pyspark wheel; gives its address, and ends its processes whatever happens."""
    write_settings(folder)
    settle_environment(folder)
    start = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    port = free_port()
    address = f"spark://{LOOPBACK}:{port}"
    deploy = "org.apache.spark.deploy"
    where = ["--host", LOOPBACK, "--webui-port", "0"]
    commands = [[start, f"{deploy}.master.Master", *where, "--port", str(port)]]
    room = ["--cores", str(cores), "--memory", f"{cores * 600}m", "--work-dir", str(folder / "executors")]
    commands += [[start, f"{deploy}.worker.Worker", *where, *room, address]] * workers
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            log = (folder / f"daemon-{len(daemons)}.log").open("w")
            daemons.append(subprocess.Popen(command, stdout=log, stderr=log))
        yield address
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(timeout=30)


@contextmanager
def session(address: str, workload: Workload) -> Iterator[SparkSession]:
    """An application of its own for every recording, so that ids begin anew."""
    builder = SparkSession.builder.master(address).appName(workload.name)
    builder = builder.config("spark.cores.max", workload.most_executors)
    for key, value in workload.settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def wait_until(true: Callable[[], bool], *, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not so after {seconds:.0f} s")
        time.sleep(0.05)
