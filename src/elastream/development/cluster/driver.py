"""What a driver of this process needs in order to join a cluster of one's own, without showing the secret to anyone.

pyspark starts the driver's JVM with every setting of the session on its command line, where each user of the machine
can read it. So the secret goes through a file that spark-submit reads, named in PYSPARK_SUBMIT_ARGS. Once the JVM runs,
settings reach it through py4j, and the secret can be one of them.
"""

import os
import shlex
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from elastream.daemons.java import java_home
from elastream.daemons.ports import LOOPBACK
from elastream.development.cluster.daemon_settings import read_properties
from elastream.development.cluster.folder import DRIVER_FILE, SECRET, ClusterError, ClusterFolder

SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"


class DriverEnvironment:
    """Variables that this process and the JVM it starts need, put back at the end."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}

    def set(self, name: str, value: str) -> None:
        self._before.setdefault(name, os.environ.get(name))
        os.environ[name] = value

    def restore(self, *names: str) -> None:
        """Those that were set, or all of them."""
        for name in [name for name in self._before if not names or name in names]:
            value = self._before.pop(name)
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def settings_for_driver(folder: ClusterFolder, environment: DriverEnvironment) -> dict[str, str]:
    """For `builder.config(map=...)` in this process; to be asked for just before the session is made."""
    try:
        settings = read_properties(folder.read_file(folder.driver_file))
    except OSError as wrong:
        raise ClusterError(f"{folder.driver_file}: cannot be read: {wrong.strerror}; is the cluster up?") from wrong
    environment.set("SPARK_LOCAL_IP", LOOPBACK)
    # Python workers are to be of the version and to see the packages of the driver.
    environment.set("PYSPARK_PYTHON", os.environ.get("PYSPARK_PYTHON") or sys.executable)
    gateway = running_gateway()
    if gateway is None:
        environment.set("JAVA_HOME", str(java_home().path))
        environment.set(SUBMIT_ARGS, with_properties(os.environ.get(SUBMIT_ARGS, ""), folder.driver_file))
        del settings[SECRET]
        return settings
    # It has been read: other processes that we start need not join the cluster.
    environment.restore(SUBMIT_ARGS)
    if gateway.jvm.System.getenv("SPARK_LOCAL_IP") != LOOPBACK:
        # The JVM was started without us, and its page would be open to the network.
        settings["spark.ui.enabled"] = "false"
    return settings


def running_gateway() -> Any:
    """The way to the JVM of this process, if it has been started."""
    context = getattr(sys.modules.get("pyspark"), "SparkContext", None)
    return getattr(context, "_gateway", None)


def with_properties(arguments: str, file: Path) -> str:
    """Arguments of spark-submit that also read the file; what a cluster before this one had put there is replaced."""
    given = shlex.split(arguments) or ["pyspark-shell"]
    # Without it, a file that is named stands in for spark-defaults.conf; before Spark 4 there is no other way.
    defaults = ["--load-spark-defaults"] if int(version("pyspark").split(".")[0]) >= 4 else []
    if given[0] == "--properties-file" and Path(given[1]).name == DRIVER_FILE:
        given = given[2 + len(defaults) :]
    return shlex.join(["--properties-file", str(file), *defaults, *given])
