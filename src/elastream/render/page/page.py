"""The page of a recorded run as one file, which needs nothing else: the page that is served, with what it was told."""

import json
from collections.abc import Sequence
from pathlib import Path

from elastream.core.sanitizer import sanitizer
from elastream.evaluation.recorded import read_series
from elastream.journal.reader import Recording
from elastream.render.document import make_policy
from elastream.render.html import Html, clipped, element
from elastream.render.page.feed import FeedMessage, PageFeed
from elastream.render.page.skeleton import SCRIPTS, STYLES, make_body, make_head, read_client

DRAWN = 6000
"""Moments in a file: with more, neighbours share one."""


def page(recording: Recording, *, title: str | None = None, notes: Sequence[str] = ()) -> str:
    """The page as text. `notes` are what a reader must know of the run, such as that its capacity was emulated."""
    fit = sanitizer().line
    heading = clipped(fit(title), 400) if title else None
    messages = tell_run(recording, title=heading, notes=[*map(fit, notes), *recording.warnings])
    styles, scripts = (list(map(read_client, names)) for names in (STYLES, SCRIPTS))
    head = make_head(
        heading or "Elastream",
        element("meta", http_equiv="Content-Security-Policy", content=make_policy(styles, scripts)),
        *(element("style", Html(style)) for style in styles),
    )
    data = json.dumps([[one.kind, json.loads(one.data)] for one in messages], separators=(",", ":"))
    body = element(
        "body",
        element("main", make_body()),
        # The one character that could end the element.
        element("script", Html(data.replace("<", "\\u003c")), type="application/json", id="run-data"),
        *(element("script", Html(script)) for script in scripts),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def tell_run(recording: Recording, *, title: str | None = None, notes: Sequence[str] = ()) -> list[FeedMessage]:
    """All that the page of a recording is told. Older runs whose times overlap are left out, and that is told."""
    found = read_series(recording)
    if found.left_out:
        notes = [
            *notes,
            f"not shown: {found.left_out} older in the same folder, of times that overlap those of this one",
        ]
    feed = PageFeed(title=title, notes=notes)
    for part in found.shown.parts:
        feed.begin(part.header)
        for tick in part.ticks:
            feed.update(tick, is_behind=True)
    return list(feed.since(None))


def write_page(recording: Recording, path: Path, *, title: str | None = None, notes: Sequence[str] = ()) -> None:
    """Write the page to a file."""
    path.write_text(page(recording, title=title, notes=notes), encoding="utf-8")
