"""`elastream kafka`."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.daemons import option, stop_and_tell, tell_status
from elastream.cli.terminal.output import console, print_json, tell
from elastream.development.kafka.folder import BrokerError, BrokerFolder, BrokerStatus, standing_folder
from elastream.development.kafka.folder import status as look
from elastream.development.kafka.jars import silently
from elastream.development.kafka.local_broker import BrokerSettings
from elastream.development.kafka.local_broker import up as start

Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="FOLDER", help="Where its data lies; one for each broker.", show_default=False),
]

kafka = typer.Typer(
    name="kafka",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Start, stop and show a Kafka broker on this machine, for development and tests.

    [bold]Examples[/bold]

    elastream kafka up

    elastream kafka status

    elastream kafka down
    """,
)


@kafka.command()
def up(
    port: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="Port on loopback; any free one if not named.")
    ] = None,
    heap: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory for the broker's heap, such as 512m or 2g.")
    ] = "512m",
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Start a broker that stays until `elastream kafka down`, and print its bootstrap address.

    It listens on loopback only. Its jars are fetched by Maven the first time; ELASTREAM_KAFKA_JARS names a folder of
    your own instead.

    [bold]Examples[/bold]

    elastream kafka up

    elastream kafka up --folder second --port 9092 --heap 1g
    """
    settings = BrokerSettings(port=port, heap=heap, folder=folder)
    where, _, is_new = start(settings, silently if json else tell)
    now = look(where)
    if not now.is_up:
        raise BrokerError(f"{_sentence(now)}; stop it first: elastream kafka down{option(folder)}")
    if json:
        print_json({"started": is_new, **now.to_json()})
        return
    screen = console()
    screen.print(_sentence(now) if is_new else f"already {_sentence(now)}", soft_wrap=True)
    here = "" if folder is None else f" --bootstrap {folder}"
    screen.print(f"fill it: elastream produce yahoo --workload 1k --topic ads --create{here}", soft_wrap=True)
    screen.print(f"stop it: elastream kafka down{option(folder)}", soft_wrap=True)


@kafka.command()
def down(folder: Folder = None, json: Json = False) -> None:
    """Stop the broker, and remove its folder with all topics.

    [bold]Examples[/bold]

    elastream kafka down
    """
    stop_and_tell(_folder(folder), "broker", json=json)


@kafka.command()
def status(folder: Folder = None, json: Json = False) -> None:
    """Show whether the broker runs, and where.

    [bold]Examples[/bold]

    elastream kafka status --json
    """
    now = look(_folder(folder))
    lines = [_sentence(now)]
    tell_status(now.to_json(), lines, f"elastream kafka down{option(folder)}", json=json)


def _folder(folder: Path | None) -> BrokerFolder:
    return standing_folder() if folder is None else BrokerFolder(path=folder.absolute())


def _sentence(now: BrokerStatus) -> str:
    path, state = now.folder.path, now.state
    if state is None:
        return f"no broker in {path}; start one: elastream kafka up"
    if "supervisor" not in now.running:
        return f"down, but not cleaned up: the process that kept the broker in {path} was killed"
    if state.bootstrap is None:
        return f"starting or stopping in {path}"
    if "broker" not in now.running:
        return f"broken: the broker in {path} has ended; see {now.folder.log_file}"
    return f"up: {state.bootstrap} (heap {state.heap}; log {now.folder.log_file})"
