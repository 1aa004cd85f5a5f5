"""Markup that cannot be injected into: whatever is not `Html` already is text, and is escaped."""

import html
from collections.abc import Iterable

from elastream.core.printable import visible

_VOID = frozenset({"input", "meta"})


class Html(str):
    """Markup, made by `element` or written by us."""

    __slots__ = ()


def text(value: str) -> Html:
    """Text as markup that shows it; characters that are no text become a mark that says so."""
    return Html(html.escape(visible(value), quote=True))


def element(name: str, /, *children: str | None, **attributes: str | float | None) -> Html:
    """An element. `class_` and `aria_label` are written as in Python; None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _VOID:
        return Html(f"<{name}{written}>")
    return Html(f"<{name}{written}>{joined(children)}</{name}>")


def joined(children: Iterable[str | None]) -> Html:
    """Children one after the other."""
    return Html("".join(child if isinstance(child, Html) else text(child) for child in children if child is not None))


def clipped(value: str, most: int) -> str:
    """Text of which the markup has at most so many bytes."""
    if len(text(value).encode()) <= most:
        return value
    kept = value[:most]
    while (size := len(text(kept + "…").encode())) > most:
        kept = kept[: min(len(kept) - 1, len(kept) * most // size)]
    return kept + "…"
