"""`elastream produce`."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from elastream.cli.parsing.completion import complete_workloads
from elastream.cli.parsing.options import Bootstrap, Json
from elastream.cli.parsing.texts import read_pairs
from elastream.cli.terminal.output import console, print_json, print_line, tell
from elastream.cli.terminal.produce_view import ProduceView
from elastream.core.callform import is_class_path, parse_call
from elastream.core.errors import BadInput, ElastreamError, UnknownName
from elastream.development.kafka.contact import Troubles
from elastream.development.kafka.finder import read_bootstrap
from elastream.development.kafka.producer_client import Target, connect, read_client_file, topic_partitions
from elastream.development.kafka.topics import create_topic

if TYPE_CHECKING:
    from confluent_kafka import Producer

    from elastream.development.kafka.producer import Production
    from elastream.jobs.job import Job, Stream


PARTITIONS = 4
"""Of a topic that is created, as of the embedded source."""


def produce(
    source: Annotated[
        str,
        typer.Argument(metavar="SOURCE", help="What makes events: keyed, package.module:Class, JOB or JOB/STREAM."),
    ],
    workload: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="The rate over time; see elastream workloads.", autocompletion=complete_workloads
        ),
    ],
    bootstrap: Bootstrap = None,
    topic: Annotated[str, typer.Option(metavar="NAME", help="Where to write.")] = "events",
    seed: Annotated[int, typer.Option(min=0, metavar="NUMBER", help="Of the workload's noise and of the events.")] = 0,
    partitions: Annotated[
        int | None,
        typer.Option(min=1, metavar="NUMBER", help="Refuse a topic that has another number; for --create, 4."),
    ] = None,
    create: Annotated[bool, typer.Option("--create", help="Create the topic if there is none.")] = False,
    duration: Annotated[
        str | None, typer.Option(metavar="DURATION", help="End after so much of the workload's time.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(min=0, metavar="NUMBER", help="End before this event, those before --first counted.")
    ] = None,
    first: Annotated[
        int, typer.Option(min=0, metavar="NUMBER", help="Go on with this event, as if all before were there.")
    ] = 0,
    max_speed: Annotated[
        bool, typer.Option("--max", help="As fast as possible, whatever the workload says; needs an end.")
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="An option of the events: keys, hotShare, start ...; may be repeated."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="A setting of librdkafka; never shown; may be repeated."),
    ] = None,
    client_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings of librdkafka, one KEY=VALUE per line: for secrets.")
    ] = None,
    json: Json = False,
) -> None:
    """Write generated events to a Kafka topic, at the rate that a workload says.

    Event n is made from n alone and goes to partition n modulo their number: the same events as
    [bold]format("elastream")[/bold] makes inside of Spark. Nothing is dropped: what cannot be written in time is
    written late, and that is told. The exit code is 1 if an event was not acknowledged. Of a job with several streams,
    each is written by a producer of its own, at its share of the workload; give all the same --option start.

    [bold]Examples[/bold]

    elastream produce keyed --workload 'constant(5k)' --topic clicks --create

    elastream produce keyed --workload 'cosine(1k..9k, period=10m)' --option hotShare=20% --topic clicks

    elastream produce yahoo --workload 1k --rows 1000000 --max --topic ads --create

    elastream produce wordcount --workload 'constant(2k)' --bootstrap localhost:9092 --topic sentences --create

    elastream produce keyed --workload 'constant(5k)' --bootstrap kafka:9093 --client-config kafka.properties
    """
    from elastream.development.kafka.producer import Production, start_of
    from elastream.events.options import parse_options

    made, more = _source_options(source, workload, read_pairs(option or (), "--option"))
    given = _event_options({**made, "seed": seed, "partitions": partitions, "duration": duration, "rows": rows}, more)
    # Everything that can be wrong is told before anybody is asked.
    Production(topic=topic, options=parse_options(given), start_s=0.0, first=first, paced=not max_speed)
    settings = (read_client_file(client_config) if client_config else {}) | read_pairs(client or (), "--client")
    where = read_bootstrap(bootstrap)
    target, troubles = Target(bootstrap=where, topic=topic, settings=settings), Troubles()
    producer = connect(target, troubles)
    count = _partitions(producer, target, troubles, partitions, create=create)
    options = parse_options({**given, "partitions": str(count)})
    start_s = start_of(options, first, time.time())
    tell(f"writing to topic {topic!r} at {where}, {count} partitions, from event {first}")
    if not max_speed:
        tell(f"the workload's time zero is {start_s:.3f}; --option start={start_s:.3f} --first N keeps to its schedule")
    _run(
        producer,
        troubles,
        Production(topic=topic, options=options, start_s=start_s, first=first, paced=not max_speed),
        json=json,
    )


def _event_options(flags: Mapping[str, object], more: Mapping[str, str]) -> dict[str, str]:
    for name in more:
        if name.lower() in flags:
            where = "as SOURCE" if name.lower() == "generator" else f"as --{name.lower()}"
            raise BadInput(f"--option {name}: give it {where}")
        if name.lower() == "rowsperbatch":
            raise BadInput(f"--option {name}: it limits what a query reads, and nothing is read here")
    return {name: str(value) for name, value in flags.items() if value is not None} | dict(more)


def _of_job(source: str) -> tuple[Job, Stream] | None:
    """The stream of a job, if one is named: `wordcount`, or `q3/bids` of a job that has several.

    `package.module:Class` alone may be a generator of others, and is one unless it is a job.
    """
    from elastream.jobs.catalogue import jobs, require_class

    text, name = _split_stream(source)
    require_class(text)
    called = text.partition("(")[0].strip()
    if called not in jobs or (called == source and is_class_path(called) and not _is_job(called)):
        return None
    job = jobs.build_call(parse_call(text, what="job"))
    streams = {one.name: one for one in job.streams}
    if name and name not in streams:
        raise UnknownName(f"job {text} has no stream", name, streams)
    if not name and len(streams) > 1:
        spelt = ", ".join(f"{text}/{stream}" for stream in streams)
        raise BadInput(f"job {text} has several streams; write each to a topic of its own: {spelt}")
    return job, streams[name] if name else next(iter(streams.values()))


def _split_stream(source: str) -> tuple[str, str]:
    """A job and its stream; a slash may also stand in the path of the job's file."""
    text, _, name = source.rpartition("/")
    return (text, name) if text and re.fullmatch(r"[\w-]+", name) else (source, "")


