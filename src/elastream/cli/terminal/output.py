"""Two streams: results go to stdout, everything else to stderr."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from elastream.core.sanitizer import sanitizer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

# Wide enough for the table of results; a file or a pipe has no width of its own.
WIDTH_OF_A_PIPE = 120


def console() -> Console:
    """Where results are printed."""
    return _console(stderr=False)


def error_console() -> Console:
    """Where progress is shown."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from elastream.cli.terminal.safe_console import SafeConsole

    stream = sys.stderr if stderr else sys.stdout
    is_sized = stream.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    return SafeConsole(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=None if is_sized else WIDTH_OF_A_PIPE,
        # Rich would keep bold and underlined text where colours are not wanted.
        color_system=None if os.environ.get("NO_COLOR") else "auto",
    )


def write_line(line: str) -> None:
    """A line of a result that is not laid out."""
    sys.stdout.write(f"{sanitizer().line(line)}\n")
    sys.stdout.flush()


def print_table(screen: Console, table: Table) -> None:
    """A table; in a file or a pipe its lines end where their text ends."""
    if screen.is_terminal:
        screen.print(table)
        return
    with screen.capture() as captured:
        screen.print(table)
    for line in captured.get().splitlines():
        screen.print(line.rstrip(), soft_wrap=True)


def print_line(screen: Console, line: str) -> None:
    """A sentence: on a terminal it is broken between words, in a file or a pipe it stays one line."""
    screen.print(line, soft_wrap=not screen.is_terminal)


def tell(line: str) -> None:
    """One line for the person, not for the script."""
    sys.stderr.write(f"{sanitizer().line(line)}\n")
    sys.stderr.flush()


def print_json(document: Any) -> None:
    """The one document that a script reads."""
    safe = sanitizer().texts(document)
    sys.stdout.write(json.dumps(safe, indent=2, allow_nan=False, ensure_ascii=False) + "\n")


def is_drawable(characters: str, encoding: str) -> bool:
    """Whether a terminal can show them."""
    try:
        characters.encode(encoding)
    except (LookupError, UnicodeEncodeError):
        return False
    return True
