"""Two streams: results go to stdout, everything else to stderr."""

import json
import logging
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from elastream.core.printable import visible
from elastream.core.sanitizer import sanitizer

# Wide enough for the table of results; a file or a pipe has no width of its own.
WIDTH_OF_A_PIPE = 120


class SafeConsole(Console):
    """Prints visible characters only: rich passes on escape sequences that stand in a text.

    Colours, and what moves the cursor, are rich's own and no text.
    """

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Everything that is printed, tables, bars and pictures that move among it, passes through here."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def console() -> Console:
    """Where results are printed."""
    return _console(stderr=False)


def error_console() -> Console:
    """Where progress is shown."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
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


def write_result(line: str) -> None:
    """A line that is fit already, as it is."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


class _Voice:
    by: Callable[[str], None] | None = None


def tell_by(write: Callable[[str], None]) -> None:
    """From now on, what is told is told this way: where programs read along, all of it has their shape."""
    _Voice.by = write


def tell(line: str) -> None:
    """One line for the person, not for the script."""
    text = sanitizer().line(line)
    if _Voice.by is not None:
        _Voice.by(text)
    elif hasattr(sys.stderr, "rich_proxied_file"):
        # A picture moves there: only what is written this way appears above it, and not within.
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    else:
        print_line(error_console(), text)


class _Teller(logging.Handler):
    def __init__(self, label: str) -> None:
        super().__init__()
        self._label = label

    def emit(self, record: logging.LogRecord) -> None:
        tell(f"{self._label}: {record.getMessage()}")


@contextmanager
def troubles_told(label: str) -> Iterator[None]:
    """What a simulated loop survives is told with the name of the policy that met it."""
    log, teller = logging.getLogger("elastream"), _Teller(label)
    propagates, log.propagate = log.propagate, False
    log.addHandler(teller)
    try:
        yield
    finally:
        log.removeHandler(teller)
        log.propagate = propagates


def print_json(document: object) -> None:
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
