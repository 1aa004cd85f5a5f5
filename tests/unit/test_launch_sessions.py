"""Sessions of launched scripts, with a pyspark of a few lines: what is set, what is refused, what is survived."""

import json
import os
from ast import literal_eval
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from elastream.attachment import Attachment
from elastream.config import Settings
from elastream.core.errors import CannotRun
from elastream.development.cluster.daemon_settings import write_daemon_settings, write_driver_settings
from elastream.development.cluster.folder import ClusterFolder
from elastream.launch.orders import LaunchOrders
from elastream.launch.sessions import Refused, Sessions
from tests.unit.launching import launched, make_pyspark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHOW = """
import sys
from pyspark.sql import SparkSession
builder = SparkSession.builder
{more}
spark = builder.getOrCreate()
print(sorted(spark.sparkContext.getConf().getAll()))
"""
SECOND = """
spark.stop()
print(sorted(builder.getOrCreate().sparkContext.getConf().getAll()))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_pyspark(tmp_path)
    return tmp_path


def show(folder: Path, more: str = "") -> None:
    (folder / "app.py").write_text(SHOW.format(more=more))


def settings(printed: str) -> dict[str, str]:
    return dict(literal_eval(printed))


def test_what_elastic_executors_need_is_set_where_the_script_did_not(folder: Path) -> None:
    show(folder, "builder.config('spark.locality.wait', '2s').config('spark.executor.cores', '2')")
    done = launched(folder, "--set", "executors.max=6", "--conf", "spark.master=spark://host:7077", "app.py")
    found = settings(done.stdout)
    assert found["spark.locality.wait"] == "2s"
    assert found["spark.cores.max"] == "12"
    assert found["spark.decommission.enabled"] == "true"
    assert found["spark.dynamicAllocation.enabled"] == "false"


def test_the_partitions_that_a_checkpoint_would_keep_are_left_alone(folder: Path) -> None:
    show(folder)
    done = launched(folder, "--conf", "spark.master=spark://host:7077", "app.py")
    assert "spark.sql.shuffle.partitions" not in settings(done.stdout)


@pytest.mark.parametrize(
    ("more", "draws"), [("", "false"), ("builder.config('spark.ui.showConsoleProgress', 'true')", "true")]
)
def test_where_json_is_wanted_spark_draws_no_progress_unless_the_script_says_so(
    more: str, draws: str, folder: Path
) -> None:
    show(folder, more)
    done = launched(folder, "--set", "log.format=json", "--conf", "spark.master=spark://host:7077", "app.py")
    assert settings(done.stdout)["spark.ui.showConsoleProgress"] == draws
    assert all(json.loads(line)["event_name"] == "elastream.message" for line in done.stderr.splitlines())


def test_what_the_command_line_says_wins_over_the_script(folder: Path) -> None:
    show(folder, "builder.master('local[*]').config('spark.executor.memory', '1g')")
    conf = ["--conf", "spark.master=spark://host:7077", "--conf", "spark.executor.memory=3g"]
    found = settings(launched(folder, *conf, "app.py").stdout)
    assert (found["spark.master"], found["spark.executor.memory"]) == ("spark://host:7077", "3g")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (
            "builder.master('local[2]')",
            "app.py: master local[2] has no executors that could come and go; give a cluster",
        ),
        ("builder.remote('sc://host')", "app.py: Spark Connect has no driver to attach to"),
        (
            "builder.master('spark://host:1').config('spark.dynamicAllocation.enabled', 'true')",
            "app.py: spark.dynamicAllocation.enabled is true: Spark would undo every change",
        ),
        (
            "builder.master('spark://host:1').config('spark.decommission.enabled', 'false')",
            "app.py: spark.decommission.enabled is false: executors could only be killed",
        ),
        (
            "builder.master('spark://host:1').config('spark.elastream.polcy', 'fixed')",
            "app.py: spark.elastream.polcy: no setting 'polcy'; did you mean 'policy'?",
        ),
        ("from pyspark import SparkContext\nSparkContext('local', 'direct')", "app.py: master local has no executors"),
    ],
)
def test_what_cannot_work_is_refused_in_one_line_before_a_session_exists(more: str, told: str, folder: Path) -> None:
    show(folder, more)
    done = launched(folder, "app.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"elastream: {told}")
    assert done.stderr.count("\n") == 1


def test_a_refusal_is_not_overlaid_by_what_the_script_makes_of_it(folder: Path) -> None:
    show(folder, "builder.master('local[2]')")
    guarded = (folder / "app.py").read_text().replace("spark = builder", "try:\n    spark = builder")
    (folder / "app.py").write_text(guarded.split("print(")[0] + "finally:\n    spark.stop()\n")
    done = launched(folder, "app.py")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_in_a_thread_a_refusal_ends_the_whole_script(folder: Path) -> None:
    (folder / "app.py").write_text(
        "import threading, time\n"
        "from pyspark.sql import SparkSession\n"
        "threading.Thread(target=SparkSession.builder.master('local').getOrCreate).start()\n"
        "time.sleep(60)\n"
    )
    assert launched(folder, "app.py").returncode == 2


def test_where_elastream_is_switched_off_the_script_runs_as_it_is(folder: Path) -> None:
    show(folder, "builder.master('local[2]').config('spark.elastream.enabled', 'false')")
    done = launched(folder, "app.py")
    assert done.returncode == 0
    assert settings(done.stdout) == {"spark.master": "local[2]", "spark.elastream.enabled": "false"}
    assert done.stderr == "elastream: spark.elastream.enabled is false: executors stay as they are\n"


def test_an_application_that_cannot_be_watched_goes_on_without_us(folder: Path) -> None:
    # There is no JVM behind this pyspark, so that the first look fails.
    show(folder, "builder.master('spark://host:7077')")
    done = launched(folder, "app.py")
    assert done.returncode == 0
    assert "spark.master" in done.stdout
    assert done.stderr.endswith("; the application goes on with the executors it has\n")
    assert done.stderr.count("\n") == 1


def test_a_master_in_the_environment_counts_as_named(folder: Path) -> None:
    show(folder)
    done = launched(folder, "app.py", PYSPARK_SUBMIT_ARGS="--master local[3] pyspark-shell")
    assert done.returncode == 2
    assert "master local[3] has no executors" in done.stderr


def test_settings_outside_that_cannot_be_read_do_not_keep_the_script_from_running(folder: Path) -> None:
    show(folder, "builder.master('spark://host:7077')")
    done = launched(folder, "app.py", PYSPARK_SUBMIT_ARGS="--conf 'open")
    assert done.returncode == 0
    assert done.stderr.startswith("elastream: ValueError: No closing quotation; the application goes on")


def test_a_second_session_gets_the_same_settings_as_the_first(folder: Path) -> None:
    show(folder, "builder.master('spark://host:7077')")
    (folder / "app.py").write_text((folder / "app.py").read_text() + SECOND)
    first, second = launched(folder, "app.py").stdout.splitlines()
    assert first == second


SUBMITTED = """
import os
from pyspark import SparkContext
inner = SparkContext._initialize_context
def show(context, conf):
    print(os.environ.get("PYSPARK_SUBMIT_ARGS"))
    return inner(context, conf)
