"""What a run on executors tells while it goes on, where nobody looks: only its decisions are kept."""

from __future__ import annotations

from collections.abc import Sequence

from elastream.core.protocols import Journal
from elastream.core.tick import Tick


class LiveLog:
    """Implements RunView."""

    def __init__(self, logs: Sequence[Journal]) -> None:
        self._logs = logs

    def begin(self, step: str) -> None:
        """Not shown."""

    def note(self, head: str, items: Sequence[str]) -> None:
        """Not shown."""

    def start_load(self) -> None:
        """Not shown."""

    def write(self, tick: Tick) -> None:
        """Keep its decision."""
        for log in self._logs:
            log.write(tick)

    def close(self) -> None:
        """Nothing to close."""
