"""librdkafka's producer: its settings, and the first contact with the broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.core.errors import BadInput
from elastream.core.extras import MissingExtra
from elastream.development.kafka.contact import Troubles, list_topics
from elastream.development.kafka.topics import quiet

if TYPE_CHECKING:
    from confluent_kafka import Producer

GUARANTEES: dict[str, Any] = {
    # In order and without doubles in every partition, however often a message must be sent.
    "enable.idempotence": True,
    "acks": "all",
    # A message that cannot be sent waits; it is never given up.
    "message.timeout.ms": 0,
    "enable.gapless.guarantee": True,
}
"""What the promise to lose and double nothing rests on; not to be changed."""

PACE: dict[str, Any] = {
    "compression.type": "lz4",
    # Events are due in bursts, one per look; a burst is then one batch per partition.
    "linger.ms": 10,
    # Some seconds at full speed, and about 100 MB: a broker that restarts is not noticed by the schedule.
    "queue.buffering.max.messages": 500_000,
    "queue.buffering.max.kbytes": 131_072,
    # Reconnecting soon is what a restart in mid-run needs.
    "reconnect.backoff.max.ms": 1_000,
    "client.id": "elastream-produce",
}
"""Chosen for speed; a user may have reasons for others."""

_OTHER_NAMES = {"bootstrap.servers", "metadata.broker.list", "request.required.acks", "delivery.timeout.ms"}
_CONTRARY = {"transactional.id", "delivery.report.only.error"}


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where events are to go."""

    bootstrap: str
    topic: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The user's own for librdkafka; they may be secret, so nothing repeats their values."""


def connect(target: Target, troubles: Troubles) -> Producer:
    """A producer that has not yet tried to reach anybody."""
    try:
        from confluent_kafka import KafkaException, Producer
    except ModuleNotFoundError:
        raise MissingExtra("produce", "confluent_kafka") from None

    given = target.settings
    for name in sorted((GUARANTEES.keys() | _OTHER_NAMES | _CONTRARY) & given.keys()):
        raise BadInput(f"client setting {name}: the producer sets it itself; leave it out")
    settings = {**PACE, **given, **GUARANTEES, "bootstrap.servers": target.bootstrap, "error_cb": troubles.note}
    try:
        return Producer(settings, logger=quiet)
    except KafkaException as refused:
        raise BadInput(_refusal(str(refused), given)) from None


def read_client_file(path: Path) -> dict[str, str]:
    """Lines of `name=value`, as librdkafka's own tools read them; what begins with # is a comment."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as wrong:
        raise BadInput(f"{path}: cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals or not name.strip():
            raise BadInput(f"{path}: line {number}: write name=value")
        found[name.strip()] = value.strip()
    return found


def topic_partitions(client: Producer, target: Target, troubles: Troubles) -> int | None:
    """How many partitions a topic has; None if there is no such topic."""
    found = list_topics(client, target.bootstrap, troubles).get(target.topic)
    return len(found.partitions) if found is not None and found.error is None else None


def _refusal(said: str, given: Mapping[str, str]) -> str:
    named = next((name for name in given if f'"{name}"' in said), None)
    if named is None:
        return "client settings: librdkafka does not accept them; their values are not shown"
    unknown = "No such configuration property" in said
    what = "there is no such setting of librdkafka" if unknown else "librdkafka does not accept its value (not shown)"
    return f"client setting {named}: {what}"
