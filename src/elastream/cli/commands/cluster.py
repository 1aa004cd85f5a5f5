"""`elastream cluster`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.options import Json
from elastream.cli.terminal.daemons import option, stop_and_tell, tell_status
from elastream.cli.terminal.output import console, print_json, tell
from elastream.daemons.ports import LOOPBACK
from elastream.development.cluster.finder import NAME
from elastream.development.cluster.folder import ClusterError, ClusterFolder, standing_folder
from elastream.development.cluster.local_cluster import ClusterSettings, spark_home
from elastream.development.cluster.local_cluster import up as start
from elastream.development.cluster.status import ClusterStatus
from elastream.development.cluster.status import status as look

Folder = Annotated[
    Path | None,
    typer.Option("--folder", metavar="FOLDER", help="Where its state lies; one for each cluster.", show_default=False),
]

cluster = typer.Typer(
    name="cluster",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="""Start, stop and show a small Spark cluster on this machine, closed to everyone else.

    [bold]Examples[/bold]

    elastream cluster up --workers 2 --cores 6

    elastream cluster status

    elastream cluster down
    """,
)


@cluster.command()
def up(
    workers: Annotated[int, typer.Option(metavar="NUMBER", help="Worker processes.")] = 2,
    cores: Annotated[
        int, typer.Option(metavar="NUMBER", help="Cores that each worker offers; may be more than there are.")
    ] = 6,
    memory: Annotated[
        str, typer.Option(metavar="SIZE", help="Memory that each worker offers, such as 512m or 4g.")
    ] = "4g",
    folder: Folder = None,
    json: Json = False,
) -> None:
    """Start a cluster that stays until `elastream cluster down`.

    It listens on loopback only, and lets in only who has the secret, which lies in a file that only you can read.
    Without --folder it lies in your runtime directory, if you have one, and ends when that goes with your last login.

    [bold]Examples[/bold]

    elastream cluster up

    elastream cluster up --folder second --workers 1 --cores 2 --memory 1g
    """
    settings = ClusterSettings(workers=workers, cores=cores, memory=memory, folder=folder)
    spark_home()
    if not json:
        tell("starting master and workers ...")
    where, _, is_new = start(settings)
    now = look(where)
    if not now.is_up:
        raise ClusterError(f"{_sentence(now)}; stop it first: elastream cluster down{option(folder)}")
    if json:
        print_json({"started": is_new, **now.to_json()})
        return
    screen = console()
    screen.print(_sentence(now) if is_new else f"already {_sentence(now)}", soft_wrap=True)
    name = NAME if folder is None else str(folder)
    screen.print(f"run on it: elastream run --master {shlex.quote(name)} JOB.py", soft_wrap=True)
    screen.print(
        f"submit to it: SPARK_LOCAL_IP={LOOPBACK} spark-submit --properties-file {where.driver_file} JOB.py",
        soft_wrap=True,
    )
    screen.print(f"stop it: elastream cluster down{option(folder)}", soft_wrap=True)


@cluster.command()
def down(folder: Folder = None, json: Json = False) -> None:
    """Stop the cluster, all its processes, and remove its folder.

    [bold]Examples[/bold]

    elastream cluster down
    """
    stop_and_tell(_folder(folder), "cluster", json=json)


@cluster.command()
def status(folder: Folder = None, json: Json = False) -> None:
    """Show what runs of the cluster.

    [bold]Examples[/bold]

    elastream cluster status --json
    """
    now = look(_folder(folder))
    lines = [_sentence(now), f"applications: {', '.join(now.applications) or 'none'}"]
    tell_status(now.to_json(), lines, f"elastream cluster down{option(folder)}", json=json)


def _folder(folder: Path | None) -> ClusterFolder:
    return standing_folder() if folder is None else ClusterFolder(path=folder.absolute())


def _sentence(now: ClusterStatus) -> str:
    path, state = now.folder.path, now.state
    if state is None:
        return f"no cluster in {path}; start one: elastream cluster up"
    if "supervisor" not in now.running:
        return f"down, but not cleaned up: the process that kept the cluster in {path} was killed"
    if state.master is None:
        return f"starting or stopping in {path}"
    if not now.page:
        return f"broken: the master of the cluster in {path} does not answer"
    workers = f"{now.workers_alive} of {state.workers} workers, {state.cores} cores and {state.memory} each"
    return f"up: {state.master} ({workers}; {now.page.get('coresused', 0)} cores in use; logs in {path})"
