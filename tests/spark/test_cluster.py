"""A real cluster: it runs a job, is closed to others, and leaves nothing behind however it ends."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from elastream.cli import main
from elastream.core.errors import CannotRun
from elastream.daemons.processes import Process, command_line, descendants, process
from elastream.daemons.state_folder import remove_if_left
from elastream.development.cluster.daemon_settings import page_key
from elastream.development.cluster.folder import ClusterFolder
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from elastream.development.cluster.status import token
from elastream.spark.admission import require_admission
from tests.spark.driving import SHORT_LIVED, driver
from tests.spark.sockets import LOOPBACKS, listening
from tests.users import begin_as_nobody

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.needs("spark")

SMALL = ClusterSettings(workers=1, cores=1, memory="1g")

# Has a cluster, and if asked for an executor with a Python worker in it; then waits to be ended from outside.
HOLDER = """
import signal, sys
from elastream.spark.admission import require_admission
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster

with LocalCluster(ClusterSettings(workers=1, cores=1, memory="1g")) as cluster:
    if "executor" in sys.argv:
        from pyspark.sql import SparkSession

        small = {**cluster.settings_for_driver(), "spark.executor.memory": "512m", "spark.ui.enabled": "false"}
        small |= dict(setting.split("=", 1) for setting in sys.argv[2:])
        context = SparkSession.builder.config(map=small).getOrCreate().sparkContext
        assert context.parallelize([1, 2], 1).map(lambda number: number + 1).sum() == 5
    print(cluster.folder, flush=True)
    signal.pause()
