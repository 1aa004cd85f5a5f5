"""The master's page: asked for with a signed token, and believed only if it is the master that listens there."""

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from elastream.daemons.processes import Process, process, this_process
from elastream.development.cluster.status import alive_workers, master_page, token

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="who listens is seen in /proc")

KEY = base64.urlsafe_b64encode(bytes(range(32))).decode().rstrip("=")


class Page(BaseHTTPRequestHandler):
    """As a master answers those who have the key, and those who have not."""

    asked: list[str | None]

    def do_GET(self) -> None:
        given = self.headers["Authorization"]
        self.asked.append(given)
        self.send_response(200 if given and self.path == "/json/" else 403)
        self.end_headers()
        self.wfile.write(b'{"workers": [{"state": "ALIVE"}, {"state": "DEAD"}]}')

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def web() -> Iterator[str]:
    Page.asked = []
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        serving = threading.Thread(target=server.serve_forever, args=[0.01])
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        serving.join()


def test_what_the_master_says_is_believed(web: str) -> None:
    assert alive_workers(master_page(web, this_process(), KEY)) == 1
    assert len(Page.asked) == 1


def test_another_process_on_its_port_is_neither_asked_nor_believed(web: str) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:
        try:
            master = process(other.pid)
            assert master is not None
            assert master_page(web, master, KEY) == {}
        finally:
            other.kill()
    gone = Process(pid=1, started="before the flood", owner=0)
    assert master_page(web, gone, KEY) == {}
    assert Page.asked == []


def test_without_an_answer_there_is_no_page() -> None:
    assert master_page("http://127.0.0.1:1", this_process(), KEY) == {}


def test_a_token_is_signed_with_the_key_and_does_not_last() -> None:
    header, claims, signature = token(KEY, 1000.5).split(".")

    def read(part: str) -> bytes:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))

    assert json.loads(read(header)) == {"alg": "HS256", "typ": "JWT"}
    assert json.loads(read(claims)) == {"exp": 1060}
    assert read(signature) == hmac.new(bytes(range(32)), f"{header}.{claims}".encode(), hashlib.sha256).digest()
