"""Topics that a job reads and writes, as its user names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from elastream.core.errors import BadInput, UnknownName
from elastream.development.kafka.finder import read_bootstrap
from elastream.jobs.event_times import AHEAD_S
from elastream.jobs.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """What a job reads and writes in Kafka, as plain values."""

    bootstrap: str
    read: tuple[tuple[str, str], ...] = ()
    """The streams of the job, each with its topic; none: events are generated."""
    to: str | None = None
    """For its results; None: they go elsewhere."""
    rejected: str | None = None
    """For messages that are no events of the job; None: they are only counted."""
    ahead_s: float = AHEAD_S
    """So far an event's time may be ahead of its message's timestamp."""

    @property
    def written(self) -> list[tuple[str, str]]:
        """Those that are written, each with the option that names it."""
        options = (("--to", self.to), ("--rejected", self.rejected))
        return [(flag, topic) for flag, topic in options if topic is not None]

    @property
    def sink_options(self) -> dict[str, str]:
        """Of Spark's Kafka sink, if that is where results go."""
        return {} if self.to is None else {"kafka.bootstrap.servers": self.bootstrap, "topic": self.to}


def parse_topics(
    job: Job,
    *,
    read: Sequence[str],
    to: str | None,
    rejected: str | None,
    bootstrap: str | None,
    ahead_s: float | None = None,
) -> Topics | None:
    """What the options `--from`, `--to`, `--rejected`, `--ahead` and `--bootstrap` say; None: no topic is named."""
    if ahead_s is not None and not read:
        raise BadInput("--ahead: generated events come when they should; name a topic with --from")
    if not read and to is None:
        for flag, given in (("--rejected", rejected), ("--bootstrap", bootstrap)):
            if given is not None:
                raise BadInput(f"{flag} {given}: no topic is read or written; name one with --from or --to")
        return None
    if rejected is not None and not read:
        raise BadInput(f"--rejected {rejected}: generated events are never rejected; name a topic with --from")
    found = _streams(job, read)
    ahead = AHEAD_S if ahead_s is None else ahead_s
    topics = Topics(bootstrap="", read=tuple(found.items()), to=to, rejected=rejected, ahead_s=ahead)
    named = [*(("--from", topic) for topic in found.values()), *topics.written]
    for number, (flag, topic) in enumerate(named):
        _check_name(flag, topic, named[:number])
    return replace(topics, bootstrap=read_bootstrap(bootstrap))


def _check_name(flag: str, topic: str, before: Sequence[tuple[str, str]]) -> None:
    if re.fullmatch(r"[\w.-]{1,249}", topic, re.ASCII) is None or topic in (".", ".."):
        raise BadInput(f"{flag}: {topic!r} is no name of a topic: letters, digits, '.', '_' and '-'")
    for another, name in before:
        if name == topic:
            raise BadInput(f"{flag} {topic}: {another} names that topic too; take another one")


def _streams(job: Job, texts: Sequence[str]) -> dict[str, str]:
    """A topic for every stream: in their order, or each as STREAM=TOPIC."""
    names, given = [stream.name for stream in job.streams], [text.rpartition("=") for text in texts]
    if not texts:
        return {}
    if all(not equals for _, equals, _ in given) and len(texts) == len(names):
        return dict(zip(names, texts, strict=True))
    found: dict[str, str] = {}
    for (stream, equals, topic), text in zip(given, texts, strict=True):
        if equals and stream not in names:
            raise UnknownName(f"--from {text}: the job has no stream", stream, names)
        if equals and stream in found:
            raise BadInput(f"--from {text}: stream {stream} has topic {found[stream]!r} already")
        if equals:
            found[stream] = topic
    if len(found) < len(names) or len(texts) != len(names):
        line = " ".join(f"--from {name}=TOPIC" for name in names) if len(names) > 1 else "--from TOPIC"
        streams = f"{len(names)} stream{'s' * (len(names) > 1)}"
        raise BadInput(f"--from: the job reads {streams}, and {len(texts)} topics are named so; write {line}")
    return {name: found[name] for name in names}
