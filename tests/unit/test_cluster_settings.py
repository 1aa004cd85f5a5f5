"""What a cluster may be asked for, checked before anything is started."""

from pathlib import Path
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.core.quantity import mebibytes
from elastream.development.cluster.daemon_settings import (
    PAGE_KEY,
    daemon_environment,
    properties,
    read_properties,
    write_daemon_settings,
    write_driver_settings,
)
from elastream.development.cluster.folder import SECRET, ClusterError, ClusterFolder
from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster, spark_home


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"workers": 0}, "cluster: workers: 0 is not from 1 to 64"),
        ({"workers": 65}, "cluster: workers: 65 is not from 1 to 64"),
        ({"cores": -1}, "cluster: cores: -1 is not from 1 to 1024 for each worker"),
        ({"memory": "lots"}, "cluster: memory: 'lots' is not a size such as 512m or 4g"),
        ({"memory": "4"}, "cluster: memory: '4' is not a size such as 512m or 4g"),
        ({"memory": "0g"}, "cluster: memory: '0g' is not a size such as 512m or 4g"),
        ({"daemon_memory": "64m"}, "cluster: daemon_memory: '64m' is not a size of at least 128m"),
        ({"patience_s": 0.0}, "cluster: patience_s: 0 is not above 0 and below 3600"),
        ({"patience_s": float("nan")}, "cluster: patience_s: nan is not above 0 and below 3600"),
    ],
)
def test_a_wrong_setting_is_refused_by_name(wrong: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput) as refused:
        ClusterSettings(**wrong)
    assert str(refused.value) == told


@pytest.mark.parametrize(
    ("size", "expected"), [("512m", 512), ("4g", 4096), ("2GB", 2048), (" 1g ", 1024), ("1.5g", 0), ("-1g", 0), ("", 0)]
)
def test_sizes_are_spelt_as_spark_spells_them(size: str, expected: int) -> None:
    assert mebibytes(size) == expected


def test_a_cluster_that_was_not_entered_says_how_to() -> None:
    with pytest.raises(ClusterError, match="enter it first"):
        _ = LocalCluster().master


def test_a_home_without_spark_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with pytest.raises(BadInput, match="SPARK_HOME: there is no Spark in"):
        spark_home()


def test_daemons_do_not_follow_the_settings_of_another_spark(tmp_path: Path) -> None:
    given = {
        "SPARK_MASTER_HOST": "0.0.0.0",
        "_SPARK_AUTH_SECRET": "of another cluster",
        "PYSPARK_PYTHON": "python2",
        "SPARK_LOCAL_IP": "10.0.0.1",
        "PATH": "/bin",
    }
    folder = ClusterFolder(path=tmp_path)
    environment = daemon_environment(folder, given, spark_home="/spark", java_home="/java", memory="256m")
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.1"
    assert environment["PATH"] == "/bin"
    assert not {"SPARK_MASTER_HOST", "_SPARK_AUTH_SECRET", "PYSPARK_PYTHON"} & environment.keys()


def test_properties_are_read_back_as_they_were_written() -> None:
    settings = {"spark.master": "spark://127.0.0.1:1", "options": r"-a '-Dfolder=/a b\c'"}
    assert read_properties(properties(settings)) == settings


def written(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What daemons and drivers of a new cluster are set to."""
    folder = ClusterFolder(path=path)
    folder.make()
    folder.make_parts()
    write_daemon_settings(folder)
    write_driver_settings(folder, "spark://127.0.0.1:1")
    return read_properties(folder.read_file(folder.daemon_file)), read_properties(folder.read_file(folder.driver_file))


def test_every_cluster_has_secrets_of_its_own(tmp_path: Path) -> None:
    one, other = written(tmp_path / "one")[0], written(tmp_path / "other")[0]
    for key in (SECRET, PAGE_KEY):
        assert one[key] != other[key]
        assert min(len(set(one[key])), len(set(other[key]))) > 8
    assert one[SECRET] != one[PAGE_KEY]


def test_nobody_can_end_anything_on_a_page(tmp_path: Path) -> None:
    daemon, driver = written(tmp_path / "cluster")
    assert daemon["spark.ui.killEnabled"] == driver["spark.ui.killEnabled"] == "false"
    assert driver["spark.ui.heapHistogramEnabled"] == "false"
    assert daemon["spark.master.ui.decommission.allow.mode"] == "DENY"
    assert daemon["spark.master.rest.enabled"] == "false"
    assert daemon["spark.ui.filters"] == "org.apache.spark.ui.JWSFilter"
    assert PAGE_KEY not in driver


def test_a_spark_that_cannot_close_its_pages_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-class").touch()
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    with (
        pytest.raises(BadInput, match=r"has no jjwt-impl.* cannot close its pages to other users"),
        LocalCluster(),
    ):
        pass
