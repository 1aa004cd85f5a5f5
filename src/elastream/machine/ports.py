"""Ports that stay ours until a daemon listens on them, and from one start of it to the next."""

import socket

from elastream.core.errors import BadInput
from elastream.machine.processes import IS_LINUX

LOOPBACK = "127.0.0.1"


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
