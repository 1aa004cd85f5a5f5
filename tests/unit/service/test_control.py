"""Who may act at the page of a run: attacked over real connections."""

import os
import pwd
import socket
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elastream.core.control import Control
from elastream.core.errors import BadInput
from elastream.loop.control_desk import ControlDesk
from elastream.render.page.feed import PageFeed
from elastream.service import access
from elastream.service.access import MOST_WRONG, Access, PageClient
from elastream.service.control import ELSEWHERE
from elastream.service.place import PagePlace
from elastream.service.server import PageServer
from elastream.service.token_file import read_token
from tests.unit.journal_samples import header, planner
from tests.unit.page_samples import calm
from tests.unit.service.asking import Answer, free_port, port_of, post, request

ME = pwd.getpwuid(os.getuid()).pw_name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "token"


@pytest.fixture
def desk() -> ControlDesk:
    return ControlDesk()


@pytest.fixture
def server(file: Path, desk: ControlDesk) -> Iterator[PageServer]:
    with PageServer(PageFeed(), place=PagePlace(port=free_port(), token=file), desk=desk) as server:
        server.begin_run(header(planner()))
        for one in calm(range(1, 4)):
            server.write(one)
        yield server


@pytest.fixture
def cookie(server: PageServer, file: Path) -> str:
    return sign_in(server, file).cookie


def sign_in(server: PageServer, file: Path) -> Answer:
    return post(server, "/session", {"token": file.read_text().strip()})


def wanted(desk: ControlDesk) -> Control:
    return desk.wanted


def test_the_token_is_made_for_its_owner_alone_and_stays(file: Path) -> None:
    token = read_token(file)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(token) >= 40
    assert read_token(file) == token


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_token_that_others_could_read_is_refused(file: Path, mode: int) -> None:
    read_token(file)
    file.chmod(mode)

    with pytest.raises(BadInput, match="others could read or write it"):
        read_token(file)


@pytest.mark.parametrize("text", ["", "short", "two words that are long enough for a token", "größer" * 10])
def test_a_token_that_could_be_guessed_is_refused(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o600)

    with pytest.raises(BadInput, match="it must hold one word of at least 24 characters"):
        read_token(file)


def test_a_link_in_the_place_of_the_token_is_not_followed(file: Path, tmp_path: Path) -> None:
    read_token(tmp_path / "other")
    file.symlink_to(tmp_path / "other")

    with pytest.raises(BadInput, match="is a link"):
        read_token(file)


def test_the_token_becomes_a_cookie_that_no_script_reads_and_no_other_site_sends(
    server: PageServer, file: Path
) -> None:
    answer = sign_in(server, file)

    assert answer.status == 204
    assert {part.strip() for part in answer.headers["Set-Cookie"].split(";")} >= {
        "HttpOnly",
        "SameSite=strict",
        "Path=/",
    }
    assert file.read_text().strip() not in str(answer.headers)


def test_who_has_the_token_acts_and_is_named(server: PageServer, cookie: str, desk: ControlDesk) -> None:
    answer = post(server, "/control", {"do": "pause"}, Cookie=cookie)

    assert (answer.status, answer.json()) == (202, {"asked": f"{ME} at 127.0.0.1 asks: pause"})
    _, (one,) = desk.fetch(0.0)
    assert (one.asked, one.who) == ("pause", f"{ME} at 127.0.0.1")


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ({"do": "dry-run"}, Control(mode="dry-run")),
        ({"do": "resume"}, Control(mode="running")),
        ({"do": "bounds", "low": 2, "high": 9}, Control(bounds=(2, 9))),
        ({"do": "configured bounds"}, Control()),
    ],
)
def test_each_action_is_left_at_the_desk(
    server: PageServer, cookie: str, desk: ControlDesk, order: dict[str, Any], expected: Control
) -> None:
    assert post(server, "/control", order, Cookie=cookie).status == 202
    assert desk.wanted == expected


