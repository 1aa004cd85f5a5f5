"""Asks a server over real connections."""

import http.client
import json
import socket
from typing import Any

from elastream.service.server import PageServer

WAIT_S = 10.0


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def port_of(server: PageServer | str) -> int:
    """Of a server, or of its address."""
    address = server if isinstance(server, str) else server.address
    return int(address.rstrip("/").rpartition(":")[2])


class Answer:
    """What came back, read to its end."""

    def __init__(self, answer: http.client.HTTPResponse) -> None:
        self.status, self.headers, self.text = answer.status, answer.headers, answer.read().decode()

    @property
    def cookie(self) -> str:
        """As a browser sends it back."""
        return self.headers["Set-Cookie"].partition(";")[0]

    def json(self) -> Any:
        return json.loads(self.text)


def post(server: PageServer | str, path: str, order: object, **headers: str | None) -> Answer:
    """As a script of the page itself posts it, unless headers say otherwise; None leaves one out."""
    ours = {"Origin": f"http://127.0.0.1:{port_of(server)}", "Content-Type": "application/json"}
    body = order if isinstance(order, bytes) else json.dumps(order).encode()
    return request(server, "POST", path, body, **{**ours, **{key.replace("_", "-"): headers[key] for key in headers}})


def request(
    server: PageServer | str, method: str, path: str, body: bytes | None = None, **headers: str | None
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=WAIT_S)
    try:
        connection.request(
            method, path, body, {key.replace("_", "-"): one for key, one in headers.items() if one is not None}
        )
        return Answer(connection.getresponse())
    finally:
        connection.close()
