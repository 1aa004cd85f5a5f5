"""One page that leads to all evaluations that were run again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.text import tell_chapter
from elastream.experiments.report.checklist import spell_count
from elastream.render.document import make_document
from elastream.render.html import Html, element, joined

TITLE = "Published evaluations, run again"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """An evaluation, and the folder beside the index in which its pages lie."""

    folder: str
    account: Account


def make_index(entries: Sequence[IndexEntry], page: str, report: str, missing: Sequence[str]) -> str:
    """The file's text. `page` and `report` are the names of an evaluation's page and of a plan's report; `missing` are
    evaluations that are not there, each with the reason."""
    about = (
        "What documents tell of autoscalers, beside what the same policies do here. Every document has a page with its "
        "tables, and every plan a report on its runs."
    )
    body = joined([
        element("header", element("h1", TITLE), element("p", about, class_="about")),
        *(_draw_entry(entry, page, report) for entry in entries),
        *(element("section", element("p", f"Missing: {one}")) for one in missing),
        element("footer", "Made by Elastream."),
    ])  # fmt: skip
    style = files("elastream.experiments.report").joinpath("report.css").read_text(encoding="utf-8")
    return make_document(TITLE, body, style=style, script="")


def _draw_entry(entry: IndexEntry, page: str, report: str) -> Html:
    heading = element("a", entry.account.document, href=f"{entry.folder}/{page}")
    return element(
        "section",
        element("h2", heading),
        element("p", entry.account.about),
        element("ul", *(_draw_chapter(entry.folder, one, report) for one in entry.account.chapters), class_="chapters"),
        aria_label=entry.account.document,
    )


def _draw_chapter(folder: str, chapter: Chapter, report: str) -> Html:
    links = [
        part
        for results in chapter.results
        for part in (" ", element("a", f"{results.name}: {spell_count(len(results.runs), 'run')}",
                                  href=f"{folder}/{results.name}/{report}"))
    ]  # fmt: skip
    return element("li", element("strong", chapter.title), f": {tell_chapter(chapter)}.", *links)