def test_a_size_is_held_for_a_while(server: PageServer, cookie: str, desk: ControlDesk) -> None:
    assert post(server, "/control", {"do": "size", "workers": 8, "for_s": 1800}, Cookie=cookie).status == 202
    assert desk.wanted.limits == (8, 8)


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"do": "stop"},
        {"do": ["pause"]},
        {"do": "bounds"},
        {"do": "bounds", "low": 3, "high": 2},
        {"do": "bounds", "low": True, "high": 2},
        {"do": "bounds", "low": 1.5, "high": 2},
        {"do": "bounds", "low": 1, "high": 10**12},
        {"do": "size", "workers": "8", "for_s": 60},
        {"do": "size", "workers": 8, "for_s": -60},
        {"do": "size", "workers": 8, "for_s": 10**8},
    ],
)
def test_what_makes_no_sense_is_refused_with_a_line(
    server: PageServer, cookie: str, desk: ControlDesk, order: dict[str, Any]
) -> None:
    answer = post(server, "/control", order, Cookie=cookie)

    assert answer.status == 422
    assert answer.text.startswith("control: ")
    assert desk.wanted == Control()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Cookie": None}, 401),
        ({"Cookie": "elastream-PORT=guessed"}, 401),
        ({"Cookie": "elastream-PORT="}, 401),
        ({"Origin": None}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Host": "evil.example"}, 421),
    ],
)
def test_what_another_site_can_make_a_browser_send_does_nothing(
    server: PageServer, cookie: str, desk: ControlDesk, headers: dict[str, str | None], status: int
) -> None:
    given = {"Cookie": cookie, **headers}
    given["Cookie"] = given["Cookie"] and given["Cookie"].replace("PORT", f"{port_of(server)}")

    assert post(server, "/control", {"do": "pause"}, **given).status == status
    assert desk.wanted == Control()


def test_a_name_of_another_site_that_leads_to_us_does_nothing(server: PageServer, cookie: str) -> None:
    """A page at that name and its scripts agree on Host and Origin, and its browser believes them."""
    evil = f"evil.example:{port_of(server)}"
    assert post(server, "/control", {"do": "pause"}, Cookie=cookie, Host=evil, Origin=f"http://{evil}").status == 421
    assert post(server, "/session", {"token": "x" * 40}, Host=evil, Origin=f"http://{evil}").status == 421


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_actions_are_posted_and_nothing_else(server: PageServer, cookie: str, desk: ControlDesk, method: str) -> None:
    assert request(server, method, "/control", Cookie=cookie).status == 405
    assert desk.wanted == Control()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[1]", 400),
        (b"[" * 8000, 400),
        (b"\xff\xfe", 400),
        (b"{" + b" " * 10_000 + b"}", 413),
    ],
)
def test_a_body_that_is_none_is_refused(server: PageServer, cookie: str, body: bytes, status: int) -> None:
    assert post(server, "/control", body, Cookie=cookie).status == status
    assert post(server, "/session", body).status == status


