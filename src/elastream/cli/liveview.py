"""A running application in the terminal: four strips, the executors, and the last why. Implements Journal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

from elastream.cli.drawing import draw_lines
from elastream.cli.output import console
from elastream.cli.strips import Block, Strip, compact, spelt_time
from elastream.core.observation import Observation
from elastream.core.tick import Tick

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live

# In a file or a pipe, a line now and then is enough to see that it moves.
_PLAIN_EVERY_S = 10.0
_RATE_WINDOW_S = 10.0


class LiveView:
    """Shows every tick: a picture that moves on a terminal, plain lines elsewhere."""

    def __init__(self, duration_s: float, *, title: str) -> None:
        self._duration_s = duration_s
        self._title = title
        self._ticks: list[Tick] = []
        self._rates: list[float | None] = []
        self._live: Live | None = None
        self._told_s = -1e9

    def __enter__(self) -> LiveView:
        screen = console()
        if screen.is_terminal:
            from rich.live import Live

            self._live = Live(self, console=screen, refresh_per_second=2, transient=False)
            self._live.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, at)

    def write(self, tick: Tick) -> None:
        """Take in one tick."""
        self._ticks.append(tick)
        self._rates.append(self._rate())
        if self._live is None:
            self._print_line(tick)

    def close(self) -> None:
        """The last picture stays. Implements Journal."""

    def __rich_console__(self, screen: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        yield Text(self._title, style="bold")
        if not self._ticks:
            yield Text("waiting for the first look ...")
            return
        block = Block(heading="", strips=self._strips())
        yield from draw_lines([block], self._duration_s, width=options.max_width, encoding=options.encoding)
        for line in self._lines(self._ticks[-1]):
            yield Text(line)

    def _strips(self) -> list[Strip]:
        start_s = self._ticks[0].at_s
        seen = [(tick.at_s - start_s, tick.observation) for tick in self._ticks]
        times = [at_s for at_s, _ in seen]
        ready = [_sum(now, "ready") for _, now in seen]
        wanted = [float(sum(tick.decision.allocation.values())) if tick.decision else None for tick in self._ticks]
        return [
            Strip(label="rate", at_s=times, values=self._rates, unit="/s", style="cyan"),
            Strip(label="backlog", at_s=times, values=[_backlog(now) for _, now in seen], by="max", style="yellow"),
            Strip(label="delay p95", at_s=times, values=[_delay(now) for _, now in seen], unit="s", by="max"),
            Strip(label="wanted", at_s=times, values=wanted, by="max", style="blue"),
            Strip(label="ready", at_s=times, values=ready, by="max", style="green"),
        ]

    def _lines(self, tick: Tick) -> list[str]:
        now, lines = tick.observation, []
        if now is not None:
            for pool in now.pools:
                lines.append(
                    f"executors: wanted {pool.wanted}, requested {pool.requested}, ready {pool.ready}, "
                    f"leaving {pool.leaving}   {_processes(now)}"
                )
        if tick.decision is not None:
            lines.append(f"why: {tick.decision.sentence()}")
        return [*lines, *(f"trouble: {trouble}" for trouble in tick.troubles)]

    def _print_line(self, tick: Tick) -> None:
        changed = tick.observation is not None and tick.decision is not None and tick.decision.changes(tick.observation)
        if not changed and not tick.troubles and tick.at_s - self._told_s < _PLAIN_EVERY_S:
            return
        self._told_s = tick.at_s
        now, rate = tick.observation, self._rates[-1]
        backlog, delay = _backlog(now), _delay(now)
        numbers = [
            f"{tick.at_s - self._ticks[0].at_s:5.0f} s",
            f"rate {'?' if rate is None else compact(rate)}/s",
            f"backlog {'?' if backlog is None else compact(backlog)}",
            f"delay p95 {'?' if delay is None else spelt_time(delay)}",
        ]
        sys.stdout.write("  ".join([*numbers, *self._lines(tick)]) + "\n")
        sys.stdout.flush()

    def _rate(self) -> float | None:
        """Arrivals per second over the last looks."""
        looks = [tick.observation for tick in self._ticks if tick.observation is not None]
        if not looks:
            return None
        recent = [now for now in looks if now.at_s >= looks[-1].at_s - _RATE_WINDOW_S]
        totals = [(now.at_s, total) for now in recent if (total := _arrived(now)) is not None]
        if len(totals) < 2 or totals[-1][1] < totals[0][1]:
            return None
        return (totals[-1][1] - totals[0][1]) / (totals[-1][0] - totals[0][0])


def _arrived(now: Observation) -> float | None:
    arrived = [source.arrived for query in now.queries for source in query.sources]
    return sum(reading.value for reading in arrived if reading) if arrived and None not in arrived else None


def _sum(now: Observation | None, name: str) -> float | None:
    return None if now is None else float(sum(getattr(pool, name) for pool in now.pools))


def _backlog(now: Observation | None) -> float | None:
    backlogs = [query.backlog for query in now.queries] if now else [None]
    return None if None in backlogs else sum(backlog for backlog in backlogs if backlog is not None)


def _delay(now: Observation | None) -> float | None:
    return max((query.delay.p95_s for query in now.queries if query.delay), default=None) if now else None


def _processes(now: Observation) -> str:
    """Executors with their process ids, as `ps` shows them."""
    workers = [worker for pool in now.pools for worker in pool.workers]
    names = [
        f"{worker.id}{f' (pid {worker.pid})' if worker.pid else ''}{' leaving' if worker.state == 'leaving' else ''}"
        for worker in workers
    ]
    return "executor " + ", ".join(names) if names else ""
