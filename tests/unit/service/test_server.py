"""The server of a page, asked over real connections."""

import errno
import http.client
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.journal.writer import journal_files
from elastream.render.page.feed import PageFeed
from elastream.render.page.skeleton import SERVED_SCRIPTS, STYLES
from elastream.service import hub
from elastream.service import server as serving
from elastream.service.place import PagePlace
from elastream.service.server import PageServer
from tests.unit.journal_samples import header, planner, record
from tests.unit.page_samples import calm, kept, look, query
from tests.unit.service.asking import WAIT_S, free_port, port_of, post


@pytest.fixture
def server() -> Iterator[PageServer]:
    with PageServer(PageFeed(), place=PagePlace(port=free_port())) as server:
        server.begin_run(header(planner()))
        for one in calm(range(1, 4)):
            server.write(one)
        yield server


def await_true(holds: Callable[[], bool]) -> None:
    until_s = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.01)


Ask = Callable[..., http.client.HTTPResponse]


@pytest.fixture
def ask() -> Iterator[Ask]:
    """Asks a server; what was opened for it is closed at the end."""
    opened: list[tuple[http.client.HTTPConnection, http.client.HTTPResponse]] = []

    def ask(server: PageServer, path: str, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", port_of(server), timeout=WAIT_S)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        opened.append((connection, answer))
        return answer

    yield ask
    for connection, answer in opened:
        answer.close()
        connection.close()


def events(answer: http.client.HTTPResponse, last: str) -> list[tuple[str, str]]:
    """Kind and place of the events up to the first of a kind."""
    found, place = [], ""
    while line := answer.readline().decode().rstrip("\n"):
        pass
    while True:
        line = answer.readline().decode().rstrip("\n")
        if line.startswith("id: "):
            place = line[4:]
        elif line.startswith("event: "):
            found.append((line[7:], place))
            place = ""
            if found[-1][0] == last:
                return found


def test_the_page_runs_nothing_that_stands_in_it(ask: Ask, server: PageServer) -> None:
    answer = ask(server, "/")
    text = answer.read().decode()

    assert answer.status == 200
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "<script>" not in text
    assert "style=" not in text


def test_its_scripts_and_styles_are_served_and_no_other_file(ask: Ask, server: PageServer) -> None:
    for name in (*SERVED_SCRIPTS, *STYLES):
        assert ask(server, f"/client/{name}").status == 200
    for path in ("/client/feed.py", "/client/..%2ffeed.py", "/client/../feed.py", "/etc/passwd", "/client/"):
        assert ask(server, path).status == 404


def test_prometheus_is_answered_beside_the_page(ask: Ask, server: PageServer) -> None:
    events(ask(server, "/stream"), "now")
    answer = ask(server, "/metrics")
    text = answer.read().decode()

    assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "elastream_ticks_total{" in text
    assert "} 3.0" in text


def test_who_loses_the_stream_goes_on_where_it_was(ask: Ask, server: PageServer) -> None:
    first = events(ask(server, "/stream"), "now")
    assert [kind for kind, _ in first] == ["run", "ticks", "lines", "spans", "summary", "now"]
    place = first[1][1]

    again = events(ask(server, "/stream", Last_Event_ID=place), "now")
    assert "ticks" not in [kind for kind, _ in again]

    nonsense = events(ask(server, "/stream", Last_Event_ID="../../x"), "now")
    assert [kind for kind, _ in nonsense] == [kind for kind, _ in first]


def test_a_name_that_is_not_ours_is_refused(ask: Ask, server: PageServer) -> None:
    """A page of somebody else can make a browser ask for a name of its own that leads to us."""
    assert ask(server, "/", Host="evil.example").status == 421
    assert ask(server, "/stream", Host="evil.example:8620").status == 421
    assert ask(server, "/", Host=f"localhost:{port_of(server)}").status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "NONSENSE"])
def test_nothing_can_be_done_to_it(ask: Ask, server: PageServer, method: str) -> None:
    assert ask(server, "/", method).status in (400, 405)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(200)),
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET " + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"b" * 2_000_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"\r\n" * 5000,
    ],
)
def test_garbage_is_refused_and_the_next_one_is_answered(ask: Ask, server: PageServer, garbage: bytes) -> None:
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=WAIT_S) as connection:
        try:
            connection.sendall(garbage)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(200)
        except OSError as gone:
            # Let go while it was still sending, or between that and the end of it.
            if gone.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
                raise
            answer = b""
    assert answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 505"))
    assert ask(server, "/").status == 200


