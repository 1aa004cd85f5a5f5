"""What really happened and what might have been, side by side: each number, and below it its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from elastream.advice.advice import Advice, SimulatedOption
from elastream.advice.estimate import Prediction, UncertainNumber
from elastream.advice.figures import AdviceFigures
from elastream.cli.terminal.output import print_table
from elastream.cli.terminal.strips import spelt_time
from elastream.core.bounds import spell_bounds
from elastream.evaluation.measures import Value

GAP = 2
NARROWEST_LABEL = 16


@dataclass(frozen=True, slots=True)
class _AdviceColumn:
    heading: str
    dropped: int
    """In a narrow terminal the largest go first; those with 0 stay."""
    real: Callable[[AdviceFigures], Value]
    said: Callable[[Prediction], UncertainNumber | None]
    spell: Callable[[float], str]


def print_advice(screen: Console, advice: Advice, price: float | None = None) -> None:
    """One row for what happened, for the same simulated, and for each option."""
    rows = [_real_row(advice), *(_row(one, advice) for one in (advice.same, *advice.options))]
    columns = _columns(price)
    label = max(len(line) for name, _ in rows for line in name.split("\n"))
    cells = {column.heading: [_cell(column, found) for _, found in rows] for column in columns}

    def width(column: _AdviceColumn) -> int:
        lines = [column.heading, *(line for text in cells[column.heading] for line in text.split("\n"))]
        return GAP + max(max(map(len, part.split("\n"))) for part in lines)

    for column in sorted(columns, key=lambda one: -one.dropped):
        if not column.dropped or sum(map(width, columns)) + min(label, NARROWEST_LABEL) <= screen.width:
            break
        columns.remove(column)
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, GAP), header_style="bold")
    room = max(NARROWEST_LABEL, screen.width - sum(map(width, columns)))
    table.add_column("\npolicy", max_width=room, overflow="fold")
    for column in columns:
        table.add_column(column.heading, justify="right", no_wrap=True)
    for place, (name, _) in enumerate(rows):
        style = "bold" if place == 0 else ""
        table.add_row(Text(name, style=style), *(Text(cells[column.heading][place], style) for column in columns))
    print_table(screen, table)


def _columns(price: float | None) -> list[_AdviceColumn]:
    columns = [
        _AdviceColumn("executor\nhours", 0, lambda found: found.executor_hours, lambda said: said.executor_hours,
                      lambda value: f"{value:.2f}" if value < 99.995 else f"{value:,.0f}"),
        _AdviceColumn("records\nin SLO", 0, lambda found: found.within, lambda said: said.within, _share),
        _AdviceColumn("delay\np95", 1, lambda found: found.delay_p95_s, lambda said: said.delay_p95_s, spelt_time),
        _AdviceColumn("\nchanges", 2, lambda found: found.changes, lambda said: said.changes,
                      lambda value: f"{value:.0f}"),
    ]  # fmt: skip
    if price is not None:
        columns.insert(1, _AdviceColumn(
            "\ncost", 0, lambda found: _times(found.executor_hours, price),
            lambda said: said.executor_hours and said.executor_hours.times(price), lambda value: f"{value:,.2f}",
        ))  # fmt: skip
    return columns


def _real_row(advice: Advice) -> tuple[str, AdviceFigures | Prediction]:
    return "what happened", advice.real


def _row(option: SimulatedOption, advice: Advice) -> tuple[str, AdviceFigures | Prediction]:
    told = [f"{option.label}, simulated" if option is advice.same else option.label]
    if option.bounds != advice.bounds:
        told.append(f"{spell_bounds(*option.bounds)} executors")
    if option.slo is not None and option.slo != advice.slo:
        told.append(f"SLO {spelt_time(option.slo.delay_s)}")
    return "\n".join([told[0], ", ".join(told[1:])]) if told[1:] else told[0], option.prediction


def _cell(column: _AdviceColumn, found: AdviceFigures | Prediction) -> str:
    if isinstance(found, AdviceFigures):
        value = column.real(found)
        return "-" if value is None else column.spell(value)
    said = column.said(found)
    if said is None:
        return "-"
    low, high = column.spell(said.low), column.spell(said.high)
    return column.spell(said.value) if low == high else f"{column.spell(said.value)}\n{low}..{high}"


def _share(value: float) -> str:
    # Rounded down: 98.96 % of 99 % must not read as if it were kept.
    return f"{int(value * 1000 + 1e-9) / 10:.1f}%"


def _times(value: Value, factor: float) -> Value:
    return None if value is None else value * factor
