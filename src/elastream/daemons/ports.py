"""Ports that stay ours until a daemon listens on them, and from one start of it to the next."""

import contextlib
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.daemons.processes import IS_LINUX, PROC, Process

LOOPBACK = "127.0.0.1"
# Of /proc/net/tcp.
_LISTENING = "0A"


class ReservedPort:
    """A port of loopback, bound but not listened on; any free one if none is named.

    Linux lets a second socket bind it if both allow that, as a JVM's does, and gives it to nobody who asks for any free
    port. Other systems would refuse the second one, so there the port is let go at once.
    """

    def __init__(self, thing: str, port: int | None) -> None:
        self._socket = socket.socket()
        try:
            if port is not None:
                # What is left of an earlier daemon's connections does not count.
                self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((LOOPBACK, port or 0))
        except OSError as taken:
            self._socket.close()
            raise BadInput(f"{thing}: port: {port} cannot be had ({taken.strerror}); name another one") from taken
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.number = int(self._socket.getsockname()[1])
        if not IS_LINUX:
            self.close()

    def close(self) -> None:
        self._socket.close()


def listens(owner: Process, port: int) -> bool:
    """Whether it is this process, and not one of somebody else, that accepts connections to a port of this machine."""
    if not owner.is_running:
        return False
    if not IS_LINUX:
        return True
    sockets = {
        f"socket:[{rest[5]}]"
        for family in ("tcp", "tcp6")
        for _, local, _, state, *rest in map(str.split, _read(PROC / "net" / family).splitlines()[1:])
        if state == _LISTENING and int(local.rpartition(":")[2], 16) == port
    }
    return not sockets.isdisjoint(_open_files(owner.pid))


def connection_owner(address: str, port: int, to_port: int) -> int | None:
    """The user who holds the other end of an IPv4 connection to a port of this machine; None if it is not known.

    It is known of processes of this machine, where the system tells of them.
    """
    try:
        # As the kernel writes it: the bytes of the address in the machine's order.
        number = int.from_bytes(socket.inet_aton(address), sys.byteorder)
    except OSError:
        return None
    # A program that speaks both versions of IP has the same at the end of a longer address.
    theirs, ours = f"{number:08X}:{port:04X}", f":{to_port:04X}"
    for family in ("tcp", "tcp6"):
        for _, local, remote, _, *rest in map(str.split, _read(PROC / "net" / family).splitlines()[1:]):
            if local.endswith(theirs) and remote.endswith(ours):
                return int(rest[3])
    return None


def _open_files(pid: int) -> Iterator[str]:
    with contextlib.suppress(OSError):
        for file in (PROC / str(pid) / "fd").iterdir():
            # Others are opened and closed while we look.
            with contextlib.suppress(FileNotFoundError):
                yield str(file.readlink())


def _read(path: Path) -> str:
    """Nothing of a family of addresses that this system has not."""
    try:
        return path.read_text()
    except OSError:
        return ""
