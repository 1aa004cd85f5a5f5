"""The folder of what a keeper keeps: closed to others, of one keeper at a time, and removed without harm to others."""

import fcntl
import json
import os
import shutil
import stat
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from elastream.core.errors import BadInput, ElastreamError
from elastream.machine.processes import Process

# Of the form of the state file; a file of another form is refused, not guessed at.
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState(ABC):
    """What is known on disk: the keeper and its daemons, to which those who describe them add."""

    keeper: Process
    daemons: dict[str, Process]

    @property
    @abstractmethod
    def has_answered(self) -> bool:
        """False while it is still starting."""

    @property
    def is_up(self) -> bool:
        return self.keeper.is_running and self.has_answered

    @property
    def processes(self) -> dict[str, Process]:
        """The keeper and its daemons."""
        return {"keeper": self.keeper, **self.daemons}

    def running(self) -> frozenset[str]:
        """Those that run now, by name."""
        return frozenset(name for name, process in self.processes.items() if process.is_running)

    def listed(self, running: frozenset[str]) -> list[dict[str, Any]]:
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
        keeper = Process(**known.pop("keeper"))
        daemons = {name: Process(**daemon) for name, daemon in known.pop("daemons").items()}
        return cls(keeper=keeper, daemons=daemons, **known)


State = TypeVar("State", bound=KeptState)
Folder = TypeVar("Folder", bound="KeptFolder[Any]")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptFolder(ABC, Generic[State]):
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

    def make(self) -> None:
        """Make the folder, or take one that is empty or was left by a keeper that is gone."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.path.lstat()
        except OSError as wrong:
            raise BadInput(f"{self.path}: cannot be a {self.thing}'s folder: {wrong.strerror}") from wrong
        # In a folder that others can write, such as /tmp, a name of ours may have been taken to read secrets.
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
            raise BadInput(f"{self.path}: is not a folder of yours; name another one")
        strange = sorted({entry.name for entry in self.path.iterdir()} - {entry.name for entry in self._entries()})
        if strange:
            raise BadInput(
                f"{self.path}: holds {strange[0]!r}, which is no part of a {self.thing}; name an empty folder"
            )
        self.path.chmod(0o700)

    def make_parts(self) -> None:
        for folder in self.parts:
            folder.mkdir(exist_ok=True)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Held by the keeper as long as it lives; the system lets go of it however the keeper ends."""
        file = os.open(self.lock_file, os.O_RDWR | os.O_CREAT, 0o600)
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
        """What was written last, or None if nothing is kept there."""
        try:
            return self.parse(self.state_file.read_text())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as wrong:
            raise self.trouble(f"{self.state_file}: cannot be read: {wrong.strerror}") from wrong
        except (AttributeError, KeyError, TypeError, ValueError) as wrong:
            raise self.trouble(
                f"{self.state_file}: is not the state of a {self.thing} ({wrong}); remove the folder"
            ) from wrong

    def write(self, state: State) -> None:
        """Replace the state as a whole, so that a reader never finds half of it."""
        write_private(self._new_state_file, state.to_json())
        self._new_state_file.replace(self.state_file)

    def remove(self) -> None:
        """Remove what belongs here, and the folder if nothing else is in it."""
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
            raise self.trouble(f"{self.path}: could not be removed: {wrong.strerror}") from wrong

    @property
    def _new_state_file(self) -> Path:
        return self.path / f"{self.thing}.new"

    def _entries(self) -> tuple[Path, ...]:
        return (*self.parts, self._new_state_file, self.state_file, self.lock_file)


def write_private(path: Path, text: str) -> None:
    """Write a file that was readable by nobody else at any moment."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)


def standing(kind: type[Folder]) -> Folder:
    """Where one that is to stay lies unless told otherwise: one for each user of the machine."""
    return kind(path=Path(tempfile.gettempdir()) / f"elastream-{kind.thing}.{os.getuid()}")


def temporary(kind: type[Folder]) -> Folder:
    """A new folder, that nobody else knows; also removes those whose keeper was killed before it could."""
    prefix = f"elastream-{kind.thing}-"
    for left in Path(tempfile.gettempdir()).glob(f"{prefix}*"):
        remove_if_left(kind(path=left))
    return kind(path=Path(tempfile.mkdtemp(prefix=prefix)))


def remove_if_left(folder: KeptFolder[Any]) -> None:
    try:
        if folder.path.lstat().st_uid != os.getuid() or folder.read() is None:
            return
        with folder.locked():
            folder.remove()
    except (folder.trouble, OSError):
        # In use, or not ours to judge: the next one starts in spite of it.
        return
