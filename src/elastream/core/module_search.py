"""Where modules of others are looked for besides Python's own path; light, so that a command's help stays quick."""

import contextlib
from pathlib import Path

_folders: list[str] = []


def search_here() -> None:
    """Look for modules of others in the present folder too, behind all that is installed; every command does so.

    It joins Python's path only when a class is asked for by its module: in a folder where others may write, a file must
    not be imported because of its name.
    """
    # A folder that is gone has nothing to find.
    with contextlib.suppress(OSError):
        if (folder := str(Path.cwd())) not in _folders:
            _folders.append(folder)


def searched_folders() -> tuple[str, ...]:
    """Those that were named."""
    return tuple(_folders)
