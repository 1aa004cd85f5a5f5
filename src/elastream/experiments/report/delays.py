"""How delays are distributed under each policy, over all that every policy ran."""

from __future__ import annotations

import math
from collections.abc import Sequence

from elastream.core.quantity import spell_seconds
from elastream.experiments.report.contents import Contents
from elastream.experiments.report.standing import Overview, PolicyStanding
from elastream.render.html import Html
from elastream.render.marks import AxisMark
from elastream.render.ranges import RangeRow, draw_ranges
from elastream.render.units import seconds

BY_RECORDS = ("delay_p50_s", "delay_p95_s", "delay_p99_s", "delay_max_s")
BY_SAMPLES = ("delay_sample_p50_s", "delay_sample_p95_s", "delay_sample_p99_s", "delay_sample_max_s")
MARKS_S = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3600.0, 36000.0, 360000.0)


def draw_delays(contents: Contents, overview: Overview) -> tuple[Html, str, Sequence[str]] | None:
    """The picture, over what its delays are, and the names of its numbers; None where some policy's are not known."""
    for names, told in ((BY_RECORDS, "records"), (BY_SAMPLES, "time samples")):
        rows = [(one, [one.mean(name) for name in names]) for one in overview.standings]
        whole = [(one, [value for value in values if value is not None]) for one, values in rows]
        if whole and all(len(values) == len(names) for _, values in whole):
            return _draw(contents, whole), told, names
    return None


def _draw(contents: Contents, rows: list[tuple[PolicyStanding, list[float]]]) -> Html:
    limit_s = contents.promised_s
    known = [value for _, values in rows for value in values] + ([limit_s] if limit_s else [])
    # Delays differ by powers of ten.
    low = math.log10(max(min(known), 0.01)) - 0.1
    high = max(math.log10(max(*known, 0.02)) + 0.1, low + 0.5)

    def place(value: float) -> float:
        return (math.log10(max(value, 1e-9)) - low) / (high - low)

    grid = [AxisMark(at=place(at), label=_label(at)) for at in MARKS_S if 0 <= place(at) <= 1]
    drawn = [
        RangeRow(
            label=f"{one.letter} {one.policy}",
            told=f"{one.policy}: p50 {seconds(p50)}, p95 {seconds(p95)}, p99 {seconds(p99)}, max {seconds(most)}",
            middle=place(p50), high=place(p95), end=place(p99), far=place(most),
        )
        for one, (p50, p95, p99, most) in rows
    ]  # fmt: skip
    return draw_ranges(drawn, grid, AxisMark(at=place(limit_s), label=f"SLO {seconds(limit_s)}") if limit_s else None)


def _label(at: float) -> str:
    return f"{at:g} s" if at < 60 else spell_seconds(at)
