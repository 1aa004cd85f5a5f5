"""Who may look at a page, and who may act there.

A token is exchanged for a session, whose secret a browser keeps in a cookie that no script can read and no other site
makes it send. A cookie is sent to every port of a host, though, so that a server of another user may be given ours: a
session is therefore worth something only to the address, and on this machine to the user, that began it.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
import pwd
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response

from elastream.core.errors import clip
from elastream.core.printable import one_line

BODY_BYTES = 8 * 1024
BODY_WITHIN_S = 10.0
SESSION_S = 12 * 3600.0
MOST_SESSIONS = 64
MOST_WRONG = 5
"""Guesses of one client within the time below; after that it waits, with the right token too."""
WRONG_WITHIN_S = 60.0
_MOST_CLIENTS = 1000


class PageClient(NamedTuple):
    """The other end of a connection."""

    address: str
    uid: int | None = None
    """Of a process of this machine, where the system tells whose it is."""

    def __str__(self) -> str:
        if self.uid is None:
            return self.address
        try:
            name = pwd.getpwuid(self.uid).pw_name
        except KeyError:
            name = f"user {self.uid}"
        return f"{name} at {self.address}"


class RequestRefused(Exception):
    """A request that is not answered, with the status and a line that says why."""

    def __init__(self, status: int, says: str, wait_s: float | None = None) -> None:
        super().__init__(says)
        self.status, self.says, self.wait_s = status, says, wait_s

    def answer(self) -> Response:
        """What the client is told."""
        headers = {} if self.wait_s is None else {"Retry-After": f"{max(1, round(self.wait_s))}"}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return PlainTextResponse(f"{self.says}\n", status_code=self.status, headers=headers)


@dataclass(slots=True)
class _Session:
    client: PageClient
    ends_s: float


@dataclass(slots=True)
class Access:
    """The token, and the sessions that were begun with it. Used in the server's thread only."""

    token: str | None = field(default=None, repr=False)
    """None: nobody can act, and everybody who reaches the page may look."""
    names: frozenset[str] = frozenset()
    """Of this host; a request for another name is refused."""
    is_open: bool = False
    """Whether it can be reached from other hosts: then nobody looks without the token."""
    find_user: Callable[[str, int, int], int | None] = lambda address, port, to_port: None
    clock: Callable[[], float] = time.monotonic
    _sessions: OrderedDict[bytes, _Session] = field(default_factory=OrderedDict)
    _wrong: OrderedDict[PageClient, deque[float]] = field(default_factory=OrderedDict)

    def is_ours(self, host: str) -> bool:
        """Whether a request that names this host can be meant for us. No other site can be an address of ours."""
        name = name_of(host)
        return name in self.names or (self.is_open and _is_address(name))

    def client(self, request: Request) -> PageClient:
        """Who asks."""
        address, port = request.client or ("unknown", 0)
        _, to_port = request.scope.get("server") or ("", 0)
        return PageClient(address, self.find_user(address, port, to_port or 0))

    def check_look(self, request: Request) -> None:
        """Raise RequestRefused unless the client may look."""
        given = request.headers.get("authorization")
        if given is not None:
            scheme, _, token = given.partition(" ")
            self.check_token(token.strip() if scheme.lower() == "bearer" else "", self.client(request))
        elif self.is_open and not self.has_session(request):
            raise RequestRefused(401, "who looks from elsewhere needs the token")

    def check_act(self, request: Request) -> PageClient:
        """Raise RequestRefused unless it is a person of ours at a page of ours who acts; say who it is."""
        check_origin(request)
        if self.token is None:
            raise RequestRefused(403, "nothing can be controlled here: no token is configured (page.token)")
        if not self.has_session(request):
            raise RequestRefused(401, "who acts needs the token")
        return self.client(request)

    def begin_session(self, request: Request, token: object) -> str:
        """The secret of a new session, for the token."""
        check_origin(request)
        client = self.client(request)
        self.check_token(token if isinstance(token, str) else "", client)
        secret = secrets.token_urlsafe(32)
        self._sessions[_hash(secret)] = _Session(client, self.clock() + SESSION_S)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return secret

    def end_session(self, request: Request) -> None:
        """Forget the session of a request."""
        check_origin(request)
        self._sessions.pop(_hash(request.cookies.get(cookie_name(request), "")), None)

    def has_session(self, request: Request) -> bool:
        """Whether somebody who had the token asks."""
        secret = request.cookies.get(cookie_name(request))
        # What is looked up is a hash: how long it takes says nothing of the secret.
        found = self._sessions.get(_hash(secret)) if secret else None
        return found is not None and self.clock() < found.ends_s and found.client == self.client(request)

    def check_token(self, given: str, client: PageClient) -> None:
        """Raise RequestRefused unless it is the token, or where the client has guessed too often."""
        now = self.clock()
        wrong = self._wrong.get(client, deque())
        while wrong and now - wrong[0] >= WRONG_WITHIN_S:
            wrong.popleft()
        if len(wrong) >= MOST_WRONG:
            raise RequestRefused(429, "too many wrong tokens; wait a minute", WRONG_WITHIN_S - (now - wrong[0]))
        if self.token is not None and hmac.compare_digest(_hash(given), _hash(self.token)):
            self._wrong.pop(client, None)
            return
        wrong.append(now)
        self._wrong[client] = wrong
        self._wrong.move_to_end(client)
        while len(self._wrong) > _MOST_CLIENTS:
            self._wrong.popitem(last=False)
        raise RequestRefused(
            401, "this is not the token" if self.token is not None else "no token is configured (page.token)"
        )


def cookie_name(request: Request) -> str:
    """Of this server's sessions: a browser keeps those of all servers of a host together."""
    _, port = request.scope.get("server") or ("", 0)
    return f"elastream-{port}"


def check_origin(request: Request) -> None:
    """Raise RequestRefused unless a page of ours sends this: for whatever changes or costs something."""
    origin, host = request.headers.get("origin", ""), request.headers.get("host", "")
    if urlsplit(origin).netloc.lower() != host.lower() or urlsplit(origin).scheme not in ("http", "https"):
        raise RequestRefused(403, "this was not sent by a page of this server")
    if request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise RequestRefused(403, "this was not sent by a page of this server")


async def read_order(request: Request) -> dict[str, Any]:
    """The JSON object that was posted; RequestRefused where it is something else, too long or does not come.

    Browsers ask before they send JSON to another site, and we say no.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "post JSON")
    try:
        found = json.loads(await _read_body(request))
    except (ValueError, RecursionError):
        raise RequestRefused(400, "this is not JSON") from None
    if not isinstance(found, dict):
        raise RequestRefused(400, "post a JSON object")
    return found


async def _read_body(request: Request) -> bytes:
    body = b""
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            async for piece in request.stream():
                body += piece
                if len(body) > BODY_BYTES:
                    raise RequestRefused(413, f"at most {BODY_BYTES} bytes are read")
    except TimeoutError:
        raise RequestRefused(408, "the request did not come to its end") from None
    except ClientDisconnect:
        raise RequestRefused(400, "the request broke off") from None
    return body


def name_of(host: str) -> str:
    """Of `localhost:8000` or `[::1]:8000`, what stands before the port."""
    if host.startswith("["):
        return host.partition("]")[0][1:].lower()
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def spell(reason: Exception) -> str:
    """An error as one line that a client may have."""
    return clip(one_line(str(reason)))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
