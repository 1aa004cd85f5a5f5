"""How many executors the cluster has room for, found out by those that do not come.

No cluster manager says so. An executor that died says nothing about room: its successor is on its way. Only when
something that was asked for has not come in the time that executors usually take is there no room for it.
"""

from __future__ import annotations


class Room:
    """What was found, for as long as it holds."""

    def __init__(self, *, forget_after_s: float) -> None:
        self._forget_after_s = forget_after_s
        self._found: int | None = None
        self._found_s = 0.0

    def get(self, now_s: float) -> int | None:
        """How many there is room for; None if nobody knows, which is so again after a while."""
        return None if now_s - self._found_s > self._forget_after_s else self._found

    def note(self, there: int, *, lacks: bool, is_late: bool, now_s: float) -> None:
        """One look. `there` are all that take up room: ready, starting and leaving.

        `is_late` is whether those that are lacking should have come by now. What was found stays when fewer are asked
        for, or more would be asked for again as soon as it was heeded.
        """
        if self._found is not None and (there > self._found or self.get(now_s) is None):
            self._found = None
        if lacks and is_late and there != self._found:
            self._found, self._found_s = there, now_s
