"""`elastream report`."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import print_json
from elastream.core.errors import BadInput
from elastream.experiments.report.contents import read_contents
from elastream.experiments.report.report import write_report

FILE = "report.html"


def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `elastream experiment run --out` wrote.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it. Default: report.html in the folder.")
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Draw the load of this run; the beginning of its name, as `list` shows it."),
    ] = None,
    json: Json = False,
) -> None:
    """Write what the runs of a plan say as one HTML file that works offline: answer, picture, tables.

    The raw data stays in the folder: the report tells for each figure which rows and which query made it.

    [bold]Examples[/bold]

    elastream report results/first-look

    elastream report results/first-look --out first-look.html

    elastream report results/first-look --run 3f2a
    """
    contents = read_contents(folder)
    target = out if out is not None else folder / FILE
    if target.is_dir():
        raise BadInput(f"--out {target}: this is a folder; name a file, such as {target / FILE}")
    if not contents.runs:
        why = f"`elastream experiment list {folder}` says why"
        raise BadInput(f"{folder}: no run is finished by the present code; {why}")
    try:
        write_report(contents, target, run=run)
    except OSError as wrong:
        raise BadInput(f"--out {target}: {wrong.strerror}") from None
    if json:
        print_json({"report": str(target)})
    else:
        typer.echo(target)
