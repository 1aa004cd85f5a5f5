"""Scripts that know nothing of Elastream, under `elastream run` and under spark-submit: they notice nothing."""

import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from elastream.daemons.java import java_home
from elastream.daemons.processes import descendants, process
from elastream.development.cluster.folder import ClusterFolder
from elastream.development.cluster.local_cluster import LocalCluster, spark_home
from elastream.launch import LAUNCHER
from tests.spark.driving import SHORT_LIVED

pytestmark = pytest.mark.needs("spark")

RUN = [sys.executable, "-m", "elastream", "run"]
QUICK = ["--executors", "1:2", "--set", "tick_s=1", "--policy", "lag-proportional(interval=2s, window=4s)"]
SMALL = shlex.join(
    word
    for key, value in {
        **SHORT_LIVED,
        "spark.executor.memory": "512m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
    }.items()
    for word in ("--conf", f"{key}={value}")
)
# A fail-safe; nothing waits for it on a machine that has time.
PATIENCE_S = 600.0

# A function and a class of its own, arguments, a session beside the first one, a session after it, and an exit code.
SCRIPT = """
import sys
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
from pyspark.sql.types import LongType

class Scale:
    def __init__(self, by):
        self.by = by

    def __call__(self, value):
        return value * self.by

scale = Scale(int(sys.argv[1]))
seen = []

@udf(LongType())
def scaled(value):
    return scale(int(value))

def keep(frame, batch):
    seen.extend(row[0] for row in frame.collect())

if __name__ == "__main__":
    folder = sys.argv[2]
    spark = SparkSession.builder.appName("scaling").getOrCreate()
    spark.range(100).selectExpr("cast(id as string)").coalesce(1).write.text(f"{folder}/in")
    lines = spark.newSession().readStream.text(f"{folder}/in")
    writer = lines.select(scaled(lines.value)).writeStream.foreachBatch(keep)
    query = writer.option("checkpointLocation", f"{folder}/checkpoint").start()
    query.processAllAvailable()
    query.stop()
    print(len(seen), sum(seen), spark.conf.get("spark.sql.shuffle.partitions"), sys.argv)
    spark.stop()
    print(SparkSession.builder.appName("again").getOrCreate().range(10).count())
    sys.exit(3)
"""


