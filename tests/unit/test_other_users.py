"""What another user of the machine puts in our way: nothing of it is read, obeyed or removed, and one line says so."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main
from elastream.core.errors import JournalError
from elastream.daemons.client import down
from elastream.daemons.private_folder import NotPrivate
from elastream.daemons.processes import Process, process, this_process
from elastream.daemons.state_folder import VERSION, DaemonState, StateFolder, standing, temporary
from elastream.development.cluster import finder
from elastream.development.cluster.finder import find_cluster, read_master
from elastream.development.cluster.folder import ClusterFolder, ClusterState
from elastream.development.cluster.status import master_page
from elastream.development.kafka.folder import BrokerFolder, BrokerState
from elastream.journal.folder_lock import FolderLock
from elastream.journal.resume import last_size, resume
from tests.unit.journal_samples import observation, planner, record
from tests.users import as_nobody, begin_as_nobody

pytestmark = pytest.mark.needs("users")

URL = "spark://127.0.0.1:6066"
BAIT = "spark.driver.extraJavaOptions -XX:OnError=/tmp/theirs.sh\n"
KINDS: dict[str, type[StateFolder[Any]]] = {"cluster": ClusterFolder, "kafka": BrokerFolder}


@pytest.fixture(autouse=True)
def shared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder as /tmp is, in which both users can make what they like; there is no runtime directory."""
    path = Path(tempfile.mkdtemp(prefix="shared-", dir="/tmp"))
    path.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(path / "none"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def ours() -> Iterator[subprocess.Popen[bytes]]:
    """A process of root's, which a forged state names as the supervisor and as a daemon."""
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as sleeper:
        try:
            yield sleeper
        finally:
            sleeper.kill()


def forged(kind: type[StateFolder[Any]], target: Process) -> str:
    """The best that somebody can write who has read the code: a state that would be believed if it were ours."""
    state: DaemonState
    if kind is ClusterFolder:
        state = ClusterState(
            supervisor=target, daemons={"master": target}, workers=1, cores=1, memory="1g", master=URL, web="http://x"
        )
    else:
        state = BrokerState(supervisor=target, daemons={"broker": target}, heap="512m", bootstrap="127.0.0.1:9092")
    return json.dumps({"version": VERSION, **asdict(state)})


def forge_folder(path: Path, name: str, text: str, mode: int = 0o700) -> None:
    path.mkdir(exist_ok=True)
    (path / "conf").mkdir()
    (path / "conf" / "driver.conf").write_text(BAIT)
    file = path / f"{name}.json"
    file.write_text(text)
    file.chmod(0o600)
    path.chmod(mode)


def own_folder(path: Path, name: str, text: str) -> None:
    forge_folder(path, name, text)


def open_folder(path: Path, name: str, text: str) -> None:
    forge_folder(path, name, text, 0o777)


def link_to_theirs(path: Path, name: str, text: str) -> None:
    theirs = path.with_name("theirs")
    forge_folder(theirs, name, text, 0o777)
    path.symlink_to(theirs)


def link_to_ours(path: Path, name: str, text: str) -> None:
    path.symlink_to("/root")


def pipe(path: Path, name: str, text: str) -> None:
    os.mkfifo(path)


def plain_file(path: Path, name: str, text: str) -> None:
    path.write_text(text)


FORGERIES = [own_folder, open_folder, link_to_theirs, link_to_ours, pipe, plain_file]
Forge = Callable[[Path, str, str], None]


def what_is_in(folder: Path) -> set[tuple[str, int]]:
    return {(str(entry), entry.lstat().st_ino) for entry in (folder, *folder.rglob("*"))}


@pytest.mark.parametrize("forge", FORGERIES)
@pytest.mark.parametrize("name", KINDS)
def test_what_they_put_in_the_place_of_our_folder_is_refused(
    name: str, forge: Forge, shared: Path, ours: subprocess.Popen[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    kind = KINDS[name]
    folder, target = standing(kind), process(ours.pid, ["600"])
    assert target is not None
    as_nobody(lambda: forge(folder.path, kind.thing, forged(kind, target)))
    before = what_is_in(shared)
    for command in ("up", "down", "status"):
        assert main([name, command]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        told = err.splitlines()[-1]
        assert told.startswith(f"elastream: {folder.path}: is a ")
        assert "of nobody and not of you, root" in told
        assert "name a folder of your own with --folder, or have this one removed" in told
    assert ours.poll() is None
    assert what_is_in(shared) == before


@pytest.mark.parametrize("kind", KINDS.values())
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o755])
def test_a_folder_of_ours_that_was_open_is_not_believed(
    kind: type[StateFolder[Any]], mode: int, ours: subprocess.Popen[bytes]
) -> None:
    folder, target = standing(kind), process(ours.pid, ["600"])
    assert target is not None
    folder.path.mkdir()
    folder.path.chmod(mode | 0o777)
    as_nobody(lambda: forge_folder_inside(folder.state_file, forged(kind, target)))
    folder.path.chmod(mode)
    with pytest.raises(NotPrivate, match=r"is yours, but others could enter it \(mode "):
        down(folder)
    with pytest.raises(NotPrivate, match="was open to others and is not empty"):
        folder.make()
    # Closed by hand it is ours, and what they left in it is still theirs.
    folder.path.chmod(0o700)
    with pytest.raises(NotPrivate, match=r"\.json: is a file of nobody and not of you, root"):
        down(folder)
    assert ours.poll() is None


def forge_folder_inside(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o600)


@pytest.mark.parametrize("what", ["link", "pipe", "another name", "readable"])
def test_a_state_file_that_is_not_ours_alone_is_not_read(what: str, shared: Path) -> None:
    folder = standing(ClusterFolder)
    folder.make()
    theirs = shared / "theirs"
    as_nobody(lambda: forge_folder_inside(theirs, "{}"))
    if what == "link":
        folder.state_file.symlink_to(theirs)
    elif what == "pipe":
        os.mkfifo(folder.state_file)
    else:
        folder.state_file.write_text("{}")
        folder.state_file.chmod(0o600 if what == "another name" else 0o644)
        if what == "another name":
            (shared / "name").hardlink_to(folder.state_file)
    with pytest.raises(NotPrivate, match=r"cluster\.json: is "):
        folder.read()


def test_a_folder_in_one_of_theirs_is_refused_for_they_could_exchange_it(shared: Path) -> None:
    as_nobody((shared / "theirs").mkdir)
    folder = ClusterFolder(path=shared / "theirs" / "cluster")
    with pytest.raises(NotPrivate, match=r"theirs belongs to nobody, who could put another folder in its place"):
        folder.make()
    assert not folder.path.exists()
    # Nor does one of ours in it help, or a way there through a link of theirs.
    folder.path.mkdir(mode=0o700)
    with pytest.raises(NotPrivate, match="belongs to nobody"):
        folder.read()
    as_nobody(lambda: (shared / "way").symlink_to("/root"))
    with pytest.raises(NotPrivate, match=r"way is a link of nobody"):
        ClusterFolder(path=shared / "way" / "cluster").make()


def test_a_folder_in_one_that_everybody_can_write_is_refused(shared: Path) -> None:
    shared.chmod(0o777)
    with pytest.raises(NotPrivate, match=r"others can write .* \(of root, mode 0777\) and put another folder"):
        ClusterFolder(path=shared / "cluster").make()


def test_a_folder_of_theirs_is_not_removed_not_even_when_asked_for_twice(shared: Path) -> None:
    path = shared / "elastream-cluster-left"
    as_nobody(lambda: forge_folder(path, "cluster", forged(ClusterFolder, Process(pid=1, started="", owner=0))))
    before = what_is_in(path)
    with pytest.raises(NotPrivate, match="of nobody"):
        ClusterFolder(path=path).remove()
    # The next one that starts looks for what killed ones have left.
    temporary(ClusterFolder)
    assert what_is_in(path) == before


def test_it_is_the_same_for_a_user_who_is_not_root(shared: Path) -> None:
    (shared / "elastream-cluster.65533").mkdir(mode=0o700)

    def use_both() -> None:
        mine = ClusterFolder(path=shared / "elastream-cluster.65534")
        mine.make()
        mine.make_parts()
        gone = Process(pid=1, started="before the flood", owner=os.getuid(), command=("init",))
        mine.write(ClusterState(supervisor=gone, daemons={}, workers=1, cores=1, memory="1g"))
        assert down(mine)
        assert not mine.path.exists()
        for act in (ClusterFolder.read, ClusterFolder.make, ClusterFolder.remove, down):
            with pytest.raises(NotPrivate, match=r"65533: is a folder of root and not of you, nobody"):
                act(ClusterFolder(path=shared / "elastream-cluster.65533"))

    as_nobody(use_both)


def test_a_runtime_directory_of_theirs_is_not_used(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    as_nobody(lambda: (shared / "runtime").mkdir(mode=0o700))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(shared / "runtime"))
    assert standing(ClusterFolder).path.parent == shared
    (shared / "ours").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(shared / "ours"))
    assert standing(ClusterFolder).path.parent == shared / "ours"


def test_a_driver_is_sent_to_no_cluster_of_theirs(
    shared: Path, ours: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    target = process(ours.pid, ["600"])
    assert target is not None
    path = shared / "theirs"
    as_nobody(lambda: forge_folder(path, "cluster", forged(ClusterFolder, target), 0o777))
    words = ["java", "org.apache.spark.deploy.master.Master", "--properties-file", str(path / "conf" / "daemon.conf")]
    monkeypatch.setattr(finder, "process_ids", lambda: iter([1]))
    monkeypatch.setattr(finder, "command_line", lambda pid: words)
    assert find_cluster(URL) is None
    folder = standing(ClusterFolder)
    as_nobody(lambda: forge_folder(folder.path, "cluster", forged(ClusterFolder, target)))
    for named in (str(path), finder.NAME):
        with pytest.raises(NotPrivate, match="of nobody and not of you, root"):
            read_master(named)


def test_a_folder_that_they_exchange_again_and_again_is_never_believed(
    shared: Path, ours: subprocess.Popen[bytes]
) -> None:
    target = process(ours.pid, ["600"])
    assert target is not None
    real = ClusterFolder(path=shared / "real")
    real.make()
    real.state_file.write_text(forged(ClusterFolder, target))
    real.state_file.chmod(0o600)
    assert real.read() is not None
    folder = standing(ClusterFolder)

    def exchange() -> None:
        link, theirs = shared / "link", shared / "theirs"
        forge_folder(theirs, "cluster", forged(ClusterFolder, target))
        while True:
            for other in (real.path, theirs):
                link.symlink_to(other)
                link.rename(folder.path)
            folder.path.unlink()
            theirs.rename(folder.path)
            folder.path.rename(theirs)

    child = begin_as_nobody(exchange)
    try:
        refused, until_s = 0, time.monotonic() + 60
        # On a busy machine they may not have begun yet.
        while refused < 300:
            assert time.monotonic() < until_s
            try:
                assert folder.read() is None
            except NotPrivate:
                refused += 1
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_page_of_theirs_is_not_taken_for_the_masters() -> None:
    read, write = os.pipe()

    def answer() -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            os.write(write, f"{server.getsockname()[1]}\n".encode())
            page = b'{"workers": [{"state": "ALIVE"}], "activeapps": []}'
            while True:
                connection, _ = server.accept()
                connection.recv(4096)
                connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + page)
                connection.close()

    child = begin_as_nobody(answer)
    try:
        port = int(os.read(read, 16))
        for pid in (os.getpid(), child):
            # The master is ours and does not listen there; or they have got its very id.
            master = replace(this_process(), pid=pid)
            assert master_page(f"http://127.0.0.1:{port}", master, "key0") == {}
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)


