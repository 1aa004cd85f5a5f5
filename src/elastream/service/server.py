"""The server of a run's page, in a thread of its own beside the loop."""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from elastream.core.errors import BadInput, spell_error
from elastream.core.log import log
from elastream.core.tick import Tick
from elastream.journal.follower import JournalFollower
from elastream.journal.format import Header
from elastream.loop.control_desk import ControlDesk
from elastream.render.page.feed import PageFeed
from elastream.service.hub import Hub
from elastream.service.metrics import RunMetrics
from elastream.service.place import PagePlace
from elastream.service.web import HEAD_BYTES, make_application

PORT = 8620
"""Where the page is looked for first; one of the next is taken where it is taken."""
PORTS_TRIED = 20
MOST_CONNECTIONS = 256
"""Each is an open file of the process whose job is watched, which needs its files for itself."""
REQUEST_WITHIN_S = 10.0
"""Who has not asked for anything by then is let go."""
READ_WITHIN_S = 15.0
"""Who has not taken anything of what was sent for so long is let go."""
HISTORY_FILES = 2
"""Of the journal that are read before anything is served: some hours."""
_START_WITHIN_S = 10.0
_END_WITHIN_S = 3.0


class BoundedProtocol(H11Protocol):
    """Lets nobody stay who asks for nothing or does not read; of too many, those go first who ask for nothing.

    Whoever opens connections and leaves them idle thus makes room for whoever comes to look.
    """

    there: dict[BoundedProtocol, None]
    """All connections of a server, oldest first."""
    _idle: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody has come."""
        if len(self.there) >= MOST_CONNECTIONS and not self._make_room():
            transport.abort()
            return
        self.there[self] = None
        super().connection_made(transport)
        self._idle = self.loop.call_later(REQUEST_WITHIN_S, self._end_if_idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Somebody has gone."""
        for timer in (self._idle, self._stalled):
            if timer is not None:
                timer.cancel()
        if self._idle is not None:
            self.there.pop(self, None)
            super().connection_lost(exc)

    def pause_writing(self) -> None:
        """What was written is not taken: whoever reads nothing for a while is let go with all that waits for it."""
        super().pause_writing()
        self._stalled = self.loop.call_later(READ_WITHIN_S, self.transport.abort)

    def resume_writing(self) -> None:
        """It was taken."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def _make_room(self) -> bool:
        idle = next((one for one in self.there if one.is_idle), None)
        if idle is None:
            return False
        del self.there[idle]
        idle.transport.abort()
        return True

    @property
    def is_idle(self) -> bool:
        """Whether nothing that it asked for is on its way."""
        # uvicorn does not declare that there is none before the first request.
        cycle: Any = self.cycle
        return cycle is None or bool(cycle.response_complete)

    def _end_if_idle(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()


class PageServer:
    """Serves the page of a run until that is over. Implements Journal: whatever happens to it, the loop goes on."""

    def __init__(
        self,
        feed: PageFeed,
        *,
        place: PagePlace | None = None,
        history: Path | None = None,
        journal: Path | None = None,
        desk: ControlDesk | None = None,
    ) -> None:
        """`history` is a journal that is read first; `journal` is where the run is written, to be simulated again."""
        self._place = place or PagePlace()
        self._desk = desk
        self._access = self._place.open_access()
        self.metrics = RunMetrics()
        self.hub = Hub(feed, [self.metrics])
        # What earlier runs wrote there is shown as well, and whoever looked on while they ran goes on where they were.
        self._history = history
        self._journal = journal or history
        self._socket = _bind(self._place)
        self._server: uvicorn.Server | None = None
        self._is_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name="elastream-page", daemon=True)

    @property
    def address(self) -> str:
        """Where to look."""
        return f"http://{self._place.shown_host}:{self._socket.getsockname()[1]}/"

    def start(self) -> Self:
        """Begin to serve."""
        self._thread.start()
        return self

    def begin_run(self, header: Header) -> None:
        """A run begins."""
        self.hub.begin_run(header)

    def write(self, tick: Tick) -> None:
        """Take in one tick. Implements Journal."""
        self.hub.write(tick)

    def await_room(self) -> None:
        """Wait until what was told is taken: for whoever reads a recording, and may wait as a loop may not."""
        while self._thread.is_alive() and not self.hub.has_room:
            self.hub.hurry()
            time.sleep(0.002)

    def close(self) -> None:
        """End it; whoever looks on is told that the run is over."""
        self.hub.close()
        self._is_up.wait(_START_WITHIN_S)
        if self._server is not None:
            self._server.should_exit = True
        self._thread.join(_END_WITHIN_S)
        self._socket.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _run(self) -> None:
        try:
            if self._history is not None:
                self._read_history(self._history)
            asyncio.run(self._serve())
        except BaseException as error:
            said = spell_error(error) if isinstance(error, Exception) else type(error).__name__
            log.warning("the page is not served: %s", said)
        finally:
            self.hub.wake_by(None)
            self._is_up.set()

    def _read_history(self, folder: Path) -> None:
        try:
            for entry in JournalFollower(folder, newest=HISTORY_FILES).read():
                if isinstance(entry, Header):
                    self.hub.feed.begin(entry)
                else:
                    self.hub.feed.update(entry, is_behind=True)
        except Exception as error:
            # Anybody may have written there; what goes on now is shown all the same.
            log.warning("the page does not show all that %s tells of before: %s", folder, spell_error(error))

    async def _serve(self) -> None:
        settings: dict[str, Any] = {
            "log_config": None, "log_level": logging.CRITICAL, "access_log": False, "server_header": False,
            "date_header": False, "lifespan": "off",
            "http": type("OwnProtocol", (BoundedProtocol,), {"there": {}}), "ws": "none",
            "h11_max_incomplete_event_size": HEAD_BYTES,
            "timeout_keep_alive": 5, "timeout_graceful_shutdown": 1,
        }  # fmt: skip
        config = uvicorn.Config(
            make_application(self.hub, self.metrics, self._access, self._desk, self._journal), **settings
        )
        self._server = uvicorn.Server(config)
        loop = asyncio.get_running_loop()

        def wake(after_s: float) -> None:
            loop.call_soon_threadsafe(loop.call_later, after_s, self.hub.pump)

        self.hub.wake_by(wake)
        self.hub.pump()
        loop.call_soon(self._is_up.set)
        await self._server.serve(sockets=[self._socket])


def _bind(place: PagePlace) -> socket.socket:
    """A socket on the port that was asked for, or on the first of ours that is free, or on any."""
    tried = [place.port] if place.port is not None else [*range(PORT, PORT + PORTS_TRIED), 0]
    for number in tried:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((place.address, number))
            # Who comes before we answer waits.
            found.listen(64)
            return found
        except OSError as wrong:
            found.close()
            reason = wrong.strerror
            if wrong.errno == errno.EADDRNOTAVAIL:
                raise BadInput(f"page.host: {place.host} is no address of this machine") from None
    raise BadInput(f"page: port {place.port} cannot be taken: {reason}; choose another one, or none")
