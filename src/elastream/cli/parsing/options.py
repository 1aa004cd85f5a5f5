"""Options that several commands have."""

from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A YAML file with settings.")]
Conf = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="KEY=VALUE", help="A Spark property; may be repeated."),
]
GuardTexts = Annotated[
    list[str] | None,
    typer.Option("--guard", metavar="NAME(KEY=VALUE)", help="A guard around the policy; may be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, to stdout.")]
