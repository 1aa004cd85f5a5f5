"""What a driver is given: never the secret where pyspark would put it on a command line."""

import os
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from elastream.development.cluster import driver
from elastream.development.cluster.daemon_settings import write_daemon_settings, write_driver_settings
from elastream.development.cluster.driver import DriverEnvironment, settings_for_driver, with_properties
from elastream.development.cluster.folder import ClusterError, ClusterFolder

SECRET = "spark.authenticate.secret"
SUBMIT = "PYSPARK_SUBMIT_ARGS"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterFolder:
    monkeypatch.setattr(driver, "java_home", lambda: SimpleNamespace(path=tmp_path))
    monkeypatch.delenv(SUBMIT, raising=False)
    made = ClusterFolder(path=tmp_path / "a cluster")
    made.make()
    made.make_parts()
    write_daemon_settings(made)
    write_driver_settings(made, "spark://127.0.0.1:1")
    return made


def gateway(local_ip: str | None) -> object:
    return SimpleNamespace(jvm=SimpleNamespace(System=SimpleNamespace(getenv=lambda name: local_ip)))


def test_before_the_jvm_starts_the_secret_goes_through_a_file(
    folder: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "running_gateway", lambda: None)
    before = dict(os.environ)
    environment = DriverEnvironment()
    settings = settings_for_driver(folder, environment)
    assert settings["spark.master"] == "spark://127.0.0.1:1"
    assert settings["spark.authenticate"] == "true"
    assert SECRET not in settings
    arguments = shlex.split(os.environ[SUBMIT])
    assert arguments[:2] == ["--properties-file", str(folder.driver_file)]
    assert arguments[-1] == "pyspark-shell"
    environment.restore()
    assert os.environ == before


def test_once_the_jvm_runs_the_secret_goes_directly(folder: ClusterFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "running_gateway", lambda: gateway("127.0.0.1"))
    environment = DriverEnvironment()
    settings = settings_for_driver(folder, environment)
    environment.restore()
    assert len(settings[SECRET]) == 64
    assert SUBMIT not in os.environ
    assert "spark.ui.enabled" not in settings


def test_the_page_of_a_jvm_that_would_show_it_to_the_network_is_switched_off(
    folder: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "running_gateway", lambda: gateway(None))
    environment = DriverEnvironment()
    settings = settings_for_driver(folder, environment)
    environment.restore()
    assert settings["spark.ui.enabled"] == "false"


def test_a_driver_follows_the_cluster_that_it_asked_last(folder: ClusterFolder, tmp_path: Path) -> None:
    other, file = ClusterFolder(path=tmp_path / "other").driver_file, folder.driver_file
    own = "--driver-memory 1g pyspark-shell"
    assert with_properties(with_properties(own, other), file) == with_properties(own, file)
    assert with_properties(own, file).endswith(own)


def test_a_cluster_that_has_gone_is_told(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="is the cluster up"):
        settings_for_driver(ClusterFolder(path=tmp_path), DriverEnvironment())