def test_a_lock_of_a_journal_that_they_prepared_empties_no_file_of_ours(shared: Path) -> None:
    precious, folder = shared / "precious", shared / "journal"
    precious.write_text("years of work")
    as_nobody(folder.mkdir)
    as_nobody(lambda: (folder / "journal.lock").symlink_to(precious))
    with pytest.raises(JournalError, match=r"journal\.lock: cannot be opened"):
        FolderLock(folder).acquire()
    as_nobody((folder / "journal.lock").unlink)
    (folder / "journal.lock").hardlink_to(precious)
    with pytest.raises(JournalError, match=r"journal\.lock: is no file of this folder alone"):
        FolderLock(folder).acquire()
    assert precious.read_text() == "years of work"


def test_what_they_wrote_into_our_journal_is_not_learned_from(shared: Path) -> None:
    folder = shared / "journal"
    record(folder, [100.0, 900.0, 900.0])
    assert last_size(folder) is not None
    text = (folder / "journal-000001.jsonl").read_text()
    folder.chmod(0o777)
    as_nobody(lambda: (folder / "journal-000002.jsonl").write_text(text))
    assert last_size(folder) is None
    told = resume(planner(), folder, observation(100.0))
    assert told == "starts anew: journal-000002.jsonl was written by another user, nobody"


def test_a_file_is_never_written_through_a_name_that_is_there(shared: Path) -> None:
    folder = standing(ClusterFolder)
    folder.make()
    precious = shared / "precious"
    precious.write_text("years of work")
    (folder.path / "cluster.new").hardlink_to(precious)
    folder.write(
        ClusterState(
            supervisor=Process(pid=1, started="", owner=0, command=("x",)), daemons={}, workers=1, cores=1, memory=""
        )
    )
    assert precious.read_text() == "years of work"
    assert stat.S_IMODE(folder.state_file.stat().st_mode) == 0o600
