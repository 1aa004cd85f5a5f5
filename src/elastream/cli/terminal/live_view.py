"""A running application in the terminal: a picture that moves, or plain lines. Implements Journal."""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live

from elastream.cli.terminal.live_picture import Moment, delay_name, draw_picture, fit, slo_sentence
from elastream.cli.terminal.output import console, tell, write_line
from elastream.cli.terminal.strips import compact, spelt_time
from elastream.core.slo import Slo
from elastream.core.tick import Tick
from elastream.evaluation.series import RunSeries

# In a file or a pipe, a line now and then is enough to see that it moves.
_PLAIN_EVERY_S = 10.0
_DRAW_EVERY_S = 0.5


class LiveView:
    """Shows every tick. Whatever goes wrong with the picture, the run goes on, and plain lines tell of it."""

    def __init__(
        self,
        duration_s: float,
        *,
        title: str,
        tick_s: float,
        slo: Slo | None = None,
        notes: Sequence[str] = (),
        plain: bool = False,
        tells_ticks: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._duration_s = duration_s
        self._title = title
        self._slo = slo
        self._notes = notes
        # Lines to stderr, whatever is there: stdout is for a document.
        self._is_plain = plain
        self._tells_ticks = tells_ticks
        self._clock = clock
        self.series = RunSeries(tick_s=tick_s)
        self._steps: list[tuple[str, float]] = []
        self._zero_utc_s: float | None = None
        self._awaits_batch = False
        self._live: Live | None = None
        self._error: Exception | None = None
        # The loop writes, the main thread begins steps, and a third one draws.
        self._lock = threading.Lock()
        self._is_over = threading.Event()
        self._drawing = threading.Thread(target=self._keep_drawing, name="elastream-view", daemon=True)
        self._told_s = -1e9

    def __enter__(self) -> Self:
        screen = console()
        if screen.is_terminal and not self._is_plain:
            # Drawn by a thread of ours: in rich's own an error would be a traceback, and the rest would hang.
            self._live = Live(
                self, console=screen, auto_refresh=False, redirect_stderr=sys.stderr.isatty(), transient=False
            )
            self._live.start()
            self._drawing.start()
        else:
            for line in [self._title, *self._notes, *([f"SLO: {self._slo.sentence()}"] if self._slo else [])]:
                tell(line)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._is_over.set()
        if self._drawing.is_alive():
            self._drawing.join()
        if self._live is not None:
            self.refresh()
        if self._live is not None:
            self._live.stop()

    def begin(self, step: str) -> None:
        """What goes on until the next step."""
        with self._lock:
            self._steps.append((step, self._clock()))
        if self._live is None:
            tell(f"{step} ...")

    def note(self, head: str, items: Sequence[str]) -> None:
        """Say something once; of its items as many as fit into a line."""
        tell(head + ", ".join(items) if self._live is None else fit(head, items, self._live.console.width))

    def start_load(self) -> None:
        """From now on the load's time passes."""
        self._zero_utc_s = self._clock()
        self._awaits_batch = True
        self.begin("waiting for the first batch")

    def write(self, tick: Tick) -> None:
        """Take in one tick."""
        with self._lock:
            self.series.update(tick)
            if self._awaits_batch and _has_batch(tick):
                self._steps.clear()
                self._awaits_batch = False
        if self._live is None:
            self._print_line(tick)

    def verdict(self) -> list[str]:
        """How the promise was kept, as of the last look."""
        sentence = slo_sentence(self.series, self._slo)
        return [sentence] if sentence else []

    def close(self) -> None:
        """The last picture stays. Implements Journal."""

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        # Whoever prints anything on the console comes through here: an error must not reach them.
        try:
            with self._lock:
                lines = draw_picture(self.series, self._moment(), width=options.max_width, encoding=options.encoding)
        except Exception as error:
            self._error = error
            return
        yield from lines

    def _moment(self) -> Moment:
        now, zero = self._clock(), self._zero_utc_s
        return Moment(
            title=self._title,
            notes=self._notes,
            slo=self._slo,
            steps=self._step_lines(now),
            duration_s=self._duration_s,
            zero_utc_s=zero,
            now_s=0.0 if zero is None else now - zero,
            is_over=self._is_over.is_set(),
        )

    def _step_lines(self, now_s: float) -> list[str]:
        """All steps before the first look, then the present one alone."""
        if self._is_over.is_set() or not self._steps:
            return []
        step, began_s = self._steps[-1]
        present = f"{now_s - began_s:4.0f} s  {step} ..."
        if self.series.last_tick is not None:
            return [present]
        ends = [began_s for _, began_s in self._steps[1:]]
        done = [f"{end - began:4.0f} s  {name}" for (name, began), end in zip(self._steps, ends, strict=False)]
        return [*done, present]

    def _keep_drawing(self) -> None:
        while not self._is_over.wait(_DRAW_EVERY_S):
            self.refresh()

    def refresh(self) -> None:
        """Draw now, and not only when it is time again."""
        if self._live is None:
            return
        try:
            self._live.refresh()
        except Exception as error:
            self._error = error
        if self._error is not None:
            self._fall_back(self._error)

    def _fall_back(self, error: Exception) -> None:
        with self._lock:
            live, self._live = self._live, None
        if live is not None:
            with suppress(Exception):
                live.stop()
            tell(f"the picture cannot be drawn ({type(error).__name__}: {error}); plain lines follow")

    def _print_line(self, tick: Tick) -> None:
        changed = tick.observation is not None and tick.decision is not None and tick.decision.changes(tick.observation)
        if not self._tells_ticks:
            return
        if not changed and not tick.troubles and tick.at_s - self._told_s < _PLAIN_EVERY_S:
            return
        self._told_s = tick.at_s
        series, delay_s = self.series, self.series.latest("delay")
        arrived, waiting = series.latest("arrived"), series.latest("backlog")
        zero = tick.utc_s if self._zero_utc_s is None else self._zero_utc_s
        numbers = [
            f"{tick.utc_s - zero:5.0f} s",
            f"executors {_text(series.latest('ready'))} of {_text(series.latest('wanted'))}",
            f"rate {'?' if arrived is None else compact(arrived)}/s",
            f"backlog {'?' if waiting is None else compact(waiting)}",
            f"{delay_name(series)} {'?' if delay_s is None else spelt_time(delay_s)}",
            *([sentence] if series.promise and (sentence := slo_sentence(series, self._slo)) else []),
            *([f"why: {tick.decision.sentence()}"] if tick.decision else []),
            *(f"limited: {limit}" for limit in tick.limits()),
            *(f"trouble: {trouble}" for trouble in tick.troubles),
        ]
        (tell if self._is_plain else write_line)("  ".join(numbers))


def _has_batch(tick: Tick) -> bool:
    """Whether a batch has been committed."""
    return tick.observation is not None and any(query.finished is not None for query in tick.observation.queries)


def _text(number: float | None) -> str:
    return "?" if number is None else f"{number:.0f}"
