"""What is asked of a Prometheus server, and how its series belong to executors and queries."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
_MATCHERS = rf"\{{(?:[^{{}}\"']|{_QUOTED})*\}}"
_SELECTOR = re.compile(rf"[A-Za-z_:][\w:]*\s*(?:{_MATCHERS})?|{_MATCHERS}")


def is_selector(promql: str) -> bool:
    """Whether a query only names series, so that their samples can be asked, each with its time."""
    return _SELECTOR.fullmatch(promql.strip()) is not None


def check_address(url: str) -> str:
    """The address of a server; ValueError with what is wrong."""
    try:
        parts = urlsplit(url.strip())
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_whole = False
    if not is_whole or not url.isascii() or not url.isprintable() or any(mark in url for mark in " ?#"):
        raise ValueError("it must be an address such as http://prometheus:9090 or https://host/prometheus")
    if parts.username is not None:
        raise ValueError(
            "credentials do not stand in an address, which others may read; name a file: prometheus.token_file, or "
            "prometheus.user with prometheus.password_file"
        )
    return url.strip().rstrip("/")


def check_question(name: str, promql: str | None, times: str | None) -> None:
    """ValueError where an answer would not tell when it was true."""
    if promql is None and times is not None:
        raise ValueError(f"{name}_times is set and {name} is not")
    if promql is not None and times is None and not is_selector(promql):
        raise ValueError(
            f"{name} is an expression, whose answer does not tell when it was true; set prometheus.{name}_times too, "
            f"such as 'max by (pod) (timestamp(...))', or write a selector: a name with labels in braces"
        )


def compile_label(pattern: str) -> re.Pattern[str]:
    """What of a label's value names an executor; ValueError where that cannot be read."""
    try:
        compiled = re.compile(pattern)
    except re.error as wrong:
        raise ValueError(f"executor_pattern {pattern!r} is no regular expression: {wrong}") from None
    if compiled.groups > 1:
        raise ValueError(f"executor_pattern {pattern!r} has {compiled.groups} groups; one of them names the executor")
    return compiled
