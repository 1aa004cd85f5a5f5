"""Options of commands that read and write topics: what goes with them, and what does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from elastream.cli.parsing.texts import read_seconds
from elastream.core.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from elastream.jobs.topic_names import Topics


def refuse_beside_topics(context: typer.Context, topics: Topics | None, names: Sequence[str]) -> None:
    """Options of generated events have no meaning where events are read."""
    if topics is None or not topics.read:
        return
    for name in names:
        if _is_given(context, name):
            flag = f"--{name.replace('_', '-')}"
            raise BadInput(f"{flag}: it is about generated events, and --from reads those of a topic; leave it out")


def choose_sink(context: typer.Context, sink: str, topics: Topics | None) -> str:
    """Where results go: a topic is Kafka's sink."""
    from elastream.jobs.output import SINKS

    if topics is not None and topics.to is not None:
        if _is_given(context, "sink"):
            raise BadInput(f"--sink {sink}: results go to the topic that --to names; leave it out")
        return "kafka"
    if sink == "kafka":
        raise BadInput("--sink kafka: name a topic: --to TOPIC")
    if sink not in SINKS:
        raise UnknownName("unknown sink", sink, [name for name in SINKS if name != "kafka"])
    return sink


def read_ahead(text: str | None) -> float | None:
    """How far event times may be ahead, if somebody says so."""
    return None if text is None else read_seconds(text, "--ahead")


def check_create(topics: Topics | None, *, create: bool) -> None:
    """What is read must be there already."""
    if create and (topics is None or not topics.written):
        raise BadInput("--create: no topic is written; name one with --to")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
