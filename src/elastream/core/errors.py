"""Every error of Elastream.

    ElastreamError
    ├── BadInput            what the user wrote is wrong: one line, exit code 2, nothing started
    │   └── UnknownName     a name that does not exist, with the nearest one that does
    ├── CannotRun           a policy needs a signal that the platform does not provide
    ├── ObservationFailed   the platform could not be looked at: the loop holds
    ├── ApplyFailed         the platform refused a change: told, and tried again on the next tick
    └── JournalError        a journal that cannot be written, read or owned

A message names the thing, what was found, and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches

from elastream.core.printable import one_line


class ElastreamError(Exception):
    """Anything Elastream says went wrong, in a line of bearable length that may quote others."""

    def __str__(self) -> str:
        # Not at the top: what makes text fit has errors of its own to raise.
        from elastream.core.sanitizer import sanitizer

        return clip(sanitizer().line(super().__str__()))


class BadInput(ElastreamError):
    """The user's input is wrong; nothing was started."""


class UnknownName(BadInput):
    """A name that does not exist."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        super().__init__(f"{what} {name!r}{suggestion(name, known)}")


class CannotRun(ElastreamError):
    """A policy needs what its platform does not provide."""


class ObservationFailed(ElastreamError):
    """The platform could not be looked at."""


class ApplyFailed(ElastreamError):
    """The platform refused a change."""


class JournalError(ElastreamError):
    """A journal that cannot be written, read or owned."""


def require_setting(guard: str, holds: bool, found: str) -> None:
    """Refuse a guard's setting that makes no sense."""
    if not holds:
        raise BadInput(f"guard {guard}: {found}")


def clip(text: str, most: int = 1000) -> str:
    """A text of bearable length; its end is kept too, for what to do stands there."""
    return text if len(text) <= most else f"{text[: most * 2 // 3]} ... {text[-most // 3 :]}"


def spell_error(error: BaseException) -> str:
    """Somebody else's error in one line of bearable length, with its kind."""
    return f"{type(error).__name__}: {clip(one_line(str(error)), 300)}"


def suggestion(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about a wrong name: the nearest right one, or all of them."""
    names = sorted(known)
    # Case is a frequent slip, and difflib counts it as a different letter.
    by_lower = {candidate.lower(): candidate for candidate in names}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"; did you mean {by_lower[near[0]]!r}?"
    return f"; known: {', '.join(names)}" if names else "; there is none"
