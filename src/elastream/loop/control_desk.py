"""Where people ask something of a running loop, from any thread, and where the loop fetches it before it looks."""

import threading
from dataclasses import replace

from elastream.core.control import Control, Intervention
from elastream.core.errors import CannotRun
from elastream.core.observation import Observation

MOST_WAITING = 32
"""Asked since the last look. Nobody means as many."""


class ControlDesk:
    """Nothing happens here: what was asked takes effect with the loop's next look, and stands until it is changed."""

    def __init__(self, standing: Control | None = None) -> None:
        self._standing = standing or Control()
        self._waiting: list[Intervention] = []
        self._lock = threading.Lock()

    def ask(self, one: Intervention) -> None:
        """Leave a wish; BadInput if it cannot be, CannotRun if too many wait."""
        one.check()
        with self._lock:
            if len(self._waiting) >= MOST_WAITING:
                raise CannotRun(f"control: {MOST_WAITING} wishes wait for the loop's next look; ask again after it")
            self._waiting.append(one)

    def fetch(self, utc_s: float) -> tuple[Control, tuple[Intervention, ...]]:
        """What stands from now on, and what was asked since the last time."""
        with self._lock:
            asked, self._waiting = tuple(self._waiting), []
        for one in asked:
            self._standing = self._standing.after(one)
        self._standing = self._standing.at(utc_s)
        return self._standing, asked

    @property
    def wanted(self) -> Control:
        """What will stand after the next look."""
        with self._lock:
            wanted = self._standing
            for one in self._waiting:
                wanted = wanted.after(one)
        return wanted


def put_under(now: Observation, control: Control) -> Observation:
    """The look as it is to be planned: with what people have asked, and between their bounds if they asked for some."""
    limits = control.limits
    if control == now.control and limits is None:
        return now
    pools = now.pools
    if limits is not None:
        pools = tuple(replace(pool, min_workers=limits[0], max_workers=limits[1]) for pool in pools)
    return replace(now, control=control, pools=pools)
