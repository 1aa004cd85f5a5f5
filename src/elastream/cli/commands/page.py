"""`elastream page`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json, Redaction
from elastream.cli.parsing.setting_sources import hide_by
from elastream.cli.terminal.output import print_json, tell
from elastream.core.errors import BadInput, JournalError
from elastream.experiments.run_folder import JOURNAL, find_journals
from elastream.journal.reader import Recording, read
from elastream.render.page.comparison import write_comparison
from elastream.render.page.page import write_page

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
    conf: Redaction = None,
    json: Json = False,
) -> None:
    """Write a recorded run as one HTML page that works offline: load, backlog, delay, executors, and every why.

    A folder that holds several runs, as `simulate --out` makes it, becomes a page that compares them: a table of their
    numbers, and their strips on one time axis.

    [bold]Examples[/bold]

    elastream page runs/threshold

    elastream page runs

    elastream page runs/threshold --out threshold.html --note 'capacity emulated: 2,000 records/s per slot'
    """
    hide_by(conf)
    journals = find_journals(path)
    beside = path if len(journals) > 1 else next(iter(journals.values()))
    folder = beside if beside.is_dir() else beside.parent
    # Of a run, beside its numbers and not among its ticks.
    target = out if out is not None else (folder.parent if folder.name == JOURNAL else folder) / FILE
    if target.is_dir():
        raise BadInput(f"--out {target}: this is a folder; name a file, such as {target / FILE}")
    runs, notes = _read(journals, note or [])
    try:
        if len(journals) > 1:
            write_comparison(runs, target, title=title, notes=notes)
        else:
            write_page(next(iter(runs.values())), target, title=title, notes=notes)
    except OSError as wrong:
        raise BadInput(f"--out {target}: {wrong.strerror}") from None
    if json:
        print_json({"page": str(target)})
    else:
        typer.echo(target)


def _read(journals: Mapping[str, Path], notes: Sequence[str]) -> tuple[dict[str, Recording], list[str]]:
    """Recordings by the name of their folder, and what a reader must know; of several, a broken one is left out."""
    runs: dict[str, Recording] = {}
    told = list(notes)
    for name, journal in journals.items():
        try:
            runs[name] = recording = read(journal)
        except JournalError as wrong:
            if len(journals) == 1:
                raise
            tell(f"left out: {wrong}")
            told.append(f"left out: {wrong}")
            continue
        for warning in recording.warnings:
            tell(warning)
    if not runs:
        raise JournalError(f"not one of {len(journals)} runs can be read: {', '.join(journals)}")
    return runs, told
