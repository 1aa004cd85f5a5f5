"""What one setting of a policy does to cost and promise, where a plan has it in several values and all else alike."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from elastream.experiments.comparison import COST, KEPT
from elastream.experiments.report.contents import Contents
from elastream.experiments.report.front import NINES, place_share, spell
from elastream.experiments.report.standing import Overview, PolicyStanding
from elastream.render import marks
from elastream.render.band import BandPoint, draw_band
from elastream.render.html import Html, element
from elastream.render.marks import AxisMark
from elastream.render.units import compact

MOST = 12
"""Settings that are drawn."""


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """A policy in several values of one setting, from the smallest."""

    policy: str
    setting: str
    points: Sequence[tuple[float, PolicyStanding]]


def find_sensitivities(contents: Contents, overview: Overview) -> list[Sensitivity]:
    """Every setting of every policy that has several values while all others have one."""
    named = {run.document["labels"]["policy"]: run.document["what"]["policy"] for run in contents.runs}
    groups: dict[tuple[str, str, str], dict[float, PolicyStanding]] = defaultdict(dict)
    for standing in overview.standings:
        name, settings = named[standing.policy]["name"], named[standing.policy]["settings_text"]
        for setting, value in settings.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                rest = repr(sorted((key, text) for key, text in settings.items() if key != setting))
                groups[name, setting, rest][float(value)] = standing
    return [
        Sensitivity(name, setting, sorted(points.items()))
        for (name, setting, _), points in groups.items()
        if len(points) > 1
    ]


def draw_sensitivity(one: Sensitivity) -> Html:
    """Cost and records in time, one beside the other."""
    costs = [found.interval.high if found.interval else found.mean
             for _, standing in one.points if (found := standing.estimate(COST)) is not None]  # fmt: skip
    scale = marks.numbers(max(costs, default=1.0))
    most = scale[-1].at
    rows = [AxisMark(at=mark.at / most, label=mark.label) for mark in scale]
    nines = [AxisMark(at=place_share(share), label=label) for share, label in NINES.items()]
    name = f"{one.policy}: {one.setting}"
    return element(
        "div",
        _draw(one, COST, f"{name}, worker-hours paid", lambda value: min(1.0, value / most), rows, "{:.3g}"),
        _draw(one, KEPT, f"{name}, records within the SLO", place_share, nines, "{:.3%}"),
        class_="multiples",
    )


def _draw(
    one: Sensitivity, number: str, title: str, place: Callable[[float], float], rows: Sequence[AxisMark], form: str
) -> Html | None:
    found = {value: estimate for value, standing in one.points if (estimate := standing.estimate(number)) is not None}
    if not found:
        return None
    across = _place_values(list(found))
    points = [
        BandPoint(
            at=across[value], mean=place(estimate.mean),
            low=place(estimate.interval.low if estimate.interval else estimate.mean),
            high=place(estimate.interval.high if estimate.interval else estimate.mean),
            told=f"{one.setting} {value:g}: {spell(estimate, form)}",
        )
        for value, estimate in found.items()
    ]  # fmt: skip
    return draw_band(title, points, _label_values(across), rows)


def _place_values(values: Sequence[float]) -> Mapping[float, float]:
    low, high = min(values), max(values)
    return {value: (value - low) / (high - low) if high > low else 0.5 for value in values}


def _label_values(across: Mapping[float, float]) -> list[AxisMark]:
    """As many as have room beside each other."""
    shown: list[AxisMark] = []
    for value, at in across.items():
        if not shown or at - shown[-1].at >= 0.09:
            shown.append(AxisMark(at=at, label=compact(value)))
    return shown
