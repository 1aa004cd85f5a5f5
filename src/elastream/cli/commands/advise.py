"""`elastream advise`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from elastream.advice.advice import AdviceOption, Adviser, parse_option
from elastream.advice.document import describe_advice
from elastream.advice.recorded_run import RecordedRun, take_last
from elastream.advice.sentences import tell_advice, tell_error, tell_run
from elastream.cli.parsing.completion import complete_policies
from elastream.cli.parsing.options import Json, Redaction
from elastream.cli.parsing.setting_sources import hide_by
from elastream.cli.parsing.texts import read_seconds
from elastream.cli.terminal.advice_table import print_advice
from elastream.cli.terminal.output import console, print_json, print_line, tell
from elastream.cli.terminal.progress import Progress
from elastream.core.bounds import parse_bounds
from elastream.core.errors import BadInput
from elastream.core.log import log
from elastream.core.slo import Slo
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import read
from elastream.spark.event_log.looks import read_event_log

USUAL = ("foresight", "lag-proportional", "spark-dra")
"""What is compared where nothing was named, beside a fixed size."""


def advise(
    journal: Annotated[
        Path, typer.Argument(metavar="RUN", help="A recorded run or its journal, or an event log of Spark.")
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="What might have decided; may be repeated. Default: several, and the largest size that there was.",
            autocompletion=complete_policies,
        ),
    ] = None,
    executors: Annotated[
        str | None, typer.Option(metavar="MIN..MAX", help="Other bounds. Default: the recorded ones.")
    ] = None,
    slo: Annotated[
        str | None,
        typer.Option(metavar="DURATION", help="Another bound for 99 of 100 records. Default: the recorded one."),
    ] = None,
    recent: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Only so much of its end. Default: the whole newest run.")
    ] = None,
    price: Annotated[
        float | None, typer.Option(min=0.0, metavar="NUMBER", help="Of an executor for an hour, in any currency.")
    ] = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:CLASS", help="A class named in the journal that may be imported; may be repeated."
        ),
    ] = None,
    conf: Redaction = None,
    json: Json = False,
) -> None:
    """Tell what another policy, other bounds or another SLO would have cost and kept, in the time of a recorded run.

    A model is fitted to the recording, and each policy runs on it under the load that was recorded. The recorded policy
    runs on it as well: how far that is from what really happened is the error, and every number has an interval by it.

    [bold]Examples[/bold]

    elastream advise runs/app

    elastream advise runs/app --policy foresight --policy 'fixed(workers=8)' --price 0.12

    elastream advise runs/app --executors 2..24 --slo 20s --recent 6h

    elastream advise runs/app --json

    [bold]Of an application that Elastream did not watch[/bold]

    An event log of Spark (`spark.eventLog.enabled`; a file, or the folder of a rolled one) tells batches, tasks and
    executors. It tells no lag and no SLO, and what that means for the answer stands below it.

    elastream advise /logs/eventlog_v2_app-20260301-0001 --slo 30s --executors 1..16
    """
    hide_by(conf)
    bounds = parse_bounds(executors, "--executors") if executors is not None else None
    promise = Slo(delay_s=read_seconds(slo, "--slo")) if slo is not None else None
    chosen = [parse_option(text) for text in policy or ()]
    if len({one.label for one in chosen}) < len(chosen):
        raise BadInput("--policy: one is given twice")
    last_s = read_seconds(recent, "--recent") if recent is not None else None
    with Progress(1, 1.0, quiet=json) as progress:
        progress.begin("reading")
        run = _read(journal, last_s)
        progress.begin("calibrating")
        progress.at(0.0)
        adviser = Adviser(run, trusted=trust or (), promise=promise)
        options = _with(chosen or _find_usual(adviser, changed=bool(bounds or promise)), bounds, promise)
        log.disabled = True
        try:
            advice = adviser.advise(options, lambda label, done: _show(progress, label, done))
        finally:
            log.disabled = False
    if json:
        print_json(describe_advice(advice, price))
        return
    screen = console()
    print_line(screen, f"{run.where}: {tell_run(advice)}")
    screen.print()
    print_advice(screen, advice, price)
    screen.print()
    for line in (*tell_advice(advice), tell_error(advice), *advice.notes):
        print_line(screen, line)


def _read(path: Path, last_s: float | None) -> RecordedRun:
    logged = read_event_log(path)
    if logged is not None:
        return take_last(logged.recording, str(path), last_s, unknown=logged.unknown)
    recording = read(find_journal(path))
    for warning in recording.warnings:
        tell(warning)
    return take_last(recording, str(path), last_s)


def _find_usual(adviser: Adviser, *, changed: bool) -> list[AdviceOption]:
    """Several policies, and the largest size that there was, for good. The recorded one too where that is news."""
    recorded = adviser.find_recorded()
    usual = [parse_option(name) for name in USUAL]
    most = max(now.pools[0].ready for now in adviser.run.looks)
    fixed = parse_option(f"fixed(workers={max(most, 1)})")
    others = [one for one in (*usual, fixed) if one.policy != recorded.policy]
    return [recorded, *others] if changed else others


def _with(options: Sequence[AdviceOption], bounds: tuple[int, int] | None, slo: Slo | None) -> list[AdviceOption]:
    return [AdviceOption(label=one.label, policy=one.policy, bounds=bounds, slo=slo) for one in options]


def _show(progress: Progress, label: str, done: float) -> None:
    progress.begin(f"simulating {label}")
    progress.at(done)
