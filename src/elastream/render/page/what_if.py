"""Where somebody chooses what might have been, and sees what would have come of it."""

from elastream.render.html import Html, element


def make_what_if() -> Html:
    """Hidden until the server says that it is offered."""
    form = element(
        "form",
        _field("Policy", element("select", id="if-policy")),
        _field("Executors at least", element("input", id="if-low", type="number", min="1", max="10000", step="1")),
        _field("at most", element("input", id="if-high", type="number", min="1", max="10000", step="1")),
        _field("SLO in seconds", element("input", id="if-slo", type="number", min="0.1", max="86400", step="any")),
        _field("In the last", element("select", id="if-span")),
        element("button", "Simulate", type="submit", id="if-ask", class_="main"),
        element("button", "Cancel", type="button", id="if-cancel", hidden=""),
        id="if-form",
        class_="choices",
    )
    return element(
        "section",
        element("h2", "What if", id="if-name"),
        element(
            "p",
            "The time that was recorded, planned again on a model that is fitted to it. Nothing of the run is changed.",
            class_="hint",
        ),
        form,
        element("progress", id="if-progress", max="1", value="0", hidden="", aria_label="How much is simulated"),
        element("p", id="if-status", class_="hint", role="status"),
        element("div", id="if-answer", hidden=""),
        id="what-if",
        hidden="",
        aria_labelledby="if-name",
    )


def _field(name: str, control: Html) -> Html:
    return element("label", element("span", name), control)
