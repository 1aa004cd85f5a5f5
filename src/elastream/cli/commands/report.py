"""`elastream report`."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.output import print_json
from elastream.core.errors import BadInput
from elastream.experiments.report.contents import Contents, read_contents
from elastream.experiments.report.formats import make_csv, make_markdown
from elastream.experiments.report.report import make_report

FORMS = {"html": "report.html", "md": "report.md", "csv": "report.csv"}


def report(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `elastream experiment run --out` wrote.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Where to write it. Default: report.html (.md, .csv) in the folder."),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="Draw the load of this run; the beginning of its name, as `list` shows it."),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="html|md|csv", help="A page, its words and tables as Markdown, or every number."
        ),
    ] = "html",
    json: Json = False,
) -> None:
    """Write what the runs of a plan say as one HTML file that works offline: answer, picture, tables.

    The raw data stays in the folder: the report tells for each figure which rows and which query made it.

    [bold]Examples[/bold]

    elastream report results/first-look

    elastream report results/first-look --out first-look.html

    elastream report results/first-look --run 3f2a

    elastream report results/first-look --format csv
    """
    if form not in FORMS:
        raise BadInput(f"--format {form}: it is one of {', '.join(FORMS)}")
    if run is not None and form != "html":
        raise BadInput(f"--run {run}: only a page draws runs; leave out --format {form}")
    contents = read_contents(folder)
    target = out if out is not None else folder / FORMS[form]
    if target.is_dir():
        raise BadInput(f"--out {target}: this is a folder; name a file, such as {target / FORMS[form]}")
    if not contents.runs:
        why = f"`elastream experiment list {folder}` says why"
        raise BadInput(f"{folder}: no run is finished by the present code; {why}")
    try:
        target.write_text(_write(contents, form, run), encoding="utf-8", errors="replace")
    except OSError as wrong:
        raise BadInput(f"--out {target}: {wrong.strerror}") from None
    if json:
        print_json({"report": str(target)})
    else:
        typer.echo(target)


def _write(contents: Contents, form: str, run: str | None) -> str:
    if form == "md":
        return make_markdown(contents)
    return make_csv(contents) if form == "csv" else make_report(contents, run=run)
