"""Runs side by side: a table, strips, and which of them did best."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from elastream.cli.terminal.drawing import draw
from elastream.cli.terminal.output import print_line, print_table
from elastream.cli.terminal.strips import Block, Strip, compact, spelt_time
from elastream.experiments.run import Run
from elastream.experiments.scenario import Scenario
from elastream.simulator.run import Summary

if TYPE_CHECKING:
    from rich.console import Console

GAP = 2
NARROWEST_LABEL = 16


@dataclass(frozen=True, slots=True)
class _Column:
    above: str
    """Said once above neighbours that share it, whichever of them are left."""
    heading: str
    show: Callable[[Summary], str]
    value: Callable[[Summary], float | None] | None = None
    """What is compared, less being better; None where neither more nor less is."""
    is_cost: bool = False
    """Cheap is good only for those that did their work."""
    dropped: int = 0
    """In a narrow terminal the largest go first; those with 0 stay."""

    def best(self, runs: Sequence[Run]) -> str | None:
        """The text of the best value, if there is a choice and the values can be told apart."""
        if self.value is None or len({self.show(run.summary) for run in runs}) < 2:
            return None
        compared = [run.summary for run in runs if run.kept_up or not self.is_cost]
        values = [(value, self.show(summary)) for summary in compared if (value := self.value(summary)) is not None]
        return min(values)[1] if values else None

    def width(self, runs: Sequence[Run], above: str) -> int:
        texts = [above, self.heading, *(self.show(run.summary) for run in runs)]
        return GAP + max(map(len, texts)) + len("*")


FOR_THE_LABEL = 4
"""Columns from this rank on give way to long names of policies; others only to a terminal too narrow for them."""

_COLUMNS = (
    _Column("executors", "mean", lambda s: f"{s.mean_workers:.1f}"),
    _Column("executors", "max", lambda s: str(s.max_workers), dropped=2),
    _Column("executor", "hours", lambda s: f"{s.worker_hours:.1f}", lambda s: s.worker_hours, is_cost=True),
    _Column("", "actions", lambda s: str(s.actions), dropped=4),
    _Column("", "holds", lambda s: str(s.holds), dropped=6),
    _Column("delay", "p50", lambda s: _time(s.delay_p50_s), lambda s: s.delay_p50_s, dropped=5),
    _Column("delay", "p95", lambda s: _time(s.delay_p95_s), lambda s: s.delay_p95_s),
    _Column("delay", "p99", lambda s: _time(s.delay_p99_s), lambda s: s.delay_p99_s, dropped=7),
    _Column("delay", "max", lambda s: _time(s.delay_max_s), lambda s: s.delay_max_s, dropped=1),
    _Column("records", "in SLO", lambda s: _share(s.within_slo), lambda s: _less(s.within_slo)),
    _Column("time", "in SLO", lambda s: _share(s.time_within_slo), lambda s: _less(s.time_within_slo), dropped=8),
    _Column("backlog", "left", lambda s: compact(s.backlog_left), dropped=3),
)


def print_results(console: Console, runs: Sequence[Run], unfit: Mapping[str, str] = MappingProxyType({})) -> None:
    """One row per policy; the best values stand out where they can be compared. `unfit`: label -> why not."""
    from rich.table import Table
    from rich.text import Text

    columns = _fitting(runs, console.width)
    best = [column.best(runs) for column in columns]
    # Where there are no colours, a star stands in for them.
    is_starred = console.color_system is None
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, GAP), header_style="bold")
    room = max(NARROWEST_LABEL, console.width - _width(columns, runs))
    table.add_column("\npolicy", no_wrap=True, overflow="ellipsis", max_width=room)
    for column, above, top in zip(columns, _above(columns), best, strict=True):
        star = " " if is_starred and top else ""
        table.add_column(f"{above}{star}\n{column.heading}{star}", justify="right", no_wrap=True)
    for run in runs:
        cells = []
        for column, top in zip(columns, best, strict=True):
            text = column.show(run.summary)
            is_best = text == top and (run.kept_up or not column.is_cost)
            star = "" if not is_starred or top is None else "*" if is_best else " "
            cells.append(Text(text + star, style="bold green" if is_best else ""))
        table.add_row(run.contender.label, *cells)
    print_table(console, table)
    for label, reason in unfit.items():
        print_line(console, f"{label}  {reason}")
    if is_starred and any(best):
        console.print("* the best; executor-hours are compared among policies that kept up")


def _fitting(runs: Sequence[Run], width: int) -> list[_Column]:
    """The columns there is room for: whole ones, or none."""
    columns = [column for column in _COLUMNS if column.heading != "in SLO" or _has_slo(runs)]
    label = max(len(run.contender.label) for run in runs)
    for column in sorted(columns, key=lambda column: -column.dropped):
        needed = label if column.dropped >= FOR_THE_LABEL else min(label, NARROWEST_LABEL)
        if not column.dropped or _width(columns, runs) + needed <= width:
            break
        columns.remove(column)
    return columns


def _above(columns: Sequence[_Column]) -> list[str]:
    before = ["", *(column.above for column in columns)]
    return [column.above if column.above != last else "" for column, last in zip(columns, before, strict=False)]


def _width(columns: Sequence[_Column], runs: Sequence[Run]) -> int:
    return sum(column.width(runs, above) for column, above in zip(columns, _above(columns), strict=True))


def print_strips(console: Console, scenario: Scenario, runs: Sequence[Run]) -> None:
    """The load once, then what each policy made of it."""
    first = runs[0].outcome.strips
    rate = Strip(label="rate", at_s=first.at_s, values=first.rate_rps, unit="/s", style="cyan", by="max")
    groups = [Block(heading="", strips=[rate]), *(_block(run, scenario) for run in runs)]
    draw(console, groups, scenario.duration_s)


def _block(run: Run, scenario: Scenario) -> Block:
    found, most = run.outcome.strips, float(scenario.max_workers)
    at_s, slo = found.at_s, scenario.slo_s
    delay = Strip(label="delay p95", at_s=at_s, values=found.delay_p95_s, unit="s", by="max", style="green", limit=slo)
    return Block(
        heading=run.contender.label,
        strips=[
            Strip(label="wanted", at_s=at_s, values=found.wanted, style="yellow", top=most),
            Strip(label="ready", at_s=at_s, values=found.ready, style="blue", top=most),
            Strip(label="backlog", at_s=at_s, values=found.backlog, by="max", style="magenta"),
            delay,
        ],
    )


def _less(share: float | None) -> float | None:
    return None if share is None else -share


def _has_slo(runs: Sequence[Run]) -> bool:
    return any(run.summary.within_slo is not None for run in runs)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else spelt_time(seconds)


def _share(share: float | None) -> str:
    # Rounded down: 98.96 % of 99 % must not read as if it were kept.
    return "-" if share is None else f"{int(share * 1000) / 10:.1f}%"
