"""An HTML file that needs nothing else and runs nothing but our own script."""

import base64
import hashlib
from collections.abc import Sequence

from elastream.render.html import Html, element

NOBODY = "'none'"


def make_document(title: str, body: Html, *, style: str, script: str = "") -> str:
    """The text of the file; by its content policy it loads nothing, and sends nothing."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=make_policy([style], [script] if script else [])),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Html(style)),
    )
    content = element("body", element("main", body), element("script", Html(script)) if script else None)
    return f"<!doctype html>\n{element('html', head, content, lang='en')}\n"


def make_policy(styles: Sequence[str], scripts: Sequence[str]) -> str:
    """A content policy that allows exactly these styles and scripts, and nothing from anywhere."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src {' '.join(map(_hash, styles))}",
            f"script-src {' '.join(map(_hash, scripts)) or NOBODY}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _hash(source: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}'"
