"""A server on loopback that answers as it was told to, and remembers what it was asked."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

Answer = bytes | Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Answering:
    """By PromQL, what is answered: the whole text, or whatever a function does with the request."""

    answers: Mapping[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    url: str = ""


def vector(*series: tuple[Mapping[str, str], float], at_s: float = 0.0) -> bytes:
    return _told("vector", [{"metric": dict(labels), "value": [at_s, str(value)]} for labels, value in series])


def matrix(*series: tuple[Mapping[str, str], Sequence[tuple[float, float]]]) -> bytes:
    """Labels, and samples as (time, value)."""
    return _told(
        "matrix",
        [
            {"metric": dict(labels), "values": [[at_s, str(value)] for at_s, value in points]}
            for labels, points in series
        ],
    )


def clock() -> bytes:
    return _told("scalar", [time.time(), str(time.time())])


def _told(kind: str, result: object) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}).encode()


@contextmanager
def answering(answers: Mapping[str, Answer]) -> Iterator[Answering]:
    told = Answering(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            told.asked.append(form["query"][0])
            told.headers.append(dict(self.headers))
            answer = clock() if form["query"] == ["time()"] else told.answers[form["query"][0]]
            if callable(answer):
                # Whoever asks may have gone.
                with suppress(OSError):
                    answer(self)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    with serving(Handler) as port:
        told.url = f"http://127.0.0.1:{port}"
        yield told


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[int]:
    """A server on loopback: its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield int(server.server_address[1])
        finally:
            server.shutdown()
            thread.join()
