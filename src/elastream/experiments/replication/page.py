"""An account as one HTML file that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.scoring import Claim, TableScore, add_up
from elastream.experiments.replication.text import (
    tell_estimate,
    tell_score,
    tell_total,
    tell_value,
    tell_verdict,
)
from elastream.experiments.report.document import make_report_document
from elastream.experiments.report.tables import Cell, ReportTable, draw_table, text_cell
from elastream.render.html import Html, element
from elastream.render.marks import AxisMark
from elastream.render.told_and_found import ToldAndFound, draw_told_and_found

POWERS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0)


def make_page(account: Account) -> str:
    """The file's text."""
    return make_report_document(account.document, [
        element(
            "header",
            element("h1", account.document),
            element("p", account.about, class_="about"),
            *(element("p", f"{one.title}: {tell_total(add_up(one.scores))}.", class_="answer")
              for one in account.chapters if any(score.is_told for score in one.scores)),
        ),
        *(_draw_chapter(account, number, one) for number, one in enumerate(account.chapters)),
    ])  # fmt: skip


def _draw_chapter(account: Account, number: int, chapter: Chapter) -> Html:
    return element(
        "section",
        element("h2", chapter.title),
        *(element("p", line) for line in chapter.told),
        *(_draw_score(f"{number}-{place}", score) for place, score in enumerate(chapter.scores)),
        element("details", element("summary", "How this was made"), *_sources(account, chapter), class_="source"),
        aria_label=chapter.title,
    )


def _draw_score(name: str, score: TableScore) -> Html:
    heading = f"{score.table}: {score.quantity.title}"
    table = _list_found(name, score) if not score.is_told else _list_verdicts(name, score)
    return element(
        "div",
        element("h3", heading),
        element("p", f"{tell_score(score)}.", class_="hint") if score.is_told else None,
        _draw_picture(heading, score),
        element("details", element("summary", "The same as a table"), draw_table(table)),
        class_="banded",
    )


def _list_verdicts(name: str, score: TableScore) -> ReportTable:
    rows = [
        [text_cell(claim.row), _number(claim.told, tell_value(claim.told)), _find_cell(claim),
         _number(claim.error, "" if claim.error is None else f"{claim.error:.0%}"),
         text_cell(tell_verdict(score, claim))]
        for claim in score.claims
    ]  # fmt: skip
    return ReportTable(name=f"score-{name}", headings=["", "published", "here", "relative error", "verdict"], rows=rows)


def _list_found(name: str, score: TableScore) -> ReportTable:
    """Where nothing was told."""
    rows = [[text_cell(claim.row), _find_cell(claim)] for claim in score.claims]
    return ReportTable(name=f"found-{name}", headings=["", "here"], rows=rows)


def _find_cell(claim: Claim) -> Cell:
    return _number(claim.found.mean if claim.found else None, tell_estimate(claim.found))


def _draw_picture(heading: str, score: TableScore) -> Html | None:
    """What was told and what was found, over one axis."""
    axis = _find_axis(score)
    if axis is None:
        return None
    place, at_marks = axis
    marks = [AxisMark(at=place(at), label=f"{at:g}") for at in at_marks]
    rows = [
        ToldAndFound(
            label=claim.row,
            title=_tell_row(score, claim),
            told=None if claim.told is None else place(claim.told),
            found=None if claim.found is None else place(claim.found.mean),
            interval=None if claim.found is None or claim.found.interval is None
            else (place(claim.found.interval.low), place(claim.found.interval.high)),
            is_doubtful=bool(claim.doubt),
        )
        for claim in score.claims
    ]  # fmt: skip
    return draw_told_and_found(heading, rows, marks)


def _tell_row(score: TableScore, claim: Claim) -> str:
    found = tell_estimate(claim.found) or "nothing"
    if not score.is_told:
        return f"{claim.row}: {found}"
    told = tell_value(claim.told) or "nothing"
    return f"{claim.row}: published {told}, here {found}; {tell_verdict(score, claim)}"


def _find_axis(score: TableScore) -> tuple[Callable[[float], float], list[float]] | None:
    """Where a value lies from 0 to 1, and what is marked: powers of ten; of shares, none, all and what is between."""
    known = [value for claim in score.claims
             for value in (claim.told, claim.found.mean if claim.found else None) if value is not None]  # fmt: skip
    if known and math.isfinite(score.quantity.most):
        most = score.quantity.most
        # Room for rings at both ends.
        low, high = min(0.0, *known) - 0.02 * most, 1.02 * most
        return lambda value: _within((value - low) / (high - low)), [most * part / 4 for part in range(5)]
    above = [value for value in known if value > 0]
    if not above:
        return None
    # What is next to nothing would stretch the axis until nothing else can be told apart.
    low = math.log10(max(min(above), 0.001 * max(above))) - 0.1
    high = max(math.log10(max(above)) + 0.1, low + 0.5)
    return lambda value: _within((math.log10(max(value, 1e-9)) - low) / (high - low)), _find_marks(low, high)


def _within(place: float) -> float:
    return min(1.0, max(0.0, place))


def _find_marks(low: float, high: float) -> list[float]:
    """Powers of ten; more between them where there would be few."""
    found: list[float] = []
    for steps in ((1,), (1, 2, 5), (1, 2, 3, 4, 5, 6, 8)):
        found = [at * step for at in POWERS for step in steps if low <= math.log10(at * step) <= high]
        if len(found) > 2:
            break
    return found


def _number(raw: float | None, shown: str) -> Cell:
    return Cell(shown=shown, raw=raw)


def _sources(account: Account, chapter: Chapter) -> Sequence[Html]:
    found = [element("pre", account.command)]
    for plan in chapter.results:
        told = f"{plan.name}: {plan.about} {len(plan.runs):,} runs, raw data in {plan.folder}/runs."
        found.append(element("p", told))
        found.extend(element("p", f"Not run: {lack}") for lack in plan.lacks)
        if plan.missing:
            found.append(element("p", f"{plan.missing:,} runs are missing or were run by older code."))
    return found
