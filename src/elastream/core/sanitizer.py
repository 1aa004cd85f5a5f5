"""Text that came from outside, made fit to be shown and stored: one line of visible characters, without secrets.

Names of queries, errors of Spark and settings of an application are written by others. The loop passes what it sees
and decides through here before anything else has it; logs, errors, journals and the command line do so again with what
they are given, so that none of them depends on another.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from elastream.core.errors import BadInput
from elastream.core.printable import one_line
from elastream.core.secret_patterns import (
    HIDDEN,
    compile_pattern,
    hide_secrets,
    is_secret_name,
    is_secret_number,
)

REDACTION = "spark.redaction.regex"
"""The application's own pattern of what is secret; it adds to what is always hidden."""

# Names and sentences come again with every tick.
_REMEMBERED = 4096
# Of a setting, by a pattern whose cost may grow with the square of it.
_MOST_SEARCHED = 1000


class Sanitizer:
    """Hides what is secret by its name or its shape, and by an application's own pattern."""

    def __init__(self, pattern: str | None = None) -> None:
        self._own: re.Pattern[str] | None = None
        if pattern:
            try:
                self._own = compile_pattern(pattern)
            except ValueError as wrong:
                raise BadInput(
                    f"{REDACTION}: {pattern!r} cannot be used, so that secrets could not be kept out of journals and "
                    f"logs: {wrong}; write it without what only Java knows"
                ) from None
        own = self._own
        self._line = lru_cache(_REMEMBERED)(lambda text: hide_secrets(one_line(text), own))

    def line(self, text: str) -> str:
        """A sentence or a name as one line, without secrets."""
        return self._line(text)

    def texts(self, value: object) -> Any:
        """Plain data with every text made fit; keys are names here and say nothing about their values."""
        # Journals pass every number of every tick through here.
        kind = type(value)
        if kind is float or kind is int or value is None:
            return value
        if kind is str:
            return self._line(value)
        if isinstance(value, Mapping):
            return {self._line(key) if isinstance(key, str) else key: self.texts(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [item if type(item) is float else self.texts(item) for item in value]
        return self._line(value) if isinstance(value, str) else value

    def data(self, value: object) -> Any:
        """The same, and without what stands under keys that name a secret, at any depth."""
        return self._without_secrets(value, None, hides_numbers=True)

    def settings(self, value: object) -> object:
        """The same for settings of our own, whose numbers are no secrets and are needed to plan a run again."""
        return self._without_secrets(value, None, hides_numbers=False)

    def setting(self, name: str, value: object) -> object:
        """One value by its name; as Spark does, what matches the application's pattern itself is hidden as a whole."""
        if isinstance(value, str) and self._own is not None and self._own.search(value[:_MOST_SEARCHED]):
            return HIDDEN
        return self._without_secrets({name: value}, None, hides_numbers=True)[self.line(name)]

    def _without_secrets(self, value: object, secret: str | None, *, hides_numbers: bool) -> Any:
        """`secret` is the name of the one that all of it belongs to."""
        if isinstance(value, Mapping):
            found = {}
            for key, item in value.items():
                name = str(key)
                inside = name if is_secret_name(name, self._own) else secret
                found[self.line(name)] = self._without_secrets(item, inside, hides_numbers=hides_numbers)
            return found
        if isinstance(value, (list, tuple)):
            return [self._without_secrets(item, secret, hides_numbers=hides_numbers) for item in value]
        if secret is None:
            return self.texts(value)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if isinstance(value, str) or (is_number and hides_numbers and is_secret_number(secret, self._own)):
            return HIDDEN
        return value


_in_use = Sanitizer()


def sanitizer() -> Sanitizer:
    """The one in use: that of the application in this process, whose pattern holds for everything here."""
    return _in_use


def use_pattern(pattern: str | None) -> Sanitizer:
    """From now on hide by this pattern too, and no longer by an earlier one; BadInput if it cannot be used."""
    global _in_use
    _in_use = Sanitizer(pattern)
    return _in_use
