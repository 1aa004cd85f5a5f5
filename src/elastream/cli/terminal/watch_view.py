"""A run that goes on elsewhere, in the terminal."""

from pathlib import Path

from elastream.cli.terminal.live_view import LiveView
from elastream.core.tick import Tick
from elastream.journal.format import Header
from elastream.render.page.feed import KEEP

SHOWN_S = 1800.0
"""The strips show so much of the run, up to its last moment."""


class WatchView(LiveView):
    """The picture of a run of which neither the beginning nor the end is known."""

    def __init__(self, folder: Path) -> None:
        super().__init__(0.0, title=f"waiting for the first tick in {folder}", tick_s=5.0, clock=self._last_moment)
        self._last_utc_s = 0.0

    def begin_run(self, header: Header) -> None:
        """A run begins, or a file of it."""
        with self._lock:
            self.series.begin(tick_s=header.tick_s, max_age_s=header.max_age_s)
            self._title = f"{header.application or header.platform} under {header.policy}"
            self._notes = header.notes

    def write(self, tick: Tick) -> None:
        """Take in one tick."""
        self._last_utc_s = max(self._last_utc_s, tick.utc_s)
        super().write(tick)
        with self._lock:
            if len(self.series.at) > 2 * KEEP:
                self.series.trim(KEEP)
            if self.series.at:
                self._zero_utc_s = max(self.series.start, self.series.at[-1] - SHOWN_S)

    def _last_moment(self) -> float:
        return self._last_utc_s
