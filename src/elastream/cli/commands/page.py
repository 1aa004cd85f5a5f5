"""`elastream page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import print_json, tell
from elastream.core.errors import BadInput

FILE = "page.html"


def page(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of a recorded run, or one file of its journal.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it. Default: page.html beside the journal.")
    ] = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Its heading. Default: what ran.")] = None,
    note: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="What a reader must know of the run; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Write a recorded run as one HTML page that works offline: load, backlog, delay, executors, and every why.

    [bold]Examples[/bold]

    elastream page runs/threshold

    elastream page runs/threshold --out threshold.html --note 'capacity emulated: 2,000 records/s per slot'
    """
    from elastream.cli.parsing.texts import journal_folder
    from elastream.journal.reader import read
    from elastream.render.page.page import write_page

    journal = journal_folder(path)
    target = out if out is not None else (journal if journal.is_dir() else journal.parent) / FILE
    if target.is_dir():
        raise BadInput(f"--out {target}: this is a folder; name a file, such as {target / FILE}")
    recording = read(journal)
    for warning in recording.warnings:
        tell(warning)
    try:
        write_page(recording, target, title=title, notes=note or ())
    except OSError as wrong:
        raise BadInput(f"--out {target}: {wrong.strerror}") from None
    if json:
        print_json({"page": str(target)})
    else:
        typer.echo(target)
