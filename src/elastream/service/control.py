"""What a page asks of the loop: posted as JSON, left at the loop's desk, done with its next look.

{"do": "pause"}  "dry-run"  "resume"  "configured bounds"  "no size"
{"do": "bounds", "low": 1, "high": 12}
{"do": "size", "workers": 8, "for_s": 1800}
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from elastream.core.control import HeldSize, Intervention
from elastream.core.errors import BadInput, CannotRun
from elastream.loop.control_desk import ControlDesk
from elastream.service.access import SESSION_S, Access, RequestRefused, cookie_name, read_order, spell

ELSEWHERE = "this page shows a journal: the run goes on elsewhere, and cannot be controlled from here"
NO_TOKEN = "nothing can be controlled here: no token is configured (page.token)"


@dataclass(frozen=True, slots=True)
class ControlRoutes:
    """Answers requests that begin a session, and those that ask something of the loop."""

    access: Access
    desk: ControlDesk | None
    """None: the loop is not here."""

    async def tell(self, request: Request) -> Response:
        """What whoever asks may do."""
        has_session = self.access.has_session(request)
        missing = ELSEWHERE if self.desk is None else NO_TOKEN if self.access.token is None else None
        return JSONResponse(
            {
                "control": missing is None,
                "missing": missing,
                "session": has_session,
                "look": has_session or not self.access.is_open,
                "who": str(self.access.client(request)) if has_session else None,
            }
        )

    async def begin(self, request: Request) -> Response:
        """Exchange the token for a cookie."""
        order = await read_order(request)
        secret = self.access.begin_session(request, order.get("token"))
        answer = Response(status_code=204)
        # Where a proxy has TLS, the cookie goes over nothing else.
        is_secure = request.headers.get("origin", "").startswith("https:")
        answer.set_cookie(
            cookie_name(request), secret, max_age=int(SESSION_S), secure=is_secure, httponly=True, samesite="strict"
        )
        return answer

    async def end(self, request: Request) -> Response:
        """Forget the session."""
        self.access.end_session(request)
        answer = Response(status_code=204)
        answer.delete_cookie(cookie_name(request), httponly=True, samesite="strict")
        return answer

    async def act(self, request: Request) -> Response:
        """Leave a wish at the desk."""
        who = self.access.check_act(request)
        if self.desk is None:
            raise RequestRefused(409, ELSEWHERE)
        try:
            one = parse_intervention(await read_order(request), who=str(who), utc_s=time.time())
            self.desk.ask(one)
        except BadInput as wrong:
            raise RequestRefused(422, spell(wrong)) from None
        except CannotRun as busy:
            raise RequestRefused(503, spell(busy), 5.0) from None
        return JSONResponse({"asked": one.sentence()}, status_code=202)


def parse_intervention(order: Mapping[str, Any], *, who: str, utc_s: float) -> Intervention:
    """What somebody posted; BadInput where it makes no sense."""
    match order.get("do"):
        case "pause" | "dry-run" | "resume" | "configured bounds" | "no size" as asked:
            return Intervention(asked=asked, who=who, utc_s=utc_s)
        case "bounds":
            return Intervention(
                asked="bounds", who=who, utc_s=utc_s, bounds=(_whole(order, "low"), _whole(order, "high"))
            )
        case "size":
            size = HeldSize(workers=_whole(order, "workers"), until_utc_s=utc_s + _whole(order, "for_s"))
            return Intervention(asked="size", who=who, utc_s=utc_s, size=size)
    raise BadInput("control: do: it must be pause, dry-run, resume, bounds, configured bounds, size or no size")


def _whole(order: Mapping[str, Any], name: str) -> int:
    found = order.get(name)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 < found < 10**9:
        raise BadInput(f"control: {name}: it must be a whole number, more than 0")
    return found
