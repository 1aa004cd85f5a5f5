"""Runs side by side: a table, strips, and which of them did best."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from elastream.cli.terminal.drawing import draw
from elastream.cli.terminal.output import print_line, print_table
from elastream.cli.terminal.strips import Block, TextStrip, compact, spelt_time
from elastream.evaluation.series import Measure
from elastream.experiments.run import Run
from elastream.experiments.simulated import SimulatedSetup
from elastream.simulator.run import ExactFigures

GAP = 2
NARROWEST_LABEL = 16


@dataclass(frozen=True, slots=True)
class _Column:
    above: str
    """Said once above neighbours that share it, whichever of them are left."""
    heading: str
    show: Callable[[Run], str]
    value: Callable[[Run], float | None] | None = None
    """What is compared, less being better; None where neither more nor less is."""
    is_cost: bool = False
    """Cheap is good only for those that did their work."""
    dropped: int = 0
    """In a narrow terminal the largest go first; those with 0 stay."""

    def best(self, runs: Sequence[Run]) -> str | None:
        """The text of the best value, if there is a choice and the values can be told apart."""
        if self.value is None or len({self.show(run) for run in runs}) < 2:
            return None
        compared = [run for run in runs if run.kept_up or not self.is_cost]
        values = [(value, self.show(run)) for run in compared if (value := self.value(run)) is not None]
        return min(values)[1] if values else None

    def width(self, runs: Sequence[Run], above: str, star: str) -> int:
        texts = [above, self.heading, *(self.show(run) for run in runs)]
        return GAP + max(map(len, texts)) + (len(star) if self.best(runs) else 0)


def _exact(run: Run) -> ExactFigures:
    assert run.exact is not None
    return run.exact


def _paid(run: Run) -> float | None:
    return run.summary.worker_hours_paid


def _records(run: Run) -> float | None:
    return run.summary.records_within_slo


def _in_time(run: Run) -> float | None:
    return run.summary.time_within_slo


FOR_THE_LABEL = 4
"""Columns from this rank on give way to long names of policies; others only to a terminal too narrow for them."""

_COLUMNS = (
    _Column("executors", "mean", lambda run: _number(run.summary.mean_workers, ".1f")),
    _Column("executors", "max", lambda run: _number(run.summary.max_workers, ".0f"), dropped=2),
    _Column("executor", "hours paid", lambda run: _number(_paid(run), ".1f"), _paid, is_cost=True),
    _Column("", "actions", lambda run: str(run.summary.actions), dropped=4),
    _Column("", "holds", lambda run: str(run.summary.holds), dropped=6),
    _Column("delay", "p50", lambda run: _time(_exact(run).delay_p50_s), lambda run: _exact(run).delay_p50_s, dropped=5),
    _Column("delay", "p95", lambda run: _time(_exact(run).delay_p95_s), lambda run: _exact(run).delay_p95_s),
    _Column("delay", "p99", lambda run: _time(_exact(run).delay_p99_s), lambda run: _exact(run).delay_p99_s, dropped=7),
    _Column("delay", "max", lambda run: _time(_exact(run).delay_max_s), lambda run: _exact(run).delay_max_s, dropped=1),
    _Column("records", "in SLO", lambda run: _share(_records(run)), lambda run: _less(_records(run))),
    _Column("time", "in SLO", lambda run: _share(_in_time(run)), lambda run: _less(_in_time(run)), dropped=8),
    _Column("backlog", "left", lambda run: compact(_exact(run).backlog_left), dropped=3),
)


def print_results(console: Console, runs: Sequence[Run], unfit: Mapping[str, str] = MappingProxyType({})) -> None:
    """One row per policy; the best values stand out where they can be compared. `unfit`: label -> why not."""

    # Where there are no colours, a star stands in for them.
    is_starred = console.color_system is None
    mark = "*" if is_starred else ""
    columns = _fitting(runs, console.width, mark)
    best = [column.best(runs) for column in columns]
    table = Table(box=None, pad_edge=False, padding=(0, 0, 0, GAP), header_style="bold")
    room = max(NARROWEST_LABEL, console.width - _width(columns, runs, mark))
    table.add_column("\npolicy", no_wrap=True, overflow="ellipsis", max_width=room)
    for column, above, top in zip(columns, _above(columns), best, strict=True):
        star = " " if is_starred and top else ""
        table.add_column(f"{above}{star}\n{column.heading}{star}", justify="right", no_wrap=True)
    for run in runs:
        cells = []
        for column, top in zip(columns, best, strict=True):
            text = column.show(run)
            is_best = text == top and (run.kept_up or not column.is_cost)
            star = "" if not is_starred or top is None else "*" if is_best else " "
            cells.append(Text(text + star, style="bold green" if is_best else ""))
        table.add_row(run.label, *cells)
    print_table(console, table)
    for label, reason in unfit.items():
        print_line(console, f"{label}  {reason}")
    if is_starred and any(best):
        console.print("* the best; executor-hours are compared among policies that kept up")


def _fitting(runs: Sequence[Run], width: int, star: str) -> list[_Column]:
    """The columns there is room for: whole ones, or none."""
    columns = [column for column in _COLUMNS if column.heading != "in SLO" or _has_slo(runs)]
    label = max(len(run.label) for run in runs)
    for column in sorted(columns, key=lambda column: -column.dropped):
        needed = label if column.dropped >= FOR_THE_LABEL else min(label, NARROWEST_LABEL)
        if not column.dropped or _width(columns, runs, star) + needed <= width:
            break
        columns.remove(column)
    return columns


def _above(columns: Sequence[_Column]) -> list[str]:
    before = ["", *(column.above for column in columns)]
    return [column.above if column.above != last else "" for column, last in zip(columns, before, strict=False)]


def _width(columns: Sequence[_Column], runs: Sequence[Run], star: str) -> int:
    return sum(column.width(runs, above, star) for column, above in zip(columns, _above(columns), strict=True))


def print_strips(console: Console, setup: SimulatedSetup, runs: Sequence[Run]) -> None:
    """The load once, then what each policy made of it."""
    rate = _strip(runs[0], "rate", "arrived", unit="/s", style="cyan", by="max")
    groups = [Block(heading="", strips=[rate]), *(_block(run, setup) for run in runs)]
    draw(console, groups, setup.experiment.duration_s)


def _block(run: Run, setup: SimulatedSetup) -> Block:
    most = float(setup.max_workers)
    return Block(
        heading=run.label,
        strips=[
            _strip(run, "wanted", "wanted", style="yellow", top=most),
            _strip(run, "ready", "ready", style="blue", top=most),
            _strip(run, "backlog", "backlog", by="max", style="magenta"),
            _strip(run, "delay p95", "delay", unit="s", by="max", style="green", limit=setup.slo_s),
        ],
    )


def _strip(
    run: Run,
    label: str,
    measure: Measure,
    *,
    style: str,
    unit: str = "",
    by: Literal["mean", "max"] = "mean",
    top: float | None = None,
    limit: float | None = None,
) -> TextStrip:
    found = run.series
    at_s = [at - found.start for at in found.at]
    values = found.column(measure)
    return TextStrip(label=label, at_s=at_s, values=values, unit=unit, by=by, style=style, top=top, limit=limit)


def _less(share: float | None) -> float | None:
    return None if share is None else -share


def _has_slo(runs: Sequence[Run]) -> bool:
    return any(run.summary.records_within_slo is not None for run in runs)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else spelt_time(seconds)


def _share(share: float | None) -> str:
    # Rounded down: 98.96 % of 99 % must not read as if it were kept.
    return "-" if share is None else f"{int(share * 1000) / 10:.1f}%"
