"""A reserved port stays ours while nobody listens on it, and lets the one listen for whom it was reserved."""

import socket
import sys

import pytest

from elastream.core.errors import BadInput
from elastream.daemons.ports import LOOPBACK, ReservedPort

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a port is let go at once")


def test_a_daemon_can_listen_on_it_again_and_again() -> None:
    reserved = ReservedPort("broker", None)
    try:
        for _ in range(2):
            # As a JVM does: with the address allowed to be used again.
            with socket.create_server((LOOPBACK, reserved.number)):
                socket.create_connection((LOOPBACK, reserved.number)).close()
    finally:
        reserved.close()


def test_nobody_else_gets_it_meanwhile() -> None:
    reserved = ReservedPort("broker", None)
    try:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind((LOOPBACK, reserved.number))
    finally:
        reserved.close()


def test_a_port_that_somebody_listens_on_is_refused_by_name() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BadInput, match=f"broker: port: {port} cannot be had .*in use.*; name another one"):
            ReservedPort("broker", port)
