"""`elastream replay`."""

from pathlib import Path
from typing import Annotated

import typer

from elastream.cli.parsing.completion import complete_policies
from elastream.cli.parsing.options import GuardTexts, Json, Redaction
from elastream.cli.parsing.setting_sources import hide_by
from elastream.cli.parsing.texts import read_guards, require_one
from elastream.cli.terminal.output import console, print_json, tell
from elastream.core.decision import Decision
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.run_folder import find_journal
from elastream.journal.reader import read
from elastream.journal.replay import Difference, Replayed
from elastream.journal.replay import replay as planned_again
from elastream.policies import policies

DIFFERENT = 1


def replay(
    path: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of a recorded run, or one file of its journal.")],
    policy: Annotated[
        str | None,
        typer.Option(
            metavar="NAME(KEY=VALUE)",
            help="Decide with this policy, not the recorded one.",
            autocompletion=complete_policies,
        ),
    ] = None,
    guard: GuardTexts = None,
    trust: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="A class named in the journal that may be imported; may be repeated.",
        ),
    ] = None,
    most: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Print at most so many differences.")] = 20,
    conf: Redaction = None,
    json: Json = False,
) -> None:
    """Plan a recorded run again, and list where decisions differ.

    With the recorded policy it shows whether today's code still decides the same. With another policy or other guards
    the comparison is meaningful up to the first difference: from there on the recorded application followed other
    decisions.

    Exits with 0 if every decision is the same, and with 1 if some differ or the journal cannot be read.

    [bold]Examples[/bold]

    elastream replay runs/threshold

    elastream replay runs/threshold --policy 'threshold(high=0.9)'

    elastream replay runs/threshold --guard 'cool-down(after=120s)'

    elastream replay runs/mine --trust my_policy:Mine
    """
    hide_by(conf)
    if policy is not None:
        require_one(policy)
    choice = parse_policy(policy) if policy is not None else None
    chosen = policies.build(choice.name, choice.settings) if choice is not None else None
    guards = read_guards(guard) if guard else None
    recording = read(find_journal(path))
    for warning in recording.warnings:
        tell(warning)
    found = planned_again(recording, policy=chosen, guards=guards, trusted=trust or ())
    if json:
        print_json(_as_json(found))
    else:
        _print(found, most)
    if found.differences:
        raise typer.Exit(DIFFERENT)


def _print(found: Replayed, most: int) -> None:
    screen = console()
    for difference in found.differences[:most]:
        screen.print(difference.sentence(), soft_wrap=True)
    left = len(found.differences) - most
    if left > 0:
        screen.print(f"... and {left} more; --most {len(found.differences)} prints them all")
    screen.print(found.sentence(), soft_wrap=True)
    if found.changed and not found.differences:
        screen.print("Another policy or other guards were asked, and decided the same throughout.")


def _as_json(found: Replayed) -> dict[str, object]:
    return {
        "ticks": found.ticks,
        "missing": found.missing,
        "changed": found.changed,
        "meaningful_until": found.meaningful_until,
        "sentence": found.sentence(),
        "differences": [_difference(one) for one in found.differences],
    }


def _difference(one: Difference) -> dict[str, object]:
    return {
        "number": one.number,
        "at_s": one.at_s,
        "recorded": _decision(one.recorded),
        "planned": _decision(one.planned),
    }


def _decision(decision: Decision) -> dict[str, object]:
    return {"kind": decision.kind, "allocation": dict(decision.allocation), "reason": decision.sentence()}
