"""What a run on executors tells while it goes on, where nobody looks: only its decisions are kept."""

from __future__ import annotations

from collections.abc import Sequence

from elastream.core.tick import Tick
from elastream.experiments.store.tables import DecisionLog


class LiveLog:
    """Implements RunView."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log

    def begin(self, step: str) -> None:
        """Not shown."""

    def note(self, head: str, items: Sequence[str]) -> None:
        """Not shown."""

    def start_load(self) -> None:
        """Not shown."""

    def write(self, tick: Tick) -> None:
        """Keep its decision."""
        self._log.write(tick)

    def close(self) -> None:
        """Nothing to close."""
