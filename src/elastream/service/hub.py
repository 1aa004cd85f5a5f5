"""Between the loop and whoever looks on: ticks go in and never wait; messages go out, and who reads slowly is let go.

The loop only puts a tick into a bounded queue. All else happens in the server's own thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from elastream.core.errors import spell_error
from elastream.core.log import log
from elastream.core.tick import Tick
from elastream.journal.format import Header
from elastream.render.page.feed import FeedMessage, FeedPlace, PageFeed

MOST_WAITING = 64
"""Ticks that the server has not taken yet. With more it is stuck, and the oldest are left out."""
MOST_UNREAD = 64
"""Messages that a viewer has not read: some twenty ticks. One that is further behind begins anew when it comes back."""

MOST_VIEWERS = 200
"""Fewer than there may be connections, so that there is always one for who has another question."""

FOLD_AFTER_S = 0.05
"""After a tick was put. At once, the server's thread would have the interpreter while the loop still needs it."""

Entry = Header | Tick | Literal["over"]


class RunFollower(Protocol):
    """Somebody else who is told of a run in the server's thread."""

    def begin_run(self, header: Header) -> None:
        """A run begins."""

    def write(self, tick: Tick) -> None:
        """Take in one tick."""


@dataclass(eq=False, slots=True)
class Viewer:
    """Somebody who looks on."""

    waiting: asyncio.Queue[FeedMessage | None] = field(default_factory=lambda: asyncio.Queue(MOST_UNREAD))
    """None: no more will come."""
    is_slow: bool = False
    is_known: bool = False
    """Whether the viewer had the token."""


class Hub:
    """Takes in ticks from the loop's thread, and tells viewers of them in the server's. Implements Journal."""

    def __init__(self, feed: PageFeed, also: Sequence[RunFollower] = ()) -> None:
        self.feed = feed
        self._also = also
        self.viewers: set[Viewer] = set()
        self.is_over = False
        self.dropped = 0
        """Ticks that were left out because the server did not come to take them."""
        self._entries: deque[Entry] = deque(maxlen=MOST_WAITING)
        self._lock = threading.Lock()
        self._wake: Callable[[float], None] | None = None
        self._trouble: str | None = None

    def begin_run(self, header: Header) -> None:
        """A run begins."""
        self._put(header)

    def write(self, tick: Tick) -> None:
        """Take in one tick. Implements Journal."""
        self._put(tick)

    def close(self) -> None:
        """No more ticks will come. Implements Journal."""
        self._put("over")

    def wake_by(self, wake: Callable[[float], None] | None) -> None:
        """What tells the server's thread that there is something to take, in so many seconds."""
        with self._lock:
            self._wake = wake

    def hurry(self) -> None:
        """Have all that waits taken now."""
        with self._lock:
            wake = self._wake
        self._rouse(wake, 0.0)

    @property
    def has_room(self) -> bool:
        """Whether nothing is left out if something is put."""
        return len(self._entries) < MOST_WAITING // 2

    def _put(self, entry: Entry) -> None:
        with self._lock:
            self.dropped += len(self._entries) == MOST_WAITING
            self._entries.append(entry)
            wake = self._wake
        self._rouse(wake, FOLD_AFTER_S if isinstance(entry, Tick) else 0.0)

    def _rouse(self, wake: Callable[[float], None] | None, after_s: float) -> None:
        if wake is not None:
            # The server may have ended between the two.
            with contextlib.suppress(RuntimeError):
                wake(after_s)

    def pump(self) -> None:
        """Take all that waits, and tell of it. Called in the server's thread."""
        while True:
            with self._lock:
                if not self._entries:
                    return
                entry = self._entries.popleft()
            self._tell(self._fold(entry))

    def _fold(self, entry: Entry) -> list[FeedMessage | None]:
        if entry == "over":
            self.is_over = True
            return [None]
        try:
            if isinstance(entry, Header):
                for other in self._also:
                    other.begin_run(entry)
                return [self.feed.begin(entry)]
            for other in self._also:
                other.write(entry)
            return list(self.feed.update(entry, is_behind=bool(self._entries)))
        except Exception as error:
            # A page that lacks a moment is better than none.
            if (said := spell_error(error)) != self._trouble:
                self._trouble = said
                log.warning("the page lacks a moment: %s", said)
            return []

    def _tell(self, messages: list[FeedMessage | None]) -> None:
        for viewer in list(self.viewers):
            for message in messages:
                try:
                    viewer.waiting.put_nowait(message)
                except asyncio.QueueFull:
                    self._let_go(viewer)
                    break

    def _let_go(self, viewer: Viewer) -> None:
        self.viewers.discard(viewer)
        viewer.is_slow = True
        while not viewer.waiting.empty():
            viewer.waiting.get_nowait()
        viewer.waiting.put_nowait(None)

    def make_room(self, *, is_known: bool) -> bool:
        """Whether one more may look on; for who has the token, somebody who has not is let go."""
        if len(self.viewers) < MOST_VIEWERS:
            return True
        others = [viewer for viewer in self.viewers if not viewer.is_known]
        if not is_known or not others:
            return False
        self._let_go(others[0])
        return True

    @contextlib.contextmanager
    def follow(self, after: FeedPlace | None, *, is_known: bool = False) -> Iterator[tuple[list[FeedMessage], Viewer]]:
        """What there was after a place, and a viewer who is told whatever comes. Called in the server's thread."""
        viewer = Viewer(is_known=is_known)
        self.viewers.add(viewer)
        if self.is_over:
            viewer.waiting.put_nowait(None)
        try:
            # Nothing is told in between: both happen in this thread.
            yield list(self.feed.since(after)), viewer
        finally:
            self.viewers.discard(viewer)