def environment(arguments: str, **more: str) -> dict[str, str]:
    """For a driver of its own; `arguments` are those of spark-submit."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("ELASTREAM_", "SPARK", "PYSPARK"))}
    return {
        **kept,
        "JAVA_HOME": str(java_home().path),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"{arguments} {SMALL} pyspark-shell",
        **more,
    }


def on(cluster: LocalCluster) -> str:
    return shlex.join(["--properties-file", str(ClusterFolder(path=cluster.folder).driver_file)])


def done(
    command: list[str], folder: Path, variables: Mapping[str, str]
) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """How a command ended, and what we had to say meanwhile."""
    ended = subprocess.run(
        command, cwd=folder, env=dict(variables), capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return ended, [line for line in ended.stderr.splitlines() if line.startswith("elastream: ")]


def test_a_script_with_a_function_of_its_own_prints_and_ends_as_with_plain_python(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    for name in ("ours", "theirs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "app.py").write_text(SCRIPT)
    # By its address alone: whose cluster it is, and where its secret lies, is found out.
    ours, told = done(
        [*RUN, *QUICK, "--master", cluster.master, "app.py", "3", "."], tmp_path / "ours", environment("")
    )
    local = environment("--master local[2]")
    theirs, _ = done([sys.executable, "app.py", "3", "."], tmp_path / "theirs", local)
    assert theirs.stdout.splitlines() == ["100 14850 200 ['app.py', '3', '.']", "10"]
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout) == (3, theirs.stdout)
    begun = [line for line in told if "lag-proportional decides on 1..2 executors of" in line]
    assert ["scaling" in begun[0], "again" in begun[1], len(begun)] == [True, True, 2]
    assert told[-1].startswith("elastream: ")
    assert "looks" in told[-1]


def test_a_wrong_secret_is_one_line_and_not_a_minute_of_sasl(cluster: LocalCluster, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate()\nprint('went on')\n"
    )
    (tmp_path / "my.conf").write_text(
        f"spark.master {cluster.master}\nspark.authenticate true\nspark.authenticate.secret wrong\n"
    )
    ended, told = done([*RUN, "--properties-file", "my.conf", "app.py"], tmp_path, environment(""))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "the driver's secret is not the cluster's" in told[0]
    assert "Sasl" not in ended.stderr


def test_a_local_master_in_the_script_is_refused_and_nothing_is_started(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[2]').getOrCreate()\n"
        "print('went on')\n"
    )
    ended, told = done([*RUN, "app.py"], tmp_path, environment(""))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.splitlines() == told
    assert told[0].startswith("elastream: app.py: master local[2] has no executors that could come and go; give a")


def test_through_spark_submit_settings_are_properties_and_stdout_is_the_scripts(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(
        "import sys, time\n"
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.getOrCreate()\n"
        "stream = spark.readStream.format('rate').load().writeStream.format('noop').queryName('rated')\n"
        "query = stream.start()\n"
        "while not query.recentProgress:\n"
        "    time.sleep(0.2)\n"
        "query.stop()\n"
        "print(spark.sparkContext.appName, sys.argv[1:], spark.sparkContext.getConf().get('spark.cores.max'))\n"
    )
    settings = {"executors.max": "2", "tick_s": "1", "guards.pause.mode": "dry-run"}
    # What would wait longer than this script lives.
    settings |= {"guards.start": "false", "guards.hysteresis": "false"}
    conf = [word for key, value in settings.items() for word in ("--conf", f"spark.elastream.{key}={value}")]
    submit = [str(spark_home() / "bin" / "spark-submit"), *shlex.split(f"{on(cluster)} {SMALL}"), *conf]
    variables = environment("")
    del variables["PYSPARK_SUBMIT_ARGS"]
    ended, told = done([*submit, str(LAUNCHER), "app.py", "--its", "own"], tmp_path, variables)
    assert (ended.returncode, ended.stdout) == (0, "app.py ['--its', 'own'] 2\n")
    assert "foresight decides on 1..2 executors of app.py" in told[0]
    assert any("pause: dry-run: would have changed executors 2 -> 1" in line for line in told)
    assert told[-1].startswith("elastream: 0 changes, ")


@contextmanager
def words() -> Iterator[int]:
    """A port that sends words to whoever connects."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def feed(connection: socket.socket) -> None:
            with suppress(OSError), connection:
                while True:
                    connection.sendall(b"to be or not to be\n")
                    time.sleep(0.1)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=feed, args=(connection,), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]


@pytest.mark.full
def test_a_socket_word_count_is_held_because_its_lag_is_unknown_and_an_interrupt_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    examples = spark_home() / "examples" / "src" / "main" / "python" / "sql" / "streaming"
    script = examples / "structured_network_wordcount.py"
    # Nobody names a master, so that the cluster is one of its own.
    log = tmp_path / "stderr"
    with words() as port, log.open("wb") as stderr:
        conf = ["--memory", "512m", "--conf", "spark.sql.shuffle.partitions=2"]
        driver = subprocess.Popen(
            [*RUN, *QUICK, *conf, str(script), "127.0.0.1", str(port)],
            cwd=tmp_path,
            env=environment(""),
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            start_new_session=True,
        )
        with driver:
            try:
                _wait_for_text(log, driver, "does not tell how much has arrived")
                family = [found for pid in descendants(driver.pid) if (found := process(pid)) is not None]
                os.killpg(driver.pid, signal.SIGINT)
                out, _ = driver.communicate(timeout=PATIENCE_S)
            finally:
                driver.kill()
    assert driver.returncode == -signal.SIGINT
    assert "Batch: 0" in out
    assert "elastream" not in out
    told = log.read_text()
    assert "elastream: no master is named: starting a cluster on this machine, with room for 2 executors" in told
    assert "watched only, executors are not changed for its lag: TextSocketMicroBatchStream does not tell" in told
    assert " held: arrival rate of " in told
    assert "KeyboardInterrupt" in told
    # Master, workers, executors and the supervisor were there, and are gone.
    assert len(family) >= 5
    assert [member.pid for member in family if not member.wait(PATIENCE_S)] == []


def _wait_for_text(log: Path, driver: subprocess.Popen[str], text: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while text not in log.read_text(errors="replace"):
        assert driver.poll() is None, log.read_text()
        assert time.monotonic() < until_s, log.read_text()
        time.sleep(0.2)