def test_a_post_that_never_ends_is_let_go(server: PageServer, cookie: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "BODY_WITHIN_S", 0.1)
    head = (
        f"POST /control HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nCookie: {cookie}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=10) as connection:
        connection.sendall(head.encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 408")


def test_who_guesses_waits_and_nobody_else_does() -> None:
    now = [0.0]
    guarded = Access(token="t" * 40, clock=lambda: now[0])
    guesser, owner = PageClient("127.0.0.1", 1001), PageClient("127.0.0.1", 1000)

    def ask(client: PageClient, token: str) -> int:
        try:
            guarded.check_token(token, client)
        except access.RequestRefused as refused:
            return refused.status
        return 200

    assert [ask(guesser, f"guess {n}") for n in range(MOST_WRONG + 2)] == [401] * MOST_WRONG + [429] * 2
    # One right guess more would tell as much as any.
    assert ask(guesser, "t" * 40) == 429
    assert ask(owner, "t" * 40) == 200
    now[0] = access.WRONG_WITHIN_S
    assert ask(guesser, "t" * 40) == 200


def test_a_guessed_token_is_refused_and_after_some_also_the_right_one(server: PageServer, file: Path) -> None:
    found = [post(server, "/session", {"token": guess}).status for guess in ["", "x", 5, None, file.read_text()[:-2]]]

    assert found == [401] * 5
    answer = sign_in(server, file)
    assert (answer.status, 0 < int(answer.headers["Retry-After"]) <= 60) == (429, True)


def test_a_cookie_that_another_user_got_hold_of_is_worth_nothing(
    server: PageServer, cookie: str, desk: ControlDesk
) -> None:
    """Browsers send a cookie to every port of a host, so that a server of somebody else may be given ours."""
    mine = server._access.find_user
    server._access.find_user = lambda *connection: (mine(*connection) or 0) + 1

    assert post(server, "/control", {"do": "pause"}, Cookie=cookie).status == 401
    assert desk.wanted == Control()


def test_a_session_ends_when_it_is_ended_and_by_itself(server: PageServer, file: Path) -> None:
    first, second = sign_in(server, file).cookie, sign_in(server, file).cookie
    assert post(server, "/session/end", {}, Cookie=first).status == 204
    assert post(server, "/control", {"do": "resume"}, Cookie=first).status == 401
    assert post(server, "/control", {"do": "resume"}, Cookie=second).status == 202

    clock = server._access.clock
    server._access.clock = lambda: clock() + access.SESSION_S
    assert post(server, "/control", {"do": "resume"}, Cookie=second).status == 401


def test_without_a_token_nobody_can_act(desk: ControlDesk) -> None:
    with PageServer(PageFeed(), place=PagePlace(port=free_port()), desk=desk) as server:
        for token in ("", None, "None", "x" * 40):
            assert post(server, "/session", {"token": token}).status == 401
        assert post(server, "/control", {"do": "pause"}).status == 403
        told = request(server, "GET", "/session").json()
    assert (told["control"], "page.token" in told["missing"]) == (False, True)


def test_a_page_of_a_journal_says_that_the_run_is_elsewhere(file: Path) -> None:
    with PageServer(PageFeed(), place=PagePlace(port=free_port(), token=file)) as server:
        cookie = sign_in(server, file).cookie
        answer = post(server, "/control", {"do": "pause"}, Cookie=cookie)
        assert (answer.status, answer.text.strip()) == (409, ELSEWHERE)
        assert request(server, "GET", "/session").json()["missing"] == ELSEWHERE


def test_prometheus_shows_the_token_and_nobody_guesses_it_there(server: PageServer, file: Path) -> None:
    token = file.read_text().strip()
    assert request(server, "GET", "/metrics").status == 200
    assert request(server, "GET", "/metrics", Authorization=f"Bearer {token}").status == 200
    for wrong in ("Bearer x", f"Basic {token}", "Bearer", token, ""):
        assert request(server, "GET", "/metrics", Authorization=wrong).status == 401
    assert request(server, "GET", "/metrics", Authorization=f"Bearer {token}").status == 429


def test_whom_others_can_reach_shows_nothing_without_the_token(server: PageServer, file: Path) -> None:
    server._access.is_open = True
    token = file.read_text().strip()

    for path in ("/stream", "/metrics"):
        assert request(server, "GET", path).status == 401
    told = request(server, "GET", "/session").json()
    assert (told["look"], told["who"]) == (False, None)
    # The page itself says nothing of the run.
    assert "app-1" not in request(server, "GET", "/").text
    assert request(server, "GET", "/metrics", Authorization=f"Bearer {token}").status == 200
    assert request(server, "GET", "/metrics", Cookie=sign_in(server, file).cookie).status == 200
    # An address is no name that another site could have.
    assert request(server, "GET", "/session", Host="192.0.2.7:8620").status == 200
    assert request(server, "GET", "/session", Host="evil.example").status == 421


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7"])
def test_a_page_that_others_can_reach_needs_a_token(host: str) -> None:
    with pytest.raises(BadInput, match="whoever reaches this machine could look; name a file for the token"):
        PageServer(PageFeed(), place=PagePlace(host=host))


def test_an_address_of_another_machine_is_one_line(file: Path) -> None:
    with pytest.raises(BadInput, match=r"page.host: 192.0.2.7 is no address of this machine"):
        PageServer(PageFeed(), place=PagePlace(host="192.0.2.7", token=file))


def test_the_token_stands_in_no_log_and_in_nothing_that_is_served(
    server: PageServer, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    token = file.read_text().strip()
    sign_in(server, file)
    request(server, "GET", f"/?token={token}")
    served = [request(server, "GET", path).text for path in ("/", "/session", "/metrics", "/client/main.js")]

    assert token not in caplog.text + "".join(served) + repr(server) + repr(replace(server._place))


def test_behind_a_proxy_with_tls_the_cookie_goes_over_nothing_else(server: PageServer, file: Path) -> None:
    token, host = file.read_text().strip(), f"127.0.0.1:{port_of(server)}"

    answer = post(server, "/session", {"token": token}, Origin=f"https://{host}")

    assert "Secure" in answer.headers["Set-Cookie"]
    assert "Secure" not in sign_in(server, file).headers["Set-Cookie"]


def test_the_pages_of_two_runs_do_not_end_each_others_sessions(server: PageServer, file: Path) -> None:
    """A browser keeps one cookie of a name for all ports of a host."""
    with PageServer(PageFeed(), place=PagePlace(port=free_port(), token=file)) as other:
        names = [sign_in(one, file).cookie.partition("=")[0] for one in (server, other)]

    assert len(set(names)) == 2