def test_a_head_that_comes_in_one_piece_is_too_long_all_the_same(ask: Ask, server: PageServer) -> None:
    assert ask(server, "/", X="a" * 17_000).status == 431
    assert ask(server, "/", X="a" * 15_000).status == 200


def test_who_asks_for_nothing_is_let_go(ask: Ask, server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "REQUEST_WITHIN_S", 0.1)
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=WAIT_S) as connection:
        assert connection.recv(1) == b""


def test_more_connections_than_are_allowed_are_turned_away(
    ask: Ask, server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    streams = [ask(server, "/stream") for _ in range(3)]

    address = ("127.0.0.1", port_of(server))
    with (
        socket.create_connection(address, timeout=WAIT_S) as connection,
        suppress(ConnectionResetError, BrokenPipeError),
    ):
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(1) == b""

    for stream in streams:
        stream.close()


def test_a_crowd_that_asks_for_nothing_keeps_nobody_out(
    ask: Ask, server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    with ExitStack() as crowd:
        stream = ask(server, "/stream")
        for _ in range(20):
            crowd.enter_context(socket.create_connection(("127.0.0.1", port_of(server)), timeout=WAIT_S))

        assert ask(server, "/").status == 200
        events(stream, "now")


def test_who_reads_nothing_is_let_go_with_all_that_waits_for_it(
    server: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "READ_WITHIN_S", 0.2)
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(WAIT_S)
        connection.connect(("127.0.0.1", port_of(server)))
        connection.sendall(b"GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await_true(lambda: len(server.hub.viewers) == 1)
        # More than systems hold between the two, in fewer messages than a viewer may leave unread.
        long = look(20.0, query(20.0, name="n" * 600_000))
        for number in range(14):
            server.write(kept(4 + number, replace(long, at_s=20.0 + number)))
        await_true(lambda: not server.hub.viewers)


def test_for_who_has_the_token_somebody_who_has_not_is_let_go(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "MOST_VIEWERS", 2)
    place = PagePlace(port=free_port(), token=tmp_path / "token")
    with PageServer(PageFeed(), place=place) as server:
        strangers = [ask(server, "/stream") for _ in range(2)]
        assert ask(server, "/stream").status == 503
        cookie = post(server, "/session", {"token": (tmp_path / "token").read_text().strip()}).cookie
        known = [ask(server, "/stream", Cookie=cookie) for _ in range(2)]
        assert [one.status for one in known] == [200, 200]
        assert ask(server, "/stream", Cookie=cookie).status == 503
        assert {one.is_known for one in server.hub.viewers} == {True}
        assert all(b"over" not in stranger.read() for stranger in strangers)


@pytest.mark.parametrize(
    "text",
    ["", "{", "\x00" * 5000, "[" * 5000, '{"schema":99}\n{"number":1}\n', '{"schema":4}\n', "HEADER{torn", "HEADER5\n"],
)
def test_whatever_was_recorded_before_the_run_has_its_page(ask: Ask, tmp_path: Path, text: str) -> None:
    record(tmp_path, [100.0])
    file = journal_files(tmp_path)[0]
    file.write_text(text.replace("HEADER", file.read_text().splitlines()[0] + "\n"))
    record(tmp_path, [100.0])

    with PageServer(PageFeed(), place=PagePlace(port=free_port()), history=tmp_path) as server:
        server.begin_run(header(planner()))
        server.write(calm([1])[0])
        assert next(kind for kind, _ in events(ask(server, "/stream"), "now")) == "run"


def test_a_history_that_breaks_is_told_and_the_page_is_served(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(serving, "JournalFollower", fail)
    with PageServer(PageFeed(), place=PagePlace(port=free_port()), history=tmp_path) as server:
        assert ask(server, "/").status == 200
    assert "no space left on device" in caplog.text


def test_at_the_end_of_the_run_the_stream_ends_with_a_word(ask: Ask, server: PageServer) -> None:
    answer = ask(server, "/stream")
    events(answer, "now")

    server.close()

    assert b"event: over" in answer.read()


def test_a_port_that_is_taken_is_told_in_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(BadInput, match=r"page: port \d+ cannot be taken"):
            PageServer(PageFeed(), place=PagePlace(port=taken.getsockname()[1]))


def test_what_an_earlier_run_has_recorded_is_shown_as_well(ask: Ask, tmp_path: Path) -> None:
    record(tmp_path, [100.0, 100.0, 100.0])

    with PageServer(PageFeed(), place=PagePlace(port=free_port()), history=tmp_path) as server:
        answer = ask(server, "/stream")
        assert [kind for kind, _ in events(answer, "now")][:2] == ["run", "ticks"]
