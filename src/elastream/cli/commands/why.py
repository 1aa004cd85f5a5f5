"""`elastream why`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from elastream.cli.parsing.options import Json, Redaction
from elastream.cli.parsing.setting_sources import hide_by
from elastream.cli.terminal.output import console, print_json, tell
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import read
from elastream.journal.story import sentences
from elastream.journal.story_line import Line

STYLES = {"start": "bold", "asked": "bold", "change": "", "keep": "dim", "hold": "yellow", "blind": "red"}


def why(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of a recorded run, or one file of its journal.")],
    last: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Only the last so many lines.")] = None,
    conf: Redaction = None,
    json: Json = False,
) -> None:
    """Tell what a recorded run did, and why: a line per change of target or of reason.

    [bold]Examples[/bold]

    elastream why runs/threshold

    elastream why runs/threshold --last 5
    """
    hide_by(conf)
    recording = read(find_journal(path))
    for warning in recording.warnings:
        tell(warning)
    lines = list(sentences(recording))[-(last or 0) :]
    if json:
        print_json([{**asdict(line), "text": line.text()} for line in lines])
    else:
        print_lines(lines)


def print_lines(lines: Sequence[Line]) -> None:
    """Lines for a person, broken between words where the terminal ends."""
    screen = console()
    for line in lines:
        clock, _, rest = line.text().partition("  ")
        if screen.is_terminal:
            # What does not fit goes on below its own beginning, not below the time.
            screen.print(Text(clock, style="cyan"), end="")
            wrapped = Text(rest, style=STYLES[line.what]).wrap(screen, max(20, screen.width - len(clock) - 2))
            for i, part in enumerate(wrapped):
                screen.print(Padding(part, (0, 0, 0, 2 if i == 0 else len(clock) + 2), expand=False))
        else:
            screen.print(f"{clock}  {rest}", soft_wrap=True)
