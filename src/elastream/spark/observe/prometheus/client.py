"""One question to a Prometheus server over its HTTP API: an answer of bounded size and time, or why there is none.

What comes back was written by others: numbers that are none are left out, labels are only compared, and an error of the
server is quoted as one clean line. Credentials go into a header of their own; no address with them is ever told. A
redirection is refused, because it would carry them elsewhere.
"""

from __future__ import annotations

import base64
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, NamedTuple, Protocol
from urllib import request
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit

from elastream.core.errors import ObservationFailed
from elastream.core.input_file import read_input

MOST_BYTES = 8 * 2**20
"""Of an answer: ten thousand executors with a minute of samples each have less."""
MOST_SERIES = 20_000
_PIECE = 64 * 1024


class SeriesPoint(NamedTuple):
    """A number and when it was scraped, by the clock of the server."""

    value: float
    utc_s: float


@dataclass(frozen=True, slots=True)
class LabelledSeries:
    """The samples of one series, oldest first."""

    labels: Mapping[str, str]
    points: tuple[SeriesPoint, ...]


class PrometheusClient:
    """Asks one server."""

    def __init__(
        self,
        url: str,
        *,
        token_file: Path | None = None,
        user: str | None = None,
        password_file: Path | None = None,
        timeout_s: float = 5.0,
    ) -> None:
        self.place = urlsplit(url).netloc
        """Where it is, as it is told."""
        self._url = url
        # A script may change its folder.
        self._token_file, self._password_file = _absolute(token_file), _absolute(password_file)
        self._user = user
        self._timeout_s = timeout_s
        self._opener = request.OpenerDirector()
        # Not the usual opener: that one also reads files and follows to wherever it is sent.
        for handler in (
            request.ProxyHandler(), request.HTTPHandler(), request.HTTPSHandler(), request.HTTPDefaultErrorHandler(),
            request.HTTPErrorProcessor(),
        ):  # fmt: skip
            self._opener.add_handler(handler)

    def ask(self, promql: str, utc_s: float | None = None) -> list[LabelledSeries]:
        """What a query evaluates to, at a time of the server's clock; ObservationFailed with the reason where not."""
        asked = {"query": promql} | ({} if utc_s is None else {"time": f"{utc_s:.3f}"})
        answer = _parse(self._post("/api/v1/query", urlencode(asked).encode()))
        kind, result = answer.get("resultType"), answer.get("result")
        try:
            if kind in ("scalar", "vector") and isinstance(result, list):
                found: list[Any] = [{"metric": {}, "value": result}] if kind == "scalar" else result
                return _bounded([_series(one["metric"], [one["value"]]) for one in found])
            if kind == "matrix" and isinstance(result, list):
                return _bounded([_series(one["metric"], one["values"]) for one in result])
        except (AttributeError, KeyError, TypeError, ValueError):
            pass
        raise ObservationFailed(f"its answer is no list of series ({str(kind)[:40]}); is it a Prometheus server?")

    def clock(self) -> tuple[float, float]:
        """The server's time, and by how much it is ahead of ours."""
        before_s = time.time()
        points = [point for one in self.ask("time()") for point in one.points]
        if len(points) != 1:
            raise ObservationFailed("it does not tell its time; is it a Prometheus server?")
        server_s = points[0].value
        return server_s, server_s - (before_s + time.time()) / 2

    def _post(self, path: str, body: bytes) -> bytes:
        asked = request.Request(f"{self._url}{path}", data=body, headers=self._headers(), method="POST")
        deadline_s = time.monotonic() + self._timeout_s
        try:
            with self._opener.open(asked, timeout=self._timeout_s) as answer:
                return _read(answer, deadline_s, self._timeout_s)
        except HTTPError as refusal:
            with refusal:
                raise ObservationFailed(_told(refusal)) from None
        except TimeoutError:
            raise ObservationFailed(f"no answer within {self._timeout_s:g} s") from None
        except URLError as wrong:
            if isinstance(wrong.reason, TimeoutError):
                raise ObservationFailed(f"no answer within {self._timeout_s:g} s") from None
            raise ObservationFailed(_spell(wrong.reason)) from None
        except (HTTPException, OSError, ValueError) as wrong:
            raise ObservationFailed(_spell(wrong)) from None

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        # Read anew each time: tokens of services are replaced while a job runs.
        if self._token_file is not None:
            headers["Authorization"] = f"Bearer {_read_secret(self._token_file)}"
        elif self._password_file is not None:
            pair = f"{self._user}:{_read_secret(self._password_file)}"
            headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        return headers


def _absolute(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser().absolute()


def _read_secret(path: Path) -> str:
    try:
        text = read_input(path).strip()
    except (OSError, ValueError) as wrong:
        raise ObservationFailed(f"the file {path} cannot be read: {_spell(wrong)}") from None
    # What is more than a line would end the header, and begin another one.
    if not text.isprintable() or not text or not text.isascii():
        raise ObservationFailed(f"the file {path} must hold one line, and nothing else")
    return text


class _Answer(Protocol):
    def read1(self, most: int, /) -> bytes: ...


def _read(answer: _Answer, deadline_s: float, timeout_s: float) -> bytes:
    """All of it, unless it is too large or comes too slowly: a timeout of a socket begins anew with every byte."""
    pieces, size = [], 0
    while piece := answer.read1(_PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > MOST_BYTES:
            raise ObservationFailed(f"its answer is larger than {MOST_BYTES // 2**20} MiB; narrow the query")
        if time.monotonic() > deadline_s:
            raise ObservationFailed(f"no whole answer within {timeout_s:g} s")
    return b"".join(pieces)


def _parse(text: bytes) -> dict[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ObservationFailed("its answer is no JSON; is it a Prometheus server?") from None
    if not isinstance(found, dict) or found.get("status") != "success" or not isinstance(found.get("data"), dict):
        raise ObservationFailed(
            f"it refuses: {str(found.get('error'))[:300]}" if isinstance(found, dict) else "no data"
        )
    data: dict[str, object] = found["data"]
    return data


def _told(refusal: HTTPError) -> str:
    """What the server said of a query that it does not take, or else its status."""
    try:
        found = json.loads(refusal.read(_PIECE))
        if isinstance(found, dict) and isinstance(found.get("error"), str):
            return f"it refuses: {found['error'][:300]}"
    except (ValueError, OSError, RecursionError, HTTPException):
        pass
    if 300 <= refusal.code < 400:
        return f"it sends elsewhere (HTTP {refusal.code}), which is not followed; set the address it has now"
    return f"HTTP {refusal.code}"


def _spell(wrong: object) -> str:
    return str(getattr(wrong, "strerror", None) or wrong)[:300]


def _bounded(found: list[LabelledSeries]) -> list[LabelledSeries]:
    if len(found) > MOST_SERIES:
        raise ObservationFailed(f"its answer has {len(found):,} series; narrow the query")
    return found


def _series(labels: Mapping[str, str], values: Sequence[Sequence[object]]) -> LabelledSeries:
    points = (SeriesPoint(float(str(value)), float(str(at_s))) for at_s, value in values)
    return LabelledSeries(
        {str(name): str(value) for name, value in labels.items()},
        tuple(point for point in points if math.isfinite(point.value) and math.isfinite(point.utc_s)),
    )
