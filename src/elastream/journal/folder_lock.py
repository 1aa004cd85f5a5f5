"""One writer per folder."""

import fcntl
import os
import stat
from pathlib import Path

from elastream.core.errors import JournalError


class FolderLock:
    """Held by a process; the system lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.lock"
        self._file: int | None = None

    @property
    def held(self) -> bool:
        """Whether this object holds it."""
        return self._file is not None

    def acquire(self) -> None:
        """Take it, or raise JournalError that names the holder."""
        if self._file is not None:
            raise JournalError(f"{self.path.parent}: the journal is already open")
        try:
            file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as wrong:
            raise JournalError(f"{self.path}: cannot be opened: {wrong.strerror}") from wrong
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
            # Somebody who can write the folder would have us empty another file of ours.
            os.close(file)
            raise JournalError(f"{self.path}: is no file of this folder alone; remove it or choose another folder")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        except OSError as wrong:
            holder = os.pread(file, 32, 0).decode(errors="replace").strip()
            os.close(file)
            if isinstance(wrong, BlockingIOError):
                raise JournalError(
                    f"{self.path.parent}: process {holder or 'unknown'} writes here; stop it or choose another folder"
                ) from None
            raise JournalError(f"{self.path}: cannot be locked: {wrong.strerror}") from wrong
        self._file = file

    def release(self) -> None:
        """Let go. The file stays: deleting it would let two writers hold locks on two files of one name."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
