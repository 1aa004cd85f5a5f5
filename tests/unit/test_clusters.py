"""What `--master` may say: a URL, the cluster that `elastream cluster up` started, or its folder."""

import os
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.daemons.processes import this_process
from elastream.development.cluster import finder
from elastream.development.cluster.finder import find_cluster, read_master
from elastream.development.cluster.folder import ClusterFolder, ClusterState

URL = "spark://127.0.0.1:40123"


@pytest.fixture(autouse=True)
def standing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ClusterFolder:
    """The folder of the cluster without a name of its own; no other one runs on this machine."""
    folder = ClusterFolder(path=tmp_path / "standing")
    monkeypatch.setattr(finder, "standing_folder", lambda: folder)
    monkeypatch.setattr(finder, "process_ids", lambda: iter([]))
    return folder


def start(folder: ClusterFolder, url: str = URL) -> ClusterFolder:
    """As far as files tell, a cluster that this process keeps."""
    supervisor = this_process()
    folder.make()
    folder.write(
        ClusterState(supervisor=supervisor, daemons={}, workers=1, cores=1, memory="1g", master=url, web="http://x")
    )
    return folder


def test_its_name_is_the_standing_cluster(standing: ClusterFolder) -> None:
    start(standing)
    assert (read_master("cluster").url, read_master("cluster").cluster) == (URL, standing)


def test_a_folder_is_the_cluster_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    second = start(ClusterFolder(path=tmp_path / "second"))
    assert read_master("second").cluster == second


def test_an_address_of_a_cluster_of_ones_own_is_recognised(
    standing: ClusterFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(standing, "spark://127.0.0.1:1")
    second = start(ClusterFolder(path=tmp_path / "second"))
    words = ["java", "org.apache.spark.deploy.master.Master", "--properties-file", str(second.conf / "daemon.conf")]
    monkeypatch.setattr(finder, "IS_LINUX", True)
    monkeypatch.setattr(finder, "process_ids", lambda: iter([1, 2]))
    monkeypatch.setattr(finder, "command_line", {1: ["sh"], 2: words}.__getitem__)
    assert find_cluster(URL) == second
    assert find_cluster("spark://127.0.0.1:1") == standing


@pytest.mark.parametrize("url", ["spark://host:7077", "yarn", "k8s://https://host", "local[2]"])
def test_any_other_url_is_taken_as_it_is(url: str, standing: ClusterFolder) -> None:
    start(standing)
    assert (read_master(url).url, read_master(url).cluster) == (url, None)


def test_a_cluster_whose_keeper_is_gone_is_not_taken_for_one_that_runs(standing: ClusterFolder) -> None:
    start(standing)
    text = standing.state_file.read_text()
    standing.state_file.write_text(text.replace(f'"pid": {os.getpid()}', '"pid": 4194304'))
    assert find_cluster(URL) is None
    with pytest.raises(BadInput, match=r"no cluster runs in .*standing; start one: elastream cluster up"):
        read_master("cluster")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("empty", "no cluster runs in .*empty; start one: elastream cluster up --folder empty"),
        ("file", "is a file; Spark's properties are given with --properties-file"),
        ("clutser", "found 'clutser'; it must be a URL such as spark://host:7077, 'cluster' for the cluster"),
    ],
)
def test_what_is_no_master_is_told_with_what_would_be_one(
    text: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("spark.master yarn\n")
    with pytest.raises(BadInput, match=told):
        read_master(text)