def _is_job(path: str) -> bool:
    from elastream.jobs.catalogue import jobs

    try:
        jobs.get(path)
    except BadInput:
        return False
    return True


def _source_options(source: str, workload: str, more: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What the source itself says, and what is left of the options behind it."""
    from elastream.events.generators import GENERATORS
    from elastream.jobs.inputs import shares

    found = None if source in GENERATORS else _of_job(source)
    if found is None:
        return {"generator": source, "workload": workload}, dict(more)
    job, stream = found
    fixed = {name.lower() for name in stream.options}
    for name in more:
        if name.lower() in fixed:
            raise BadInput(f"--option {name}: the job's stream {stream.name!r} decides that")
    share = shares(job, more)[stream.name]
    load = workload if share == 1.0 else f"({workload}) * {share!r}"
    return {"generator": stream.generator, "workload": load}, {**more, **stream.options}


def _partitions(producer: Producer, target: Target, troubles: Troubles, wanted: int | None, *, create: bool) -> int:
    found = topic_partitions(producer, target, troubles)
    if found is None and not create:
        raise ElastreamError(f"{target.bootstrap}: there is no topic {target.topic!r}; --create makes it")
    if found is None:
        found = wanted or PARTITIONS
        create_topic(target.bootstrap, target.topic, found, client=target.settings)
    if wanted is not None and found != wanted:
        raise ElastreamError(
            f"topic {target.topic!r} has {found} partitions, and --partitions says {wanted}; leave it out, or take"
            " another topic"
        )
    return found


def _run(producer: Producer, troubles: Troubles, production: Production, *, json: bool) -> None:
    from elastream.development.kafka.producer import ProducerRun

    with _signals() as caught, ProduceView(paced=production.paced) as view:
        run = ProducerRun(
            production, producer, troubles, tell=view.tell, show=view.show, stopping=lambda: bool(caught)
        )  # fmt: skip
        verdict = run.run()
    if json:
        print_json({**asdict(verdict), "right": verdict.right, "sentence": verdict.sentence})
    else:
        print_line(console(), verdict.sentence)
    if not verdict.right:
        # What is still queued is given up, or ending the process would wait for it.
        producer.purge()
        if not caught:
            raise ElastreamError(verdict.failure)
        tell(verdict.failure)
    if caught:
        raise typer.Exit(128 + caught[0])


@contextmanager
def _signals() -> Iterator[list[int]]:
    """The first Ctrl-C asks for an orderly end, and so does a polite kill; a second one does not wait."""
    caught: list[int] = []

    def note(number: int, frame: object) -> None:
        caught.append(number)
        signal.signal(signal.SIGINT, signal.default_int_handler)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
