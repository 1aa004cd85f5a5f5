"""Files that others wrote, or left in a folder: read only if they are files, and no further than anybody writes.

A device has no end, a pipe that nobody writes to has no beginning, and either may stand behind a link.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

MOST_BYTES = 16 * 2**20
"""Of a text that is read whole. People write some kilobytes, and programs of ours no megabyte."""


def open_input(path: Path) -> BinaryIO:
    """A file, opened for reading; OSError where it is a folder, a device or a pipe."""
    # A pipe would make us wait here until somebody writes.
    number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(number).st_mode
    if not stat.S_ISREG(kind):
        os.close(number)
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
        raise OSError(errno.EINVAL, "this is a device or a pipe, and no file", str(path))
    return os.fdopen(number, "rb")


def read_input(path: Path, *, may_be_pipe: bool = False) -> str:
    """The text of a file; OSError where it cannot be read or has no end, ValueError where it is no text.

    A pipe is what a shell makes of `<(command)`: where a person names the file, it may be one.
    """
    with path.open("rb") if may_be_pipe else open_input(path) as file:
        content = file.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"more than {MOST_BYTES // 2**20} MiB, which is no text to read whole", str(path))
    return content.decode("utf-8")
