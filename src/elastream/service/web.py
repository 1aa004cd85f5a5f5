"""The pages that are served: one run's page, its scripts, and its stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from functools import lru_cache
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as AsgiMessage

from elastream.loop.control_desk import ControlDesk
from elastream.render.html import element
from elastream.render.page.feed import FeedMessage, FeedPlace, parse_place
from elastream.render.page.skeleton import SERVED_SCRIPTS, STYLES, make_body, make_head, read_client
from elastream.service.access import Access, RequestRefused
from elastream.service.control import ControlRoutes
from elastream.service.hub import Hub
from elastream.service.metrics import CONTENT_TYPE, RunMetrics
from elastream.service.what_if import WhatIfRoutes

HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""On every answer. Nothing is loaded from anywhere else, nothing runs that stands in the page itself."""

HEAD_BYTES = 16 * 1024
"""Of a request. What comes in one piece is parsed before anybody can count it."""
KEEP_ALIVE_S = 15.0
"""A line that says nothing, so that whatever stands between us and a reader does not think that nobody is there."""
TYPES = {".js": "text/javascript", ".css": "text/css"}


class Guarded:
    """Answers only requests for this host, and puts our headers on every answer.

    A page of somebody else may make a browser ask for another name that leads to us; such a request names that name.
    """

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, pass on, and add."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def send_guarded(message: AsgiMessage) -> None:
            if message["type"] == "http.response.start":
                ours = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *ours]
            await send(message)

        if sum(len(name) + len(value) for name, value in scope["headers"]) > HEAD_BYTES:
            await PlainTextResponse("the head is too long\n", status_code=431)(scope, receive, send_guarded)
            return
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if not self._access.is_ours(host):
            refusal = PlainTextResponse("this page is not served by that name (page.names)\n", status_code=421)
            await refusal(scope, receive, send_guarded)
            return
        await self._inner(scope, receive, send_guarded)


def make_application(
    hub: Hub, metrics: RunMetrics, access: Access, desk: ControlDesk | None, journal: Path | None = None
) -> ASGIApp:
    """What answers requests for the page of a hub's run."""
    document = _make_document()

    async def show(request: Request) -> Response:
        return Response(document, media_type="text/html")

    async def give(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in (*SERVED_SCRIPTS, *STYLES):
            return PlainTextResponse("there is no such file\n", status_code=404)
        return Response(read_client(name), media_type=TYPES[name[name.rindex(".") :]])

    async def stream(request: Request) -> Response:
        access.check_look(request)
        is_known = access.has_session(request)
        if not hub.make_room(is_known=is_known):
            raise RequestRefused(503, "as many look on as can; sign in, or try again", 10.0)
        # What was put and is still to be folded belongs to what there is.
        hub.pump()
        after = parse_place(request.headers.get("last-event-id", ""))
        return StreamingResponse(_events(hub, after, is_known), media_type="text/event-stream")

    async def scrape(request: Request) -> Response:
        access.check_look(request)
        hub.pump()
        return Response(metrics.scrape(), media_type=CONTENT_TYPE)

    async def refuse(request: Request, reason: Exception) -> Response:
        assert isinstance(reason, RequestRefused)
        return reason.answer()

    control, what_if = ControlRoutes(access, desk), WhatIfRoutes(access, journal)
    routes = [
        Route("/", show),
        Route("/client/{name}", give),
        Route("/stream", stream),
        Route("/metrics", scrape),
        Route("/session", control.tell),
        Route("/session", control.begin, methods=["POST"]),
        Route("/session/end", control.end, methods=["POST"]),
        Route("/control", control.act, methods=["POST"]),
        Route("/what-if", what_if.tell),
        Route("/what-if", what_if.ask, methods=["POST"]),
    ]
    return Guarded(Starlette(routes=routes, exception_handlers={RequestRefused: refuse}), access)


async def _events(hub: Hub, after: FeedPlace | None, is_known: bool) -> AsyncIterator[bytes]:
    """Server-sent events; a client that lost the stream says what it had, and waits a little before it comes back."""
    yield b"retry: 2000\n\n"
    # A long past is made ready as it is read, so that a slow reader has no memory of ours.
    for message in hub.feed.catch_up(after):
        yield _event(message)
        after = message.place or after
    with hub.follow(after, is_known=is_known) as (there, viewer):
        for message in there:
            yield _event(message)
        while True:
            try:
                message_or_end = await asyncio.wait_for(viewer.waiting.get(), KEEP_ALIVE_S)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if message_or_end is None:
                break
            yield _event(message_or_end)
    if not viewer.is_slow:
        yield b"event: over\ndata: {}\n\n"


@lru_cache(maxsize=8)
def _event(message: FeedMessage) -> bytes:
    """As it is sent: made once for all who look on."""
    place = f"id: {message.place}\n" if message.place is not None else ""
    return f"{place}event: {message.kind}\ndata: {message.data}\n\n".encode()


def _make_document() -> str:
    head = make_head(
        "Elastream",
        *(element("link", rel="stylesheet", href=f"client/{name}") for name in STYLES),
    )
    scripts = (element("script", src=f"client/{name}") for name in SERVED_SCRIPTS)
    body = element("body", element("main", make_body(served=True)), *scripts)
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"
