"""The document that reports of all kinds are: their parts, a footer, and the style and script that they share."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files

from elastream.render.document import make_document
from elastream.render.html import Html, element, joined


def make_report_document(title: str, parts: Iterable[Html | None]) -> str:
    """The file's text; a part that is None is left out."""
    footer = element("footer", "Made by Elastream. What a run does not know is empty, and never 0.")
    style, script = (
        files(__package__).joinpath(name).read_text(encoding="utf-8") for name in ("report.css", "report.js")
    )
    return make_document(title, joined([*parts, footer]), style=style, script=script)
