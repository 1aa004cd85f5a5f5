"""An HTML file that needs nothing else and runs nothing but our own script."""

import base64
import hashlib

from elastream.render.html import Html, element


def make_document(title: str, body: Html, *, style: str, script: str) -> str:
    """The text of the file; by its content policy it loads nothing, and sends nothing."""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(style)),
    )
    content = element("body", element("main", body), element("script", Html(script)))
    return f"<!doctype html>\n{element('html', head, content, lang='en')}\n"


def _hash(source: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"
