"""`elastream calibrate`."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.model_numbers import describe_model, print_model
from elastream.cli.terminal.output import console, print_json, print_line
from elastream.core.errors import BadInput
from elastream.experiments.calibration import read_calibration, write_calibration
from elastream.simulator.calibration import cut_into


def calibrate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A recorded run: its folder, or its journal.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the model goes. Without it, its numbers are only shown.")
    ] = None,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="Cut it into so many partitions: what a task costs was measured."),
    ] = None,
    json: Json = False,
) -> None:
    """Fit a model of a micro-batch application to one recorded run, for the simulator.

    A run whose load moves tells work per record from what a batch costs anyway; one whose size moves tells how
    executors come and go. `elastream fidelity` says how far off such a model is.

    [bold]Examples[/bold]

    elastream live --job wordcount --out runs/wordcount

    elastream calibrate runs/wordcount --out wordcount.yaml

    elastream calibrate runs/wordcount --partitions 12 --out wordcount.yaml

    elastream simulate --model wordcount.yaml
    """
    if out is not None and out.is_dir():
        raise BadInput(f"--out {out}: this is a folder; name a file, such as {out / 'job.yaml'}")
    model = read_calibration(run, out.stem if out is not None else run.resolve().name)
    if partitions is not None:
        model = cut_into(model, partitions)
    if out is not None:
        write_calibration(model, out)
    origin = f"measured from a recorded run: {run}"
    if json:
        print_json({**describe_model(model, origin), "file": None if out is None else str(out)})
        return
    print_model(model, origin)
    if out is not None:
        print_line(console(), f"the model: {out}; try: elastream simulate --model {out}")
