"""The folder of supervised daemons: closed to others, of one supervisor at a time, removed without harm to others."""

import fcntl
import json
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from elastream.core.errors import BadInput, ElastreamError
from elastream.daemons.private_folder import NotPrivate, own_folder, private_folder, read_private, write_private
from elastream.daemons.processes import Process

# Of the form of the state file; a file of another form is refused, not guessed at.
VERSION = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonState(ABC):
    """What is known on disk: the supervisor and its daemons, to which those who describe them add."""

    supervisor: Process
    daemons: dict[str, Process]

    @property
    @abstractmethod
    def has_answered(self) -> bool:
        """False while it is still starting."""

    @property
    def is_up(self) -> bool:
        return self.supervisor.is_running and self.has_answered

    @property
    def processes(self) -> dict[str, Process]:
        """The supervisor and its daemons."""
        return {"supervisor": self.supervisor, **self.daemons}

    def running(self) -> frozenset[str]:
        """Those that run now, by name."""
        return frozenset(name for name, process in self.processes.items() if process.is_running)

    def listed(self, running: frozenset[str]) -> list[dict[str, object]]:
        """All of them for a script, with whether each was running."""
        return [
            {"name": name, "pid": process.pid, "running": name in running} for name, process in self.processes.items()
        ]

    def to_json(self) -> str:
        return json.dumps({"version": VERSION, **asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        known = json.loads(text)
        if known.pop("version") != VERSION:
            raise ValueError("another version")
        supervisor = Process.from_json(known.pop("supervisor"))
        daemons = {name: Process.from_json(daemon) for name, daemon in known.pop("daemons").items()}
        return cls(supervisor=supervisor, daemons=daemons, **known)


State = TypeVar("State", bound=DaemonState)
Folder = TypeVar("Folder", bound="StateFolder[Any]")


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFolder(ABC, Generic[State]):
    """All that is in it belongs to what is kept, and goes with it."""

    thing: ClassVar[str]
    """What is kept, for names of files and for messages."""
    trouble: ClassVar[type[ElastreamError]]
    """The error that says so."""

    path: Path

    @property
    @abstractmethod
    def parts(self) -> tuple[Path, ...]:
        """The folders in it."""

    @abstractmethod
    def parse(self, text: str) -> State:
        """The state that was written as this text."""

    @property
    def state_file(self) -> Path:
        return self.path / f"{self.thing}.json"

    @property
    def lock_file(self) -> Path:
        return self.path / "lock"

    @property
    def large(self) -> Path:
        """What may grow: not in the user's runtime directory, which may be memory."""
        return self.path / "large"

    def make(self) -> None:
        """Make the folder, or take one that is empty or was left by a supervisor that is gone."""
        try:
            if not self._is_there():
                self.path.mkdir(mode=0o700, parents=True)
            self._require_usable()
        except OSError as wrong:
            raise BadInput(f"{self.path}: cannot be a {self.thing}'s folder: {wrong.strerror}") from wrong

    def make_parts(self) -> None:
        """Make the folders in it, when it is locked: what may grow begins empty."""
        self._remove_large()
        if self.path.parent == runtime_directory():
            self.large.symlink_to(tempfile.mkdtemp(prefix=self._large_prefix))
        else:
            self.large.mkdir()
        for folder in self.parts:
            folder.mkdir(exist_ok=True)

    def _is_there(self) -> bool:
        """Looks at the folders above it too, before any is made in them."""
        try:
            with own_folder(self.path):
                return True
        except FileNotFoundError:
            return False

    def _require_usable(self) -> None:
        with own_folder(self.path) as folder:
            strange = sorted(set(os.listdir(folder)) - {entry.name for entry in self._entries()})  # noqa: PTH208 (see below)
            if strange:
                raise BadInput(
                    f"{self.path}: holds {strange[0]!r}, which is no part of a {self.thing}; name an empty folder"
                )
            if os.fstat(folder).st_mode & 0o077:
                os.fchmod(folder, 0o700)
                # Whatever came before it was closed, others may have put there.
                if os.listdir(folder):  # noqa: PTH208 (of what was opened, not of its name)
                    raise NotPrivate(
                        f"{self.path}: was open to others and is not empty; see what is in it and remove it"
                    )

    @property
    def _large_prefix(self) -> str:
        return f"elastream-{self.thing}.large-"

    def _remove_large(self) -> None:
        if self.large.is_symlink():
            target = self.large.readlink()
            if target.name.startswith(self._large_prefix):
                remove_own(target)
            self.large.unlink(missing_ok=True)
        else:
            # A process that is just ending may still make or remove files.
            shutil.rmtree(self.large, ignore_errors=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held by the supervisor as long as it lives; the system lets go of it however the supervisor ends."""
        file = os.open(self.lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        try:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as held:
                raise self.trouble(f"{self.path}: a {self.thing} is starting, running or stopping there") from held
            if not self.lock_file.exists() or self.lock_file.stat().st_ino != os.fstat(file).st_ino:
                raise self.trouble(f"{self.path}: a {self.thing} was stopping there; try again")
            yield
        finally:
            os.close(file)

    def read(self) -> State | None:
        """What was written last, or None if nothing is kept there; NotPrivate if another user may have written it."""
        try:
            with own_folder(self.path) as folder:
                os.stat(self.state_file.name, dir_fd=folder, follow_symlinks=False)
            return self.parse(self.read_file(self.state_file))
        except FileNotFoundError:
            return None
        except OSError as wrong:
            raise self.trouble(f"{self.state_file}: cannot be read: {wrong.strerror}") from wrong
        except (AttributeError, KeyError, TypeError, ValueError) as wrong:
            raise self.trouble(
                f"{self.state_file}: is not the state of a {self.thing} ({wrong}); remove the folder"
            ) from wrong

    def read_file(self, path: Path) -> str:
        """The text of a file in it, that nobody else can have written."""
        with private_folder(self.path) as folder:
            if path.parent == self.path:
                return read_private(folder, path)
            # One step further, into a part.
            way = os.open(path.parent.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            try:
                return read_private(way, path)
            finally:
                os.close(way)

    def write(self, state: State) -> None:
        """Replace the state as a whole, so that a reader never finds half of it."""
        write_private(self._new_state_file, state.to_json())
        self._new_state_file.replace(self.state_file)

    def remove(self) -> None:
        """Remove what belongs here, and the folder if nothing else is in it."""
        try:
            with private_folder(self.path):
                self._remove_large()
                for entry in self._entries():
                    if entry.is_dir() and not entry.is_symlink():
                        shutil.rmtree(entry, ignore_errors=True)
                    else:
                        entry.unlink(missing_ok=True)
                self.path.rmdir()
        except FileNotFoundError:
            pass
        except OSError as wrong:
            raise self.trouble(f"{self.path}: could not be removed: {wrong.strerror}") from wrong

    @property
    def _new_state_file(self) -> Path:
        return self.path / f"{self.thing}.new"

    def _entries(self) -> tuple[Path, ...]:
        small = (part for part in self.parts if part.parent == self.path)
        return (*small, self.large, self._new_state_file, self.state_file, self.lock_file)


def runtime_directory() -> Path | None:
    """The folder that a login gives to its user alone; None without one that is ours and closed to others."""
    path = Path(os.environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    if not path.is_absolute():
        return None
    try:
        with private_folder(path):
            return path
    except (NotPrivate, OSError):
        return None


def standing(kind: type[Folder]) -> Folder:
    """Where one that is to stay lies unless told otherwise: one for each user of the machine."""
    runtime = runtime_directory()
    if runtime is not None:
        return kind(path=runtime / f"elastream-{kind.thing}")
    # Anybody could take this name first; then the folder is refused.
    return kind(path=Path(tempfile.gettempdir()) / f"elastream-{kind.thing}.{os.getuid()}")


def temporary(kind: type[Folder]) -> Folder:
    """A new folder, that nobody else knows; also removes those whose supervisor was killed before it could."""
    prefix = f"elastream-{kind.thing}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        remove_if_left(kind(path=left))
    return kind(path=Path(tempfile.mkdtemp(prefix=prefix)))


def remove_if_left(folder: StateFolder[Any]) -> None:
    try:
        if folder.read() is None:
            return
        with folder.locked():
            folder.remove()
    except (NotPrivate, folder.trouble, OSError):
        # In use, or not ours to judge: the next one starts in spite of it.
        return


def remove_own(path: Path) -> None:
    """A folder with all that is in it, if it is there and ours alone."""
    try:
        with private_folder(path):
            shutil.rmtree(path, ignore_errors=True)
    except (NotPrivate, OSError):
        return
