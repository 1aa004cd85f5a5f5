"""Folders that no other user of the machine can have made, filled or put in the place of ours.

A name in a folder that everybody can write, such as /tmp, may have been taken by anyone. So a folder is opened step by
step from the root, without following a link that others could have made, and owner and mode are those of what was
opened, not of what has the name a moment later. What is read is read from there.
"""

import errno
import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from elastream.core.errors import BadInput

# A folder that may be passed through but not listed can be opened too, where the system knows how.
_PASS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Linux follows as many.
_MOST_LINKS = 40
# Ours is a page at most; nobody is to fill our memory.
_MOST_BYTES = 1 << 20

_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFREG: "a file",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


class NotPrivate(BadInput):
    """A folder or file that another user made, or could have changed."""


@contextmanager
def private_folder(path: Path) -> Iterator[int]:
    """The descriptor of a folder that is ours and closed to others; FileNotFoundError if there is none."""
    with own_folder(path) as folder:
        mode = stat.S_IMODE(os.fstat(folder).st_mode)
        if mode & 0o077:
            raise NotPrivate(
                f"{path}: is yours, but others could enter it (mode {mode:04o}), so nothing in it was read; "
                f"see what is in it and remove it"
            )
        yield folder


@contextmanager
def own_folder(path: Path) -> Iterator[int]:
    """The same of one that may be open to others, who can then have put something into it."""
    way = _open_way(path)
    try:
        try:
            folder = os.open(path.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=way)
        except OSError as wrong:
            if isinstance(wrong, FileNotFoundError):
                raise
            raise _refuse(path, os.stat(path.name, dir_fd=way, follow_symlinks=False)) from wrong
    finally:
        os.close(way)
    try:
        found = os.fstat(folder)
        if found.st_uid != os.getuid():
            raise _refuse(path, found)
        yield folder
    finally:
        os.close(folder)


def read_private(folder: int, path: Path) -> str:
    """A file of ours, straight in that open folder; its whole path is for messages alone."""
    try:
        # A pipe would make us wait for somebody who writes.
        file = os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    except OSError as wrong:
        if wrong.errno in (errno.ELOOP, errno.ENXIO):
            raise _refuse(path, os.stat(path.name, dir_fd=folder, follow_symlinks=False)) from wrong
        raise
    with os.fdopen(file, encoding="utf-8") as opened:
        found = os.fstat(file)
        # Another name of the file may stand in a folder of somebody else.
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid() or found.st_nlink != 1:
            raise _refuse(path, found)
        if found.st_mode & 0o077:
            raise NotPrivate(
                f"{path}: is yours, but others could read or write it (mode {stat.S_IMODE(found.st_mode):04o}), so it "
                f"was not read; remove {path.parent}"
            )
        return opened.read(_MOST_BYTES)


def write_private(path: Path, text: str) -> None:
    """Write a new file in place of an old one, readable by nobody else at any moment."""
    # Never into what is there: it may be a link, or have another name elsewhere.
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)


def owner_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _open_way(path: Path) -> int:
    """The folder that holds `path`, reached through folders in which nobody else could exchange the next one."""
    left = list(reversed(path.absolute().parent.parts[1:]))
    at, here, links = Path("/"), os.open("/", _PASS), 0
    try:
        while True:
            _require_firm(path, at, os.fstat(here))
            if not left:
                return here
            name = left.pop()
            found = os.stat(name, dir_fd=here, follow_symlinks=False)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if found.st_uid not in _trusted() or links > _MOST_LINKS:
                    raise _refuse(path, found, at / name)
                target = Path(os.readlink(name, dir_fd=here))
                left += reversed(target.parts[1:] if target.is_absolute() else target.parts)
                if not target.is_absolute():
                    continue
                at, there = Path("/"), os.open("/", _PASS)
            else:
                try:
                    at, there = at / name, os.open(name, _PASS, dir_fd=here)
                except OSError as wrong:
                    raise NotPrivate(f"{path}: {at / name} cannot be entered: {wrong.strerror}") from wrong
            os.close(here)
            here = there
    except BaseException:
        os.close(here)
        raise


def _trusted() -> set[int]:
    # Seen from a container, what belongs to the machine's administrator may show another owner.
    return {os.getuid(), 0, Path("/").stat().st_uid}


def _require_firm(path: Path, parent: Path, found: os.stat_result) -> None:
    if found.st_uid not in _trusted():
        owner = owner_name(found.st_uid)
        raise NotPrivate(
            f"{path}: {parent} belongs to {owner}, who could put another folder in its place; name one in a folder of "
            f"your own"
        )
    # Where the sticky bit is set, only the owner of an entry can move it away.
    if found.st_mode & stat.S_ISVTX:
        return
    if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not _is_own_group(found.st_gid)):
        whose = f"of {owner_name(found.st_uid)}, mode {stat.S_IMODE(found.st_mode):04o}"
        raise NotPrivate(
            f"{path}: others can write {parent} ({whose}) and put another folder in its place; name one in a folder of "
            f"your own, or set TMPDIR to one"
        )


def _is_own_group(gid: int) -> bool:
    """A group with nobody else in it: many systems give one to every user, and let it write what the user makes."""
    try:
        me, group = pwd.getpwuid(os.getuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == me.pw_gid and group.gr_name == me.pw_name and set(group.gr_mem) <= {me.pw_name}


def _refuse(path: Path, found: os.stat_result, what: Path | None = None) -> NotPrivate:
    kind = _KINDS.get(stat.S_IFMT(found.st_mode), "neither file nor folder")
    named = "" if what is None else f"{what} "
    owner, me = owner_name(found.st_uid), owner_name(os.getuid())
    whose = f"{owner}" if found.st_uid == os.getuid() else f"{owner} and not of you, {me}"
    links = ", and has other names" if stat.S_ISREG(found.st_mode) and found.st_nlink > 1 else ""
    return NotPrivate(
        f"{path}: {named}is {kind} of {whose}{links}: nothing was read, ended or removed; name a folder of your own "
        f"with --folder, or have this one removed"
    )
