"""Where a cluster of one's own keeps its state: who runs, where it listens, and the secret."""

import fcntl
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from elastream.core.errors import BadInput, ElastreamError
from elastream.spark.processes import Process

SECRET = "spark.authenticate.secret"
TEMPORARY = "elastream-cluster-"
# Of the form of `cluster.json`; a file of another form is refused, not guessed at.
VERSION = 1


class ClusterError(ElastreamError):
    """A cluster that could not be started, stopped or found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterState:
    """What is known of a cluster on disk; without an address it is still starting."""

    keeper: Process
    daemons: dict[str, Process]
    workers: int
    cores: int
    memory: str
    master: str | None = None
    web: str | None = None

    @property
    def is_up(self) -> bool:
        return self.keeper.is_running and self.master is not None

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "ClusterState":
        known = json.loads(text)
        if known.pop("version") != VERSION:
            raise ValueError("another version")
        keeper = Process(**known.pop("keeper"))
        daemons = {name: Process(**daemon) for name, daemon in known.pop("daemons").items()}
        return cls(keeper=keeper, daemons=daemons, **known)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFolder:
    """The layout of the folder; all that is in it belongs to one cluster, and goes with it."""

    path: Path

    @property
    def conf(self) -> Path:
        return self.path / "conf"

    @property
    def logs(self) -> Path:
        return self.path / "log"

    @property
    def executors(self) -> Path:
        """Working folders of executors, with what they print."""
        return self.path / "executors"

    @property
    def scratch(self) -> Path:
        """Shuffle files and local state."""
        return self.path / "scratch"

    @property
    def temporary(self) -> Path:
        """What the JVMs and Python workers would leave in /tmp when killed, such as unpacked libraries."""
        return self.path / "tmp"

    @property
    def state_file(self) -> Path:
        return self.path / "cluster.json"

    @property
    def daemon_file(self) -> Path:
        """Properties of master and workers, with the secret."""
        return self.conf / "daemon.conf"

    @property
    def driver_file(self) -> Path:
        """Properties for `spark-submit --properties-file`, with the secret."""
        return self.conf / "driver.conf"

    @property
    def lock_file(self) -> Path:
        return self.path / "lock"

    def make(self) -> None:
        """Make the folder, or take one that is empty or was left by a cluster that is gone."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.lstat()
        except OSError as wrong:
            raise BadInput(f"{self.path}: cannot be a cluster's folder: {wrong.strerror}") from wrong
        # In a folder that others can write, such as /tmp, a name of ours may have been taken to read the secret.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise BadInput(f"{self.path}: is not a folder of yours; name another one")
        strange = sorted({entry.name for entry in self.path.iterdir()} - {entry.name for entry in self._entries()})
        if strange:
            raise BadInput(f"{self.path}: holds {strange[0]!r}, which is no part of a cluster; name an empty folder")
        self.path.chmod(0o700)

    def make_parts(self) -> None:
        for folder in (self.conf, self.logs, self.executors, self.scratch, self.temporary):
            folder.mkdir(exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held by the keeper as long as it lives; the system lets go of it however the keeper ends."""
        file = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as held:
                raise ClusterError(f"{self.path}: a cluster is starting, running or stopping there") from held
            if not self.lock_file.exists() or self.lock_file.stat().st_ino != os.fstat(file).st_ino:
                raise ClusterError(f"{self.path}: a cluster was stopping there; try again")
            yield
        finally:
            os.close(file)

    def read(self) -> ClusterState | None:
        """What was written last, or None if no cluster is there."""
        try:
            return ClusterState.from_json(self.state_file.read_text())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as wrong:
            raise ClusterError(f"{self.state_file}: cannot be read: {wrong.strerror}") from wrong
        except (AttributeError, KeyError, TypeError, ValueError) as wrong:
            raise ClusterError(
                f"{self.state_file}: is not the state of a cluster ({wrong}); remove the folder"
            ) from wrong

    def write(self, state: ClusterState) -> None:
        """Replace the state as a whole, so that a reader never finds half of it."""
        write_private(self.path / "cluster.new", state.to_json())
        (self.path / "cluster.new").replace(self.state_file)

    def remove(self) -> None:
        """Remove what a cluster makes, and the folder if nothing else is in it."""
        for entry in self._entries():
            if entry.is_dir() and not entry.is_symlink():
                # A process that is just ending may still make or remove files.
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)
        try:
            self.path.rmdir()
        except FileNotFoundError:
            pass
        except OSError as wrong:
            raise ClusterError(f"{self.path}: could not be removed: {wrong.strerror}") from wrong

    def _entries(self) -> tuple[Path, ...]:
        made = (self.conf, self.logs, self.executors, self.scratch, self.temporary)
        return (*made, self.path / "cluster.new", self.state_file, self.lock_file)


def write_private(path: Path, text: str) -> None:
    """Write a file that was readable by nobody else at any moment."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def standing_folder() -> ClusterFolder:
    """Where `elastream cluster up` puts the cluster unless told otherwise: one for each user of the machine."""
    return ClusterFolder(path=Path(tempfile.gettempdir()) / f"elastream-cluster.{os.getuid()}")


def temporary_folder() -> ClusterFolder:
    """A new folder, that nobody else knows; also removes those whose keeper was killed before it could."""
    for left in Path(tempfile.gettempdir()).glob(f"{TEMPORARY}*"):
        remove_if_left(ClusterFolder(path=left))
    return ClusterFolder(path=Path(tempfile.mkdtemp(prefix=TEMPORARY)))


def remove_if_left(folder: ClusterFolder) -> None:
    try:
        if folder.path.lstat().st_uid != os.getuid() or folder.read() is None:
            return
        with folder.locked():
            folder.remove()
    except (ClusterError, OSError):
        # In use, or not ours to judge: a cluster starts in spite of it.
        return
