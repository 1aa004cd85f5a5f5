"""What must not be read by others is not written: by Spark's own pattern, so that one setting rules both."""

import re
from typing import Any

from elastream.core.errors import BadInput

SPARK_PATTERN = r"(?i)secret|password|token|access[.]?key"
"""The default of `spark.redaction.regex`."""

HIDDEN = "*********(redacted)"
"""What Spark writes in its place."""

_VALUE = r"""(?P<value>"[^"]*"|'[^']*'|(?:(?:Bearer|Basic)\s+)?[^\s"'&,;(){}\[\]]+)"""
_NUMBER = re.compile(r"[+-]?\d[\d._]*(?:e[+-]?\d+)?(?:%|/s|m?s)?", re.IGNORECASE)
_COUNTED = re.compile("token", re.IGNORECASE)
_FLAGS = re.compile(r"\(\?([a-zA-Z]+)\)")


class Redaction:
    """Hides text under keys that match a pattern. Numbers in data stay: `tokens_per_s` is a measurement."""

    def __init__(self, pattern: str = SPARK_PATTERN) -> None:
        self._key = _compiled(pattern, pattern)
        # Anchored at the start of a word, so that a long line costs no more than its length.
        named = rf"(?<![\w.\-])(?P<key>[\w.\-]*(?:{_scoped(pattern)})[\w.\-]*)"
        joined = rf"""(?P<join>["']?\s*[=:]\s*)(?!{re.escape(HIDDEN)})"""
        self._pair = _compiled(named + joined + _VALUE, pattern)

    def concerns(self, text: str) -> bool:
        """Whether there may be something to hide; cheap."""
        return self._key.search(text) is not None

    def text(self, sentence: str) -> str:
        """A sentence without the values of `key=value` and `key: value`."""
        return self._pair.sub(_hidden, sentence) if self.concerns(sentence) else sentence

    def data(self, value: Any) -> Any:
        """Plain data without text under keys that match, at any depth, and without pairs inside of sentences."""
        return self._walked(value, by_key=True)

    def texts(self, value: Any) -> Any:
        """Plain data without pairs inside of sentences; keys are names here and say nothing about their values."""
        return self._walked(value, by_key=False)

    def _walked(self, value: Any, *, by_key: bool, hide: bool = False) -> Any:
        if isinstance(value, str):
            return HIDDEN if hide else self.text(value)
        if isinstance(value, dict):
            return {
                self.text(key): self._walked(item, by_key=by_key, hide=hide or (by_key and self.concerns(key)))
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._walked(item, by_key=by_key, hide=hide) for item in value]
        return value


def _hidden(pair: re.Match[str]) -> str:
    # In a sentence a number is text too. Tokens are also things to count; of a password no digit may be shown.
    if _COUNTED.search(pair["key"]) and _NUMBER.fullmatch(pair["value"].rstrip(".")):
        return pair[0]
    return f"{pair['key']}{pair['join']}{HIDDEN}"


def _scoped(pattern: str) -> str:
    """Flags at the start, as Java writes them, bound to the pattern: Python has them only there for the whole."""
    flags = _FLAGS.match(pattern)
    return f"(?{flags[1]}:{pattern[flags.end() :]})" if flags else pattern


def _compiled(expression: str, pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(expression)
    except re.error as wrong:
        raise BadInput(f"spark.redaction.regex: {pattern!r} cannot be used: {wrong}") from None
