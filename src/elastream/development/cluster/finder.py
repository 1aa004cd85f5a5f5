"""Clusters of one's own that run, found again by what `--master` says: a name, a folder or an address."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.daemons.private_folder import NotPrivate
from elastream.daemons.processes import IS_LINUX, command_line, process_ids
from elastream.development.cluster.folder import ClusterError, ClusterFolder, standing_folder

NAME = "cluster"
"""Of the one that `elastream cluster up` starts without a folder."""
_MASTER_CLASS = "org.apache.spark.deploy.master.Master"


@dataclass(frozen=True, slots=True, kw_only=True)
class Master:
    """Where an application is to run."""

    url: str
    cluster: ClusterFolder | None = None
    """Where its secret lies, if it is a cluster of one's own."""


def read_master(text: str, option: str = "--master") -> Master:
    """What `--master` means; BadInput if it is nothing that could be a master."""
    if text == NAME:
        return _running(standing_folder(), "elastream cluster up", option)
    if "://" in text or text == "yarn" or text.startswith("local"):
        return Master(url=text, cluster=find_cluster(text))
    path = Path(text).absolute()
    if path.is_dir():
        return _running(ClusterFolder(path=path), f"elastream cluster up --folder {text}", option)
    if path.is_file():
        raise BadInput(f"{option} {text}: is a file; Spark's properties are given with --properties-file")
    raise BadInput(
        f"{option}: found {text!r}; it must be a URL such as spark://host:7077, {NAME!r} for the cluster of "
        f"`elastream cluster up`, or that cluster's folder"
    )


def find_cluster(url: str) -> ClusterFolder | None:
    """The cluster of one's own that has this address."""
    if not url.startswith("spark://"):
        return None
    for folder in _folders():
        try:
            state = folder.read()
        except (ClusterError, NotPrivate, OSError):
            # Anybody can start a process that looks like a master, and name any folder to it.
            continue
        if state is not None and state.is_up and state.master == url:
            return folder
    return None


def _running(folder: ClusterFolder, start: str, option: str) -> Master:
    state = folder.read()
    if state is None or not state.is_up or state.master is None:
        raise BadInput(f"{option}: no cluster runs in {folder.path}; start one: {start}")
    return Master(url=state.master, cluster=folder)


def _folders() -> Iterator[ClusterFolder]:
    """Where clusters of one's own lie: a master is started with a file of its cluster's folder."""
    standing = standing_folder()
    yield standing
    for words in map(command_line, process_ids()) if IS_LINUX else ():
        if _MASTER_CLASS in words and "--properties-file" in words[:-1]:
            folder = ClusterFolder(path=Path(words[words.index("--properties-file") + 1]).parent.parent)
            if folder != standing:
                yield folder
