"""Single runs of a report: demand against supply, and the strips with every why."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]

from elastream.core.errors import BadInput
from elastream.core.quantity import spell_seconds
from elastream.evaluation.measures import Value
from elastream.experiments.comparison import COST, KEPT
from elastream.experiments.store.folder import StoredRun
from elastream.experiments.store.stored_files import UNREADABLE, read_rows
from elastream.experiments.store.tables import DECISIONS, TICKS
from elastream.render import marks
from elastream.render.html import Html, clipped, element
from elastream.render.marks import AxisMark
from elastream.render.strip import Curve, Strip, TimeAxis, drawn, time_axis
from elastream.render.units import compact, seconds

CLOCK_LABELS, SMALL_CLOCK_LABELS = 9, 4
MOST_DECISIONS = 200
REASON_BYTES = 500


@dataclass(frozen=True, slots=True)
class DrawnRun:
    """A run that is drawn, with its tables."""

    number: int
    letter: str
    run: StoredRun
    columns: Mapping[str, list[Any]]
    decisions: Sequence[Mapping[str, Any]]

    @property
    def policy(self) -> str:
        """As the plan calls it."""
        return str(self.run.document["labels"]["policy"])

    @property
    def peak(self) -> float:
        """The most workers, there or needed."""
        return max((one for name in ("ready", "demand") for one in self.columns[name] if one is not None), default=1.0)

    @property
    def changes(self) -> list[Mapping[str, Any]]:
        """Decisions for another number of workers."""
        return [one for one in self.decisions if one["workers_before"] != one["workers_after"]]

    def axis(self, labels: int = CLOCK_LABELS) -> TimeAxis:
        """Its time, with so many labels."""
        at = [float(one) for one in self.columns["t_s"]]
        start, end = at[0], max(at[-1], at[0] + 1.0)
        grid = marks.clock(start, end, labels, virtual=True)
        return TimeAxis(at=at, start=start, end=end, grid=grid, decisions=[one["t_s"] for one in self.changes])


def read_drawn(number: int, letter: str, run: StoredRun) -> DrawnRun:
    """Read what is drawn of a run."""
    ticks = _read(run.folder / "ticks.parquet", TICKS, ("t_s",))
    decisions = _read(run.folder / "decisions.parquet", DECISIONS, ("t_s", "workers_before", "workers_after"))
    columns = {name: [row[name] for row in ticks] for name in TICKS.names}
    at = columns["t_s"]
    if not at or any(later <= sooner for sooner, later in pairwise(at)):
        raise _damaged(run.folder / "ticks.parquet")
    return DrawnRun(number, letter, run, columns, decisions)


def _read(file: Path, schema: pa.Schema, known: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a table in which nothing of `known` may be unknown."""
    try:
        rows = read_rows(file, schema)
    except UNREADABLE:
        raise _damaged(file) from None
    if any(row[name] is None for row in rows for name in known):
        raise _damaged(file)
    return rows


def _damaged(file: Path) -> BadInput:
    return BadInput(f"{file} is damaged; remove the run's folder, and `elastream experiment run` runs it again")


def draw_multiple(one: DrawnRun, most: float) -> Html:
    """Its supply against demand, as small as it can be read, on the scale that all share."""
    cost, kept = one.run.numbers.get(COST), one.run.numbers.get(KEPT)
    told = [f"{cost:.3g} h" if cost is not None else None, f"{kept:.2%} in time" if kept is not None else None]
    title = f"{one.letter} {one.policy}".strip()
    strip = _workers(one, most, title, ", ".join(filter(None, told)), f"multiple-{one.number}-")
    axis = one.axis(SMALL_CLOCK_LABELS)
    return element("div", drawn(strip, axis), time_axis(axis), class_="multiple")


def draw_strips(one: DrawnRun, *, is_open: bool) -> Html:
    """All strips of a run over one axis, with its decisions above them."""
    axis, prefix = one.axis(), f"run-{one.number}-"
    stack = element(
        "div",
        _lane(one, axis),
        element("p", "Point at a strip, or tab through the marks, to read why.", class_="why hint", aria_live="polite"),
        *(drawn(strip, axis) for strip in _strips(one, prefix)),
        time_axis(axis),
        class_="stack",
    )
    summary = element("summary", f"{one.letter} {one.policy}: run {one.run.identity}".strip())
    return element("details", summary, stack, _decisions(one), class_="run", open="" if is_open else None)


