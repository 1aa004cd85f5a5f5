"""The page without what was told: the same for one that is served and one that is a file."""

from importlib.resources import files

from elastream.render.html import Html, element, joined
from elastream.render.page.control_panel import make_control_panel
from elastream.render.page.what_if import make_what_if

SCRIPTS = ("uplot.js", "format.js", "store.js", "ahead.js", "strips.js", "decisions.js", "queries.js", "main.js")
SERVED_SCRIPTS = (*SCRIPTS[:-1], "control.js", "what-if.js", SCRIPTS[-1])
"""A file controls nothing, and asks nobody."""
STYLES = ("uplot.css", "run.css")
_CLIENT = files(__package__).joinpath("client")


def read_client(name: str) -> str:
    """A script or a style of the page."""
    return _CLIENT.joinpath(name).read_text(encoding="utf-8")


def make_body(*, served: bool = False) -> Html:
    """What the scripts fill."""
    panel, asked = (make_control_panel(), make_what_if()) if served else (None, None)
    return joined((_header(), _now(), panel, _over_time(), _summary(), asked, _queries(), _story(), _footer()))


def make_head(title: str, *more: Html) -> Html:
    """The head, with what is loaded or stands in it."""
    return element(
        "head",
        element("meta", charset="utf-8"),
        *more,
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
    )


def _header() -> Html:
    return element(
        "header",
        element(
            "div",
            element("h1", "Elastream", id="title"),
            element("span", "…", id="state", class_="state", role="status"),
            element("span", id="age", class_="age"),
            class_="head",
        ),
        element("p", id="connection", class_="connection", role="alert"),
        element("ul", id="notes", class_="notes", hidden=""),
    )


def _now() -> Html:
    executors = element(
        "div",
        element("dt", "Executors"),
        element(
            "dd",
            element("span", "?", id="now-ready"),
            element("small", "ready of "),
            element("span", "?", id="now-wanted"),
            element("small", "wanted"),
            class_="number pair",
        ),
        element(
            "dd",
            "requested ",
            element("b", "?", id="now-requested"),
            ", leaving ",
            element("b", "?", id="now-leaving"),
            "; bounds ",
            element("span", id="now-bounds"),
            class_="more",
        ),
        class_="tile large",
    )
    delay = element(
        "div",
        element("dt", "Delay"),
        element("dd", "?", id="now-delay", class_="number"),
        element(
            "dd",
            element("progress", id="gauge", max="1", value="0", hidden="", aria_label="Delay against the SLO"),
            class_="more",
        ),
        element("dd", id="now-slo", class_="more"),
        class_="tile",
    )
    return element(
        "section",
        element("h2", "Now", class_="unseen"),
        element(
            "dl",
            executors,
            _tile("Backlog", "now-backlog", "now-behind"),
            delay,
            _tile("Kept", "now-kept", "now-records", id="tile-kept"),
            _tile("Rate", "now-rate", "now-done"),
            class_="tiles",
        ),
        element("div", element("h3", "", id="why-kind"), element("p", "", id="why"), class_="whyline"),
        element("ul", id="limits", class_="limits", hidden="", aria_label="What keeps queries back"),
        element("ul", id="troubles", class_="troubles", hidden="", aria_label="What went wrong"),
        id="now",
        aria_label="Now",
    )


def _tile(name: str, number: str, more: str, id: str | None = None) -> Html:
    return element(
        "div",
        element("dt", name),
        element("dd", "?", id=number, class_="number"),
        element("dd", id=more, class_="more"),
        class_="tile",
        id=id,
    )


def _over_time() -> Html:
    stack = element(
        "div",
        element("div", id="lane", class_="lane", role="group", aria_label="Changes of the number of executors"),
        element("div", id="card", class_="card", role="tooltip", hidden=""),
        id="stack",
        class_="stack",
        tabindex="0",
        role="group",
        aria_label="Over time. Arrows move the cursor, with shift the window; plus and minus zoom, Home shows all.",
    )
    return element(
        "section",
        element(
            "div",
            element("h2", "Over time"),
            element("span", id="cursor-time", class_="age"),
            element("div", id="ranges", class_="ranges", role="group", aria_label="Window of time"),
            class_="head",
        ),
        element("p", id="keys", class_="legend"),
        stack,
        element("p", id="wrong", class_="failed", role="status"),
        element(
            "p",
            "Drag to zoom, double-click for all. Times are UTC. Where a line breaks, nothing was known. What was "
            "expected stands where it was said; ahead of now, and of the cursor, it is drawn over the time it is for.",
            class_="hint",
        ),
        aria_label="Over time",
    )


def _summary() -> Html:
    return element(
        "section",
        element("h2", "The run so far", id="summary-name"),
        element("dl", id="summary", class_="tiles even"),
        aria_labelledby="summary-name",
    )


def _story() -> Html:
    names = (element("th", name, scope="col") for name in ("Time", "Change", "Why", "Took"))
    return element(
        "section",
        element("h2", "Decisions, and why"),
        element("input", type="checkbox", id="kept", class_="toggle"),
        element("label", "Show what kept the size", id="kept-count", for_="kept"),
        element("table", element("thead", element("tr", *names)), element("tbody", id="lines"), class_="told"),
        aria_label="Decisions, and why",
    )


def _queries() -> Html:
    return element(
        "section",
        element("h2", "Queries"),
        element("div", id="queries"),
        aria_label="Queries",
    )


def _footer() -> Html:
    return element(
        "footer", element("dl", id="facts", class_="facts"), element("p", "Made by Elastream.", class_="hint")
    )
