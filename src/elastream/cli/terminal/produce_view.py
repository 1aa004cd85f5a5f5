"""How a producer keeps up, on stderr: one line that moves on a terminal, a line now and then elsewhere."""

import sys
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.status import Status
from rich.text import Text

from elastream.cli.terminal.output import error_console, print_line, tell
from elastream.cli.terminal.strips import compact
from elastream.development.kafka.producer_verdict import Standing

LINE_EVERY_S = 5.0
# Rates are over the last seconds: long enough to be steady, short enough to follow a spike.
WINDOW_S = 5.0
DRAW_EVERY_S = 0.25


class ProduceView:
    """Shows what was achieved against what was intended."""

    def __init__(self, *, paced: bool) -> None:
        self._paced = paced
        self._seen: deque[Standing] = deque()
        self._shown_s = 0.0
        self._status: Status | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            self._status = error_console().status("waiting for the first event ...")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def tell(self, line: str) -> None:
        """Something that happened."""
        if self._status is not None:
            print_line(self._status.console, line)
        else:
            tell(line)

    def show(self, standing: Standing) -> None:
        """Take in one look; there are many of them in a second."""
        every_s = LINE_EVERY_S if self._status is None else DRAW_EVERY_S
        if self._seen and standing.at_s - self._seen[-1].at_s < DRAW_EVERY_S:
            return
        self._seen.append(standing)
        while standing.at_s - self._seen[0].at_s > WINDOW_S + DRAW_EVERY_S:
            self._seen.popleft()
        if standing.at_s - self._shown_s < every_s:
            return
        self._shown_s = standing.at_s
        if self._status is None:
            tell(self.line())
        else:
            # The spinner and a space stand before it.
            self._status.update(Text(self.fitting_line(self._status.console.width - 2)))

    def line(self) -> str:
        """The last look, with rates over the ones before."""
        return self._spell(lambda number: f"{number:,.0f}")

    def fitting_line(self, width: int) -> str:
        """The same with as many digits and words as have room."""
        forms = [self.line(), self._spell(compact), self._short()]
        return next((line for line in forms if len(line) <= width), forms[-1][:width])

    def _spell(self, spell: Callable[[float], str]) -> str:
        now, (achieved, intended) = self._seen[-1], self._rates()
        parts = [f"{now.at_s:6.1f} s", f"{spell(now.acknowledged)} acknowledged", f"{spell(achieved)}/s"]
        if self._paced:
            parts[-1] += f" of {spell(intended)}/s intended"
            parts.append(f"behind by {spell(now.behind)} events, {now.late_s:.1f} s")
        return "  ".join(parts)

    def _short(self) -> str:
        now, (achieved, intended) = self._seen[-1], self._rates()
        parts = [f"{now.at_s:.0f} s", f"{compact(now.acknowledged)} acked", f"{compact(achieved)}/s"]
        if self._paced:
            parts[-1:] = [
                f"{compact(achieved)} of {compact(intended)}/s",
                f"behind {compact(now.behind)}, {now.late_s:.1f} s",
            ]
        return "  ".join(parts)

    def _rates(self) -> tuple[float, float]:
        """Events per second: acknowledged, and due."""
        old, now = self._seen[0], self._seen[-1]
        over_s = now.at_s - old.at_s
        if over_s <= 0:
            return 0.0, 0.0
        return (now.acknowledged - old.acknowledged) / over_s, (now.due - old.due) / over_s
