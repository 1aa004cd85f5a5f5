"""`elastream run`."""

import os
import re
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.completion import complete_policies
from elastream.cli.parsing.options import Assignments, Conf, ConfigFile, GuardTexts, LogFormat, PageToken
from elastream.cli.parsing.setting_sources import read_flags
from elastream.cli.parsing.texts import read_log_format
from elastream.cli.terminal.output import tell
from elastream.config import set_arguments, spark_arguments
from elastream.core.errors import BadInput, CannotRun
from elastream.development.cluster.finder import read_master
from elastream.launch import LAUNCHER
from elastream.launch.orders import LaunchOrders, checked_properties, checked_script, flatten
from elastream.launch.setting_up import MASTER, is_off, require_elastic, settings_for
from elastream.policies import policies
from elastream.spark.observe.probes import probes

# What stands behind the script belongs to the script.
CONTEXT = {"allow_interspersed_args": False}


def run(
    context: typer.Context,
    script: Annotated[Path, typer.Argument(metavar="APP.PY", help="A PySpark script, as it is.")],
    arguments: Annotated[list[str] | None, typer.Argument(metavar="ARGS", help="Its own arguments.")] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="What decides, with settings if wanted. Default: foresight.",
            autocompletion=complete_policies,
        ),
    ] = None,
    executors: Annotated[
        str | None, typer.Option(metavar="MIN..MAX", help="Bounds. Default: 1..10, on a cluster of its own fewer.")
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, metavar="NUMBER", help="Of an executor. Default: 1.")] = None,
    memory: Annotated[str | None, typer.Option(metavar="SIZE", help="Of an executor, such as 2g. Default: 1g.")] = None,
    slo: Annotated[
        str | None, typer.Option(metavar="DURATION", help="99 of 100 records are to be committed within this time.")
    ] = None,
    master: Annotated[
        str | None,
        typer.Option(
            metavar="URL|cluster|FOLDER",
            help="The cluster; `cluster` or a folder: that of `elastream cluster up`. Default: the script's or Spark's "
            "own, or a new one.",
        ),
    ] = None,
    properties: Annotated[
        Path | None,
        typer.Option("--properties-file", metavar="FILE", help="Spark's properties, a cluster's secret among them."),
    ] = None,
    guard: GuardTexts = None,
    config: ConfigFile = None,
    assignments: Assignments = None,
    conf: Conf = None,
    journal: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Record every tick there.")] = None,
    kafka: Annotated[bool, typer.Option("--kafka", help="Add the jars of Spark's Kafka connector.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Look and say what would be done; change nothing.")
    ] = False,
    page: Annotated[bool, typer.Option("--page", help="Serve a page that shows the run; its address is told.")] = False,
    page_token: PageToken = None,
    log: LogFormat = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Do not tell of every decision.")] = False,
) -> None:
    """Run somebody's PySpark Structured Streaming script, unchanged, with as many executors as its queries need.

    Output, arguments, signals and exit code are the script's; what we have to say goes to stderr, a line per decision.
    Settings that elastic executors need are added where nobody has set them; options given here win over the script.
    Where no master is named, a cluster is started on this machine for the run. The session's master must not be
    local[N], and dynamic allocation must be off.

    [bold]Examples[/bold]

    elastream run app.py

    elastream run --executors 2..16 --slo 30s --journal runs/app --master spark://host:7077 app.py --its-own options

    elastream run --master cluster --page app.py

    elastream run --page-token ~/.elastream-token app.py

    elastream run --dry-run --policy 'threshold(high=0.9)' --kafka app.py

    [bold]The same through spark-submit[/bold], with settings as properties:

    spark-submit --master URL --conf spark.elastream.executors.max=16 "$(elastream launcher)" app.py --its-own options
    """
    place = read_master(master) if master is not None else None
    settings = {
        **set_arguments(assignments or []),
        **read_flags(policy=policy, executors=executors, slo=slo, guards=guard),
        # The script may change its folder before the journal is begun.
        **({"journal.folder": journal.absolute()} if journal is not None else {}),
        **({"guards.pause.mode": "dry-run"} if dry_run else {}),
        **({"log.format": read_log_format(log)} if log is not None else {}),
        **({"page.serve": True} if page or page_token else {}),
        **({"page.token": page_token.absolute()} if page_token is not None else {}),
    }
    orders = LaunchOrders(
        script=checked_script(script),
        arguments=tuple(arguments or ()),
        settings=flatten(settings),
        # The script may change its folder before the file is read again.
        config=config.absolute() if config else None,
        conf=_conf(conf or [], place.url if place else None, cores, memory),
        cluster=place.cluster.path if place and place.cluster else None,
        properties=checked_properties(properties) if properties else None,
        kafka=kafka,
        quiet=quiet,
    )
    _check(orders)
    if not quiet:
        _tell_misplaced(context, script, arguments or ())
    sys.stdout.flush()
    sys.stderr.flush()
    # In the place of this process: signals, exit code and process id are then the script's without any forwarding.
    os.execv(sys.executable, [sys.executable, str(LAUNCHER), *orders.as_arguments()])


def _tell_misplaced(context: typer.Context, script: Path, arguments: Sequence[str]) -> None:
    """An option of ours behind the script is the script's; whoever wrote it there may have meant us."""
    ours = {name for parameter in context.command.params for name in parameter.opts if name.startswith("--")}
    before_dashes = takewhile(lambda word: word != "--", arguments)
    found = dict.fromkeys(name for word in before_dashes if (name := word.partition("=")[0]) in ours)
    if found:
        stand, go = ("stands", "goes") if len(found) == 1 else ("stand", "go")
        tell(
            f"elastream: {', '.join(found)} {stand} behind {script.name} and {go} to the script; "
            "what is meant for elastream stands before it"
        )


def _conf(pairs: list[str], master: str | None, cores: int | None, memory: str | None) -> dict[str, str]:
    conf = spark_arguments(pairs)
    if master is not None:
        conf["spark.master"] = master
    if cores is not None:
        conf["spark.executor.cores"] = str(cores)
    if memory is not None:
        if re.fullmatch(r"\d+[mg]b?", memory.strip().lower()) is None:
            raise BadInput(f"--memory: found {memory!r}; write it as 512m or 2g")
        conf["spark.executor.memory"] = memory.strip()
    return conf


def _check(orders: LaunchOrders) -> None:
    """What can be found wrong before anything is started."""
    found = settings_for(orders.settings, orders.conf, orders.config)
    policies.build(found.policy, found.policy_settings)
    for stream, path in found.probes.items():
        probes.use(stream, path)
    if MASTER in orders.conf and not is_off(orders.conf):
        try:
            require_elastic({"spark.decommission.enabled": "true", **orders.conf})
        except CannotRun as reason:
            raise BadInput(str(reason)) from None
