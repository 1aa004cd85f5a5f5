"""What is true of one cluster manager and not of another."""

import pytest

from elastream.spark.scale.managers import Kubernetes, Manager, Standalone, StandaloneInDriver, Yarn, find_manager

NOTHING: dict[str, str] = {}
CORES = {"spark.cores.max": "8", "spark.executor.cores": "2"}
INSTANCES = {"spark.executor.instances": "3"}


@pytest.mark.parametrize(
    ("master", "manager"),
    [
        ("spark://one:7077,two:7077", Standalone()),
        ("local-cluster[2,1,1024]", StandaloneInDriver()),
        ("yarn", Yarn()),
        ("k8s://https://host:6443", Kubernetes()),
        ("mine://host", Yarn()),
    ],
)
def test_a_master_url_says_who_gives_executors(master: str, manager: Manager) -> None:
    assert type(find_manager(master)) is type(manager)


@pytest.mark.parametrize(
    ("manager", "cores", "instances"),
    [(Standalone(), 4, None), (StandaloneInDriver(), None, 3), (Yarn(), None, 3), (Kubernetes(), None, 3)],
)
def test_how_many_executors_a_young_application_will_have_stands_in_other_settings_for_each(
    manager: Manager, cores: int | None, instances: int | None
) -> None:
    assert manager.expect_executors(NOTHING) is None
    assert manager.expect_executors(CORES) == cores
    assert manager.expect_executors(INSTANCES) == instances


def test_only_a_standalone_master_starts_executors_before_it_answers() -> None:
    starts = {
        type(one).__name__: one.starts_at_once for one in (Standalone(), StandaloneInDriver(), Yarn(), Kubernetes())
    }
    assert starts == {"Standalone": True, "StandaloneInDriver": True, "Yarn": False, "Kubernetes": False}


def test_processes_in_pods_cannot_be_seen() -> None:
    assert not Kubernetes().sees_processes
    assert Standalone().sees_processes
    assert Yarn().sees_processes