"""


def holder(temporary: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, *arguments, *("=".join(pair) for pair in SHORT_LIVED.items())],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def read_folder(held: subprocess.Popen[str]) -> Path:
    assert held.stdout is not None
    folder = Path(held.stdout.readline().strip())
    assert (folder / "cluster.json").exists()
    return folder


def all_below(pid: int) -> dict[int, Process]:
    return {below: found for below in descendants(pid) if (found := process(below)) is not None}


def executor_pids(cluster: LocalCluster) -> list[int]:
    return [pid for pid in descendants(cluster.pids["supervisor"]) if "--executor-id" in command_line(pid)]


def assert_all_end(processes: dict[int, Process]) -> None:
    deadline = time.monotonic() + 60
    left = {pid: command_line(pid) for pid, one in processes.items() if not one.wait(deadline - time.monotonic())}
    assert not left


@pytest.fixture(scope="module")
def spark(cluster: LocalCluster) -> Iterator[SparkSession]:
    with driver(cluster, executors=2, settings={"spark.ui.enabled": "true", "spark.ui.port": "0"}) as spark:
        # Executors are registered before they listen; tasks that begin together have run on both.
        spark.sparkContext.parallelize(range(2), 2).barrier().mapPartitions(list).collect()
        yield spark


def test_a_job_runs_on_two_executors(spark: SparkSession, cluster: LocalCluster) -> None:
    numbers = spark.sparkContext.parallelize(range(100), 4)
    assert numbers.map(lambda number: number + 1).sum() == 5050
    assert len(executor_pids(cluster)) == 2


def test_every_process_listens_on_loopback_only(spark: SparkSession, cluster: LocalCluster) -> None:
    ours = [os.getpid(), *descendants(os.getpid())]
    assert set(cluster.pids.values()) <= set(ours)
    found = {pid: listening(pid) for pid in ours}
    for daemon in ("master", "worker-1", "worker-2"):
        assert len(found[cluster.pids[daemon]]) == 2, "the one that Spark calls, and the page"
    assert all(len(found[pid]) == 1 for pid in executor_pids(cluster))
    addresses = {address for sockets in found.values() for address, _ in sockets}
    assert addresses <= LOOPBACKS


def test_the_secret_is_in_private_files_and_on_no_command_line(spark: SparkSession, cluster: LocalCluster) -> None:
    secret, key = (
        cluster.settings_for_driver()["spark.authenticate.secret"],
        page_key(ClusterFolder(path=cluster.folder)),
    )
    assert (len(secret), len(key)) == (64, 43)
    for text, files in ((secret, {"daemon.conf", "driver.conf"}), (key, {"daemon.conf"})):
        assert not [pid for pid in descendants(os.getpid()) if text in " ".join(command_line(pid))]
        holding = [path for path in cluster.folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]
        assert {path.name for path in holding} == files
        assert {path.stat().st_mode & 0o777 for path in holding} == {0o600}
    assert cluster.folder.stat().st_mode & 0o777 == 0o700


def knock(spark: SparkSession, cluster: LocalCluster, change: dict[str, str]) -> None:
    """As a driver with these settings would."""
    jvm: Any = spark.sparkContext._jvm
    conf = jvm.org.apache.spark.SparkConf(False)
    for key, value in {**cluster.settings_for_driver(), **change}.items():
        conf.set(key, value)
    require_admission(jvm, conf, patience_s=0)


def test_who_has_the_secret_reaches_the_master(spark: SparkSession, cluster: LocalCluster) -> None:
    knock(spark, cluster, {})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"spark.authenticate.secret": "0" * 64}, "the driver's secret is not the cluster's"),
        ({"spark.authenticate": "false"}, "it wants a secret"),
        ({"spark.master": "spark://127.0.0.1:1"}, "no master answers there"),
    ],
)
def test_who_has_not_the_secret_is_told_so_in_a_line(
    spark: SparkSession, cluster: LocalCluster, change: dict[str, str], told: str
) -> None:
    with pytest.raises(CannotRun, match=told):
        knock(spark, cluster, change)


def asked(requests: list[tuple[str, str]], key: str | None = None) -> list[tuple[int, str]]:
    """What pages answer to somebody, with the key or without it: status and text."""
    answers = []
    for method, url in requests:
        host, _, path = url.removeprefix("http://").partition("/")
        line = http.client.HTTPConnection(host, timeout=60)
        line.request(method, f"/{path}", headers={"Authorization": f"Bearer {token(key, time.time())}"} if key else {})
        answer = line.getresponse()
        answers.append((answer.status, answer.read().decode()))
        line.close()
    return answers


def asked_by_nobody(requests: list[tuple[str, str]]) -> list[tuple[int, str]]:
    """The same, to another user of the machine."""
    reading, writing = os.pipe()

    def ask() -> None:
        with os.fdopen(writing, "w") as answers:
            json.dump(asked(requests), answers)

    child = begin_as_nobody(ask)
    os.close(writing)
    with os.fdopen(reading) as said:
        answers = [(status, text) for status, text in json.load(said)]
    os.waitpid(child, 0)
    return answers


@pytest.mark.needs("users")
def test_another_user_ends_no_job_and_reads_no_output_on_any_page(spark: SparkSession, cluster: LocalCluster) -> None:
    secret = "what nobody else may read"

    def work(number: int) -> int:
        sys.stderr.write(f"{secret}\n")
        time.sleep(3)
        return number

    context = spark.sparkContext
    driver, application = context.uiWebUrl, context.applicationId
    assert driver is not None
    master = json.loads((cluster.folder / "cluster.json").read_text())["web"]
    workers = [worker["webuiaddress"] for worker in cluster.page()["workers"]]
    with ThreadPoolExecutor(1) as pool:
        total = pool.submit(lambda: context.parallelize([1, 2], 2).map(work).sum())
        tracker = context.statusTracker()
        until_s = time.monotonic() + 60
        while not (tracker.getActiveJobsIds() and tracker.getActiveStageIds()):
            assert time.monotonic() < until_s
            time.sleep(0.01)
        end = [
            f"{driver}/jobs/job/kill/?id={tracker.getActiveJobsIds()[0]}&terminate=true",
            f"{driver}/stages/stage/kill/?id={tracker.getActiveStageIds()[0]}&terminate=true",
            f"{master}/app/kill/?id={application}&terminate=true",
            f"{master}/workers/kill/?host=127.0.0.1",
        ]
        names = [f"appId={application}&executorId={number}&logType=stderr" for number in (0, 1)]
        logs = [f"{worker}/{kind}/?{name}" for worker in workers for kind in ("log", "logPage") for name in names]
        read = [f"{master}/", f"{master}/json/", *(f"{worker}/" for worker in workers), *logs]
        requests = [("POST", url) for url in end] + [("GET", url) for url in (*end, *read)]
        answers = asked_by_nobody(requests)
        assert total.result(60) == 3
    shown = asked([("GET", url) for url in logs], page_key(ClusterFolder(path=cluster.folder)))
    assert sum(secret in text for _, text in shown) == 4, "each log on both kinds of page, for those who have the key"
    assert not [text for _, text in answers if secret in text]
    of_daemons = [status for (_, url), (status, _) in zip(requests, answers, strict=True) if driver not in url]
    assert set(of_daemons) == {http.client.FORBIDDEN}


def test_nothing_is_left_after_an_exception(cluster: LocalCluster) -> None:
    before = dict(os.environ)
    seen: list[Path | Process | None] = []

    def fail() -> None:
        with LocalCluster(SMALL) as own:
            assert own.master != cluster.master
            seen.extend([own.folder, *(process(pid) for pid in own.pids.values())])
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fail()
    folder, *processes = seen
    assert isinstance(folder, Path)
    assert not folder.exists()
    assert len(processes) == 3
    assert not [one for one in processes if not isinstance(one, Process) or one.is_running]
    assert os.environ == before


def test_nothing_is_left_after_an_interrupt(tmp_path: Path) -> None:
    with holder(tmp_path) as held:
        folder = read_folder(held)
        processes = all_below(held.pid)
        held.send_signal(signal.SIGINT)
        held.wait(60)
    assert held.returncode == -signal.SIGINT
    assert not [one for one in processes.values() if one.is_running]
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_an_interrupt_while_it_starts(tmp_path: Path) -> None:
    with holder(tmp_path) as held:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*/log/master.log")) and time.monotonic() < deadline:
            time.sleep(0.01)
        processes = all_below(held.pid)
        held.send_signal(signal.SIGINT)
        held.wait(60)
    assert processes
    assert not [one for one in processes.values() if one.is_running]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_its_owner_was_killed(tmp_path: Path) -> None:
    with holder(tmp_path, "executor") as held:
        folder = read_folder(held)
        processes = all_below(held.pid)
        assert [pid for pid in processes if "pyspark.daemon" in command_line(pid)], "an executor with a Python worker"
        held.kill()
        held.wait(60)
    assert_all_end(processes)
    assert not folder.exists()


@pytest.mark.full
def test_no_process_is_left_after_its_keeper_was_killed_and_the_next_cluster_removes_the_folder(tmp_path: Path) -> None:
    with holder(tmp_path, "executor") as held:
        folder = ClusterFolder(path=read_folder(held))
        state = folder.read()
        assert state is not None
        processes = all_below(state.supervisor.pid)
        assert state.supervisor.send(signal.SIGKILL)
        assert_all_end(processes)
        held.kill()
        held.wait(60)
    remove_if_left(folder)
    assert not folder.path.exists()


def test_a_cluster_that_stays_is_started_shown_and_stopped_by_commands(
    cluster: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a cluster"
    where = ["--folder", str(folder)]

    def told(*arguments: str) -> str:
        assert main(["cluster", *arguments, *where]) == 0
        return capsys.readouterr().out

    started = json.loads(told("up", "--workers", "1", "--cores", "1", "--memory", "1g", "--json"))
    try:
        assert started["started"]
        assert started["master"] != cluster.master
        shown = json.loads(told("status", "--json"))
        assert shown["up"]
        assert shown["workers"] == {"wanted": 1, "alive": 1}
        assert [one["name"] for one in shown["processes"] if one["running"]] == ["supervisor", "master", "worker-1"]
        assert told("up").startswith(f"already up: {started['master']}")
        assert "processes: supervisor" in told("status")
    finally:
        assert "are gone" in told("down")
    assert not [one for one in started["processes"] if process(one["pid"])]
    assert not folder.exists()
    assert "nothing to stop" in told("down")
    assert told("status").startswith("no cluster in")
