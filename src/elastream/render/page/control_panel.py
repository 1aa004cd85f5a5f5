"""Where the page asks for the token, and what it lets somebody do who had it; hidden until a server allows it."""

from elastream.render.html import Html, element

SPANS = (("10 min", 600), ("30 min", 1800), ("1 h", 3600), ("4 h", 14400), ("1 day", 86400))
"""For how long a size can be held, and in seconds."""


def make_control_panel() -> Html:
    """The section; `client/control.js` fills it."""
    return element(
        "section",
        element(
            "div",
            element("h2", "Control"),
            element("span", id="control-now", class_="age near"),
            element("span", id="control-who", class_="age"),
            _button("sign-out", "Sign out"),
            class_="head",
        ),
        element("p", id="control-missing", class_="hint"),
        _sign_in(),
        element("div", _modes(), _bounds(), _size(), id="actions", class_="actions", hidden=""),
        element("p", id="control-said", class_="hint", role="status"),
        id="control",
        aria_label="Control",
        hidden="",
    )


def _sign_in() -> Html:
    return element(
        "form",
        element("label", "Token", for_="token"),
        # A browser offers to keep what it takes for a password of a person.
        element("input", type="password", id="token", autocomplete="off", required="", maxlength="500"),
        element("button", "Sign in", type="submit"),
        element("small", "It lies in the file that was named where the run was started."),
        id="sign-in",
        class_="order",
        hidden="",
    )


def _modes() -> Html:
    return element(
        "div",
        _button("do-pause", "Pause"),
        _button("do-dry-run", "Dry run"),
        _button("do-resume", "Run"),
        class_="order",
        role="group",
        aria_label="Whether sizes are changed",
    )


def _bounds() -> Html:
    return element(
        "form",
        element("span", "Bounds", class_="what"),
        _number("bound-low", "Fewest executors"),
        element("span", "to"),
        _number("bound-high", "Most executors"),
        element("button", "Set", type="submit"),
        _button("do-configured", "As configured"),
        id="bounds-form",
        class_="order",
    )


def _size() -> Html:
    spans = (element("option", name, value=str(seconds)) for name, seconds in SPANS)
    return element(
        "form",
        element("span", "Size", class_="what"),
        _number("size-workers", "Executors to hold"),
        element("span", "for"),
        element("select", *spans, id="size-for", aria_label="For how long"),
        element("button", "Hold", type="submit"),
        _button("do-release", "Release"),
        id="size-form",
        class_="order",
    )


def _button(id: str, name: str) -> Html:
    return element("button", name, type="button", id=id)


def _number(id: str, name: str) -> Html:
    return element(
        "input", type="number", id=id, min="1", max="10000", step="1", required="", inputmode="numeric", aria_label=name
    )
