"""How master and workers are set up, closed to the network and to other users, and what a driver has to know."""

import base64
import secrets
import shlex
import sys
from collections.abc import Mapping

from elastream.daemons.ports import LOOPBACK
from elastream.daemons.private_folder import write_private
from elastream.development.cluster.folder import SECRET, ClusterFolder

# Comes with Spark 4, and shows a page only to those who sign their request.
PAGE_FILTER = "org.apache.spark.ui.JWSFilter"
PAGE_KEY = f"spark.{PAGE_FILTER}.param.secretKey"
# One thread for collecting, since many JVMs share few cores, and no file in /tmp that a kill would leave there.
JAVA_OPTIONS = "-XX:+UseSerialGC -XX:-UsePerfData"
# Master, workers and the JVM that only builds the command of another do little, and start in half the time without the
# compiler for long runs. Executors keep it.
LITTLE_WORK = "-XX:TieredStopAtLevel=1"

# Addresses are read from the log of the master, hence a form of our own. Executors follow this file too.
LOG4J = """\
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{yy/MM/dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.deploy.name = org.apache.spark.deploy
logger.deploy.level = info
"""


def write_daemon_settings(folder: ClusterFolder) -> None:
    """Into a file, with new secrets: what stands on a command line, everyone on the machine can read."""
    settings = {
        "spark.authenticate": "true",
        SECRET: secrets.token_hex(32),
        # It would run what anyone sends it.
        "spark.master.rest.enabled": "false",
        # Every user of the machine could end applications and workers on the page.
        "spark.ui.killEnabled": "false",
        "spark.master.ui.decommission.allow.mode": "DENY",
        # Every user of the machine could read there what executors print.
        "spark.ui.filters": PAGE_FILTER,
        PAGE_KEY: base64.urlsafe_b64encode(secrets.token_bytes(32)).decode().rstrip("="),
    }
    write_private(folder.daemon_file, properties(settings))
    (folder.conf / "log4j2.properties").write_text(LOG4J)


def write_driver_settings(folder: ClusterFolder, master: str) -> None:
    """Once the address is known."""
    daemon = read_properties(folder.read_file(folder.daemon_file))
    settings = {
        "spark.master": master,
        "spark.authenticate": "true",
        SECRET: daemon[SECRET],
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        # The driver's page is open to every user of the machine, who could end jobs and stages there.
        "spark.ui.killEnabled": "false",
        # Each look at it makes an executor collect all of its garbage.
        "spark.ui.heapHistogramEnabled": "false",
        "spark.pyspark.python": sys.executable,
        # Goes before the options that a user gives, and so leaves them alone.
        "spark.executor.defaultJavaOptions": java_options(folder),
    }
    write_private(folder.driver_file, properties(settings))


def page_key(folder: ClusterFolder) -> str:
    """What the pages of master and workers are shown for."""
    return read_properties(folder.read_file(folder.daemon_file))[PAGE_KEY]


def daemon_environment(
    folder: ClusterFolder, given: Mapping[str, str], *, spark_home: str, java_home: str, memory: str
) -> dict[str, str]:
    """Variables of the user, except those that would set up our daemons as another Spark is set up."""
    ours = ("SPARK_", "_SPARK_", "PYSPARK_")
    return {name: value for name, value in given.items() if not name.startswith(ours)} | {
        "JAVA_HOME": java_home,
        "SPARK_HOME": spark_home,
        "SPARK_CONF_DIR": str(folder.conf),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_PUBLIC_DNS": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(folder.scratch),
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_DAEMON_JAVA_OPTS": f"{java_options(folder)} {LITTLE_WORK}",
        "SPARK_LAUNCHER_OPTS": f"{JAVA_OPTIONS} {LITTLE_WORK}",
        "TMPDIR": str(folder.temporary),
    }


def java_options(folder: ClusterFolder) -> str:
    return f"{JAVA_OPTIONS} {shlex.quote(f'-Djava.io.tmpdir={folder.temporary}')}"


def properties(settings: Mapping[str, str]) -> str:
    """In the form of spark-defaults.conf, where a backslash begins an escape."""
    return "".join(f"{key} {value}\n".replace("\\", "\\\\") for key, value in settings.items())


def read_properties(text: str) -> dict[str, str]:
    """What `properties` has written."""
    return dict(line.replace("\\\\", "\\").split(" ", 1) for line in text.splitlines())