def _strips(one: DrawnRun, prefix: str) -> list[Strip]:
    columns, slo = one.columns, one.run.document["what"].get("slo") or {}
    limit = slo.get("delay_s")
    rates = [*columns["arrived_rps"], *columns["committed_rps"]]
    return [
        Strip(name="rate", title="Rate", unit="records/s", prefix=prefix, description="Records arrived and committed.",
              curves=[Curve(name="committed", label="committed", values=columns["committed_rps"], shape="area"),
                      Curve(name="arrived", label="arrived", values=columns["arrived_rps"])],
              scale=marks.numbers(_most(rates)), peak=_peak(rates, lambda value: f"{compact(value)}/s")),
        Strip(name="backlog", title="Backlog", unit="records", prefix=prefix, description="Records that wait.",
              curves=[Curve(name="waiting", label="waiting", values=columns["backlog"], shape="area")],
              scale=marks.numbers(_most(columns["backlog"])), peak=_peak(columns["backlog"], compact)),
        Strip(name="delay", title="Delay", unit="p95", prefix=prefix, description="From arrival to commit, p95.",
              curves=[Curve(name="delayed", label="p95", values=columns["delay_p95_s"])],
              scale=marks.delays(_most([*columns["delay_p95_s"], (limit or 0) * 1.15])),
              peak=_peak(columns["delay_p95_s"], seconds),
              limits=[AxisMark(at=limit, label=f"SLO {seconds(limit)}")] if limit else []),
        _workers(one, one.peak, "Executors", f"max {one.peak:.0f}", prefix),
    ]  # fmt: skip


def _workers(one: DrawnRun, most: float, title: str, told: str, prefix: str) -> Strip:
    """What is there lies over what is needed, and what both have over both: so what is too much or too little shows."""
    ready, demand = one.columns["ready"], one.columns["demand"]
    both = [None if a is None or b is None else min(a, b) for a, b in zip(ready, demand, strict=True)]
    # Where nobody knows what was needed, nothing was too much.
    judged = [None if b is None else a for a, b in zip(ready, demand, strict=True)]
    curves = [
        Curve(name="under", label="too few", values=demand, shape="step-area"),
        Curve(name="over", label="too many", values=judged, shape="step-area"),
        Curve(name="both", label="needed and there", values=both, shape="step-area"),
        Curve(name="ready", label="ready", values=ready, shape="step"),
    ]
    known = [curve for curve in curves if any(value is not None for value in curve.values)]
    needed = any(value is not None for value in demand)
    description = f"Workers ready{', against those that the load needed at each moment' if needed else ''}."
    return Strip(name="executors", title=title, unit="", description=description, curves=known,
                 scale=marks.whole_numbers(most), peak=told, prefix=prefix)  # fmt: skip


def _lane(one: DrawnRun, axis: TimeAxis) -> Html:
    """A mark for each change, with its why."""
    glyphs = []
    for number, row in _changes(one):
        is_up = row["workers_after"] > row["workers_before"]
        glyph = element(
            "svg", element("path", d="M0 5L5.5 15H-5.5Z" if is_up else "M0 16L-5.5 6H5.5Z"),
            x=axis.percent(row["t_s"]), overflow="visible",
        )  # fmt: skip
        glyphs.append(
            element("a", element("title", _tell(row)), glyph, href=f"#run-{one.number}-{number}", class_="mark",
                    data_at=f"{axis.share(row['t_s']):.5f}")
        )  # fmt: skip
    return element("svg", *glyphs, class_="lane", role="group", aria_label="Changes of the number of executors")


def _decisions(one: DrawnRun) -> Html:
    rows = [
        element(
            "tr",
            element("td", spell_seconds(round(row["t_s"]))),
            element("td", f"{row['workers_before']} → {row['workers_after']}"),
            element("td", clipped(row["reason"] or "", REASON_BYTES)),
            id=f"run-{one.number}-{number}",
        )
        for number, row in _changes(one)
    ]
    head = element("tr", *(element("th", name, scope="col") for name in ("at", "workers", "why")))
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="wide", tabindex=0, role="region", aria_label=f"Decisions of {one.policy}")


def _changes(one: DrawnRun) -> list[tuple[int, Mapping[str, Any]]]:
    return list(enumerate(one.changes[:MOST_DECISIONS]))


def _tell(row: Mapping[str, Any]) -> str:
    reason = clipped(row["reason"] or "", REASON_BYTES)
    return f"{spell_seconds(round(row['t_s']))}  {row['workers_before']} → {row['workers_after']}: {reason}"


def _peak(values: Sequence[Value], spell: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    return f"max {spell(max(known))}" if known else "unknown"


def _most(values: Sequence[Value]) -> float:
    """Of an axis: something to draw one for where there is nothing."""
    return max((value for value in values if value), default=1.0)
