"""What might have been, for whoever looks at a page: simulated in a process of its own, one at a time.

{"policy": "foresight", "low": 1, "high": 8, "slo_s": 20, "recent_s": 3600}    posted; lines of JSON come back

Nothing of the run is changed, so that no token is needed where anybody may look; but it costs a processor for seconds.
The process has the least priority and bounds of its own, and ends with the connection that asked for it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from elastream.core.errors import BadInput
from elastream.journal.writer import journal_files
from elastream.service.access import Access, RequestRefused, check_origin, read_order, spell

POLICIES = ("foresight", "lag-proportional", "threshold", "spark-dra", "keda-lag", "hpa")
"""With their defaults; beside them the recorded one, and a fixed size."""
FIXED = "fixed"
SPANS_S = (1800.0, 3600.0, 3 * 3600.0, 6 * 3600.0)
WITHIN_S = 180.0
MOST_LINE = 1 << 20
COMMAND = (sys.executable, "-m", "elastream.advice.worker")
NO_JOURNAL = "the run writes no journal, so that there is nothing to simulate again (--journal FOLDER)"
BUSY = "one is simulated already; wait until it is done"
MOST_EXECUTORS = 10_000
SLO_S = (0.1, 86_400.0)


class WhatIfRoutes:
    """Answers who asks what there is to choose, and who has chosen."""

    def __init__(self, access: Access, journal: Path | None) -> None:
        self._access = access
        self._journal = journal
        self._process: subprocess.Popen[bytes] | None = None

    async def tell(self, request: Request) -> Response:
        """Whether it is offered here, and what may be chosen."""
        self._access.check_look(request)
        return JSONResponse(
            {
                "offered": self._journal is not None,
                "missing": None if self._journal is not None else NO_JOURNAL,
                "policies": [*POLICIES, FIXED],
                "spans_s": SPANS_S,
            }
        )

    async def ask(self, request: Request) -> Response:
        """Begin; progress and the answer come as lines."""
        check_origin(request)
        self._access.check_look(request)
        if self._journal is None or not journal_files(self._journal):
            raise RequestRefused(409, NO_JOURNAL)
        try:
            order = parse_question(await read_order(request), self._journal)
        except BadInput as wrong:
            raise RequestRefused(422, spell(wrong)) from None
        if self._process is not None:
            raise RequestRefused(409, BUSY, 5.0)
        return StreamingResponse(self._lines(order), media_type="application/x-ndjson")

    async def _lines(self, order: Mapping[str, object]) -> AsyncIterator[bytes]:
        # Nothing is awaited in between: all this happens in the server's thread, and only once somebody listens.
        if self._process is not None:
            yield _refusal(BUSY)
            return
        self._process = process = _start(order)
        assert process.stdout is not None
        until_s = time.monotonic() + WITHIN_S
        try:
            while True:
                reading = asyncio.to_thread(process.stdout.readline, MOST_LINE)
                try:
                    line = await asyncio.wait_for(reading, max(until_s - time.monotonic(), 0.0))
                except TimeoutError:
                    yield _refusal(f"it took longer than {WITHIN_S:g} s; choose less time")
                    return
                if not line:
                    if await asyncio.to_thread(process.wait):
                        yield _refusal("it was ended: too much for its bounds; choose less time")
                    return
                yield line
        finally:
            # Also where whoever asked has gone.
            _end(process)
            self._process = None


def parse_question(order: Mapping[str, Any], journal: Path) -> dict[str, object]:
    """What was posted, as the process is asked; BadInput where it makes no sense."""
    unknown = order.keys() - {"policy", "low", "high", "slo_s", "recent_s"}
    if unknown:
        raise BadInput(f"what if: there is no {sorted(unknown)[0]!r}")
    low, high = _read_size(order, "low"), _read_size(order, "high")
    if (low is None) != (high is None) or (low is not None and high is not None and low > high):
        raise BadInput("what if: low and high: give both bounds, 1 <= low <= high")
    policy = order.get("policy")
    if policy not in (None, FIXED, *POLICIES):
        raise BadInput(f"what if: policy: it must be one of {', '.join((*POLICIES, FIXED))}")
    if policy == FIXED:
        if high is None:
            raise BadInput("what if: high: a fixed size needs one")
        policy = f"fixed(workers={high})"
    slo_s, recent_s = order.get("slo_s"), order.get("recent_s", SPANS_S[1])
    if slo_s is not None and not (_is_number(slo_s) and SLO_S[0] <= slo_s <= SLO_S[1]):
        raise BadInput(f"what if: slo_s: it must be between {SLO_S[0]:g} and {SLO_S[1]:g} seconds")
    if not _is_number(recent_s) or recent_s not in SPANS_S:
        raise BadInput(f"what if: recent_s: it must be one of {', '.join(f'{span:g}' for span in SPANS_S)}")
    found = {"folder": str(journal.absolute()), "policy": policy, "low": low, "high": high}
    return {**found, "slo_s": slo_s, "recent_s": recent_s}


def _read_size(order: Mapping[str, Any], name: str) -> int | None:
    found = order.get(name)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= MOST_EXECUTORS:
        raise BadInput(f"what if: {name}: it must be a whole number between 1 and {MOST_EXECUTORS}")
    return found


def _is_number(given: object) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def _start(order: Mapping[str, object]) -> subprocess.Popen[bytes]:
    # Where a cluster ships us as an archive, only this process knows where that is. Threads of numpy would take cores.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdin is not None
    # It stays open: the process ends when we do, whatever ends us.
    process.stdin.write(json.dumps(order).encode() + b"\n")
    process.stdin.flush()
    return process


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def _refusal(sentence: str) -> bytes:
    return json.dumps({"refused": sentence}).encode() + b"\n"