SparkContext._initialize_context = show
"""


def test_the_secret_of_a_cluster_reaches_the_driver_in_a_file_and_nowhere_else(folder: Path) -> None:
    cluster = ClusterFolder(path=folder / "cluster")
    cluster.make()
    cluster.make_parts()
    write_daemon_settings(cluster)
    write_driver_settings(cluster, "spark://127.0.0.1:1")
    show(folder, f"{SUBMITTED}builder.master('local[2]')")
    done = launched(folder, "--cluster", str(cluster.path), "--conf", "spark.master=spark://127.0.0.1:1", "app.py")
    submitted, conf = done.stdout.splitlines()
    assert submitted.startswith(f"--properties-file {cluster.driver_file} ")
    found = settings(conf)
    assert (found["spark.master"], found["spark.driver.host"]) == ("spark://127.0.0.1:1", "127.0.0.1")
    assert "spark.authenticate.secret" not in found


def test_a_file_of_properties_is_read_as_spark_submit_reads_it(folder: Path) -> None:
    (folder / "my.conf").write_text("spark.master local[3]\n")
    show(folder)
    done = launched(folder, "--properties-file", str(folder / "my.conf"), "app.py")
    assert done.returncode == 2
    assert done.stderr.startswith("elastream: app.py: master local[3] has no executors that could come and go")


def test_a_second_file_of_properties_is_refused(folder: Path) -> None:
    show(folder)
    other = "--properties-file other.conf pyspark-shell"
    done = launched(folder, "--properties-file", "my.conf", "app.py", PYSPARK_SUBMIT_ARGS=other)
    assert done.returncode == 2
    assert "PYSPARK_SUBMIT_ARGS names another one" in done.stderr


def test_a_copy_that_a_script_has_made_of_its_process_ends_nothing_of_its_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[str] = []

    class Cluster:
        def __exit__(self, *error: object) -> None:
            ended.append("the cluster")

    sessions = Sessions(LaunchOrders(script=Path("app.py")), ended.append)
    monkeypatch.setattr(sessions, "_cluster", Cluster())
    monkeypatch.setattr("elastream.launch.sessions._end_jvm", lambda: ended.append("the driver"))
    with monkeypatch.context() as copy:
        copy.setattr(os, "getpid", lambda: -1)
        sessions.end()
    assert ended == []
    sessions.end()
    assert ended == ["the driver", "the cluster"]


def test_a_later_session_that_does_not_suit_ends_no_queries_that_run() -> None:
    said: list[str] = []
    sessions = Sessions(LaunchOrders(script=Path("app.py")), said.append)
    sessions._telling.ticks = 1
    sessions._refuse(CannotRun("no executors"))
    assert said == ["no executors; the application goes on with the executors it has"]
    sessions._telling.ticks = 0
    with pytest.raises(Refused):
        sessions._refuse(CannotRun("no executors"))


def test_sessions_that_foreach_batch_makes_are_of_an_application_that_is_followed_already(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sessions, followed = Sessions(LaunchOrders(script=Path("app.py")), print), list[object]()
    monkeypatch.setattr(sessions, "_follow", followed.append)
    one, other = object(), object()
    made = [SimpleNamespace(_sc=context) for context in (one, one, one, other)]
    for session in made:
        sessions._around_session(lambda spark: None, cast("SparkSession", session))
    assert followed == [made[0], made[3]]


def test_the_address_of_the_page_is_told_and_where_its_token_lies(folder: Path) -> None:
    show(folder)
    said: list[str] = []
    sessions = Sessions(LaunchOrders(script=folder / "app.py"), said.append)
    sessions._handle = handle = object.__new__(Attachment)

    handle.page = None
    sessions._tell_page(Settings())
    assert said == []

    handle.page = "http://127.0.0.1:8620/"
    sessions._tell_page(Settings())
    sessions._tell_page(Settings.model_validate({"page": {"token": str(folder / "token")}}))
    assert said == [
        "the page of this run: http://127.0.0.1:8620/",
        f"the page of this run: http://127.0.0.1:8620/; the token that controls it lies in {folder / 'token'}",
    ]
