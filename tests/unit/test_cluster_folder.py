"""The folder of a cluster: private, owned by one, and removed without touching what is not the cluster's."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.daemons.client import down
from elastream.daemons.private_folder import write_private
from elastream.daemons.processes import Process, this_process
from elastream.daemons.state_folder import remove_if_left, standing, temporary
from elastream.daemons.supervisor import SupervisorOrders, the_folder
from elastream.development.cluster.folder import ClusterError, ClusterFolder, ClusterState

GONE = Process(pid=1, started="before the flood", owner=0, command=("init",))


def state(supervisor: Process = GONE) -> ClusterState:
    return ClusterState(supervisor=supervisor, daemons={"master": GONE}, workers=2, cores=6, memory="4096m")


def made(path: Path) -> ClusterFolder:
    folder = ClusterFolder(path=path)
    folder.make()
    folder.make_parts()
    folder.write(state())
    return folder


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    folder = made(tmp_path / "cluster")
    written = replace(state(), master="spark://127.0.0.1:1", web="http://127.0.0.1:2")
    folder.write(written)
    assert folder.read() == written
    assert folder.state_file.stat().st_mode & 0o777 == 0o600
    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_no_cluster_is_none(tmp_path: Path) -> None:
    assert ClusterFolder(path=tmp_path).read() is None
    assert ClusterFolder(path=tmp_path / "nowhere").read() is None


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"version": 0}', '{"version": 1, "supervisor": {"pid": 1}}'])
def test_a_file_that_is_no_state_is_named(tmp_path: Path, text: str) -> None:
    write_private(tmp_path / "cluster.json", text)
    tmp_path.chmod(0o700)
    with pytest.raises(ClusterError, match=r"cluster.json: is not the state of a cluster"):
        ClusterFolder(path=tmp_path).read()


def test_a_cluster_is_up_only_while_its_keeper_runs_and_it_has_an_address() -> None:
    me = this_process()
    assert not state(me).is_up
    assert replace(state(me), master="spark://127.0.0.1:1").is_up
    assert not replace(state(GONE), master="spark://127.0.0.1:1").is_up


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(BadInput, match=r"holds 'thesis.tex', which is no part of a cluster; name an empty folder"):
        ClusterFolder(path=tmp_path).make()


@pytest.mark.parametrize("kind", ["file", "link"])
def test_what_is_not_a_folder_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cluster"
    if kind == "file":
        path.write_text("")
    else:
        path.symlink_to(tmp_path)
    with pytest.raises(BadInput):
        ClusterFolder(path=path).make()


def test_a_folder_that_others_could_read_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    ClusterFolder(path=tmp_path).make()
    assert tmp_path.stat().st_mode & 0o777 == 0o700


def test_removing_spares_what_somebody_put_there(tmp_path: Path) -> None:
    folder = made(tmp_path / "cluster")
    (folder.path / "checkpoint").mkdir()
    with pytest.raises(ClusterError, match="could not be removed"):
        folder.remove()
    assert [entry.name for entry in folder.path.iterdir()] == ["checkpoint"]


def test_removing_follows_no_link_out_of_the_folder(tmp_path: Path) -> None:
    folder = ClusterFolder(path=tmp_path / "cluster")
    folder.make()
    (tmp_path / "precious").mkdir(mode=0o700)
    folder.conf.symlink_to(tmp_path / "precious")
    folder.large.symlink_to(tmp_path / "precious")
    folder.remove()
    assert (tmp_path / "precious").exists()
    assert not folder.path.exists()


def test_two_keepers_cannot_have_one_folder(tmp_path: Path) -> None:
    folder = made(tmp_path / "cluster")
    with folder.locked():
        with pytest.raises(ClusterError, match="starting, running or stopping there"), folder.locked():
            pass
        remove_if_left(folder)
    assert folder.read() is not None


def test_a_folder_whose_keeper_was_killed_goes_when_the_next_cluster_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left, in_use = made(tmp_path / "elastream-cluster-left"), made(tmp_path / "elastream-cluster-used")
    with in_use.locked():
        new = temporary(ClusterFolder)
    assert not left.path.exists()
    assert in_use.path.exists()
    assert new.path.stat().st_mode & 0o777 == 0o700


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a login gives to its user, and a folder for temporary files beside it."""
    for name in ("runtime", "tmp"):
        (tmp_path / name).mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    return tmp_path / "runtime"


def test_a_cluster_that_stays_lies_in_the_runtime_directory_and_what_grows_does_not(runtime: Path) -> None:
    folder = standing(ClusterFolder)
    assert folder.path == runtime / "elastream-cluster"
    folder.make()
    folder.make_parts()
    folder.write(state())
    large = folder.large.resolve()
    assert large.parent == runtime.parent / "tmp"
    assert large.stat().st_mode & 0o777 == 0o700
    assert folder.scratch.resolve().parent == large
    assert down(folder)
    assert list(runtime.iterdir()) == list(large.parent.iterdir()) == []


def test_a_runtime_directory_that_others_can_enter_is_not_used(runtime: Path) -> None:
    runtime.chmod(0o755)
    assert standing(ClusterFolder).path == runtime.parent / "tmp" / f"elastream-cluster.{os.getuid()}"


def test_what_grows_goes_even_if_the_runtime_directory_goes_first(runtime: Path) -> None:
    orders = SupervisorOrders(folder=str(standing(ClusterFolder).path), parent=None, wanted={})
    with the_folder(orders, ClusterFolder) as folder:
        large = folder.large.resolve()
        (large / "shuffle").write_text("much")
        shutil.rmtree(runtime)
    assert not large.exists()


def test_stopping_cleans_up_after_a_killed_keeper_and_signals_nobody_else(tmp_path: Path) -> None:
    folder = made(tmp_path / "cluster")
    # The ids now belong to others, here to this very process.
    stranger = replace(this_process(), started=GONE.started)
    folder.write(replace(state(stranger), daemons={"master": stranger}))
    assert down(folder)
    assert not folder.path.exists()
    assert not down(folder)


def test_a_private_file_is_never_readable_by_others(tmp_path: Path) -> None:
    write_private(tmp_path / "secret", json.dumps({}))
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600
