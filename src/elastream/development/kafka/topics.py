"""Topics of a broker; one is made when clients see it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from elastream.core.errors import BadInput, ElastreamError
from elastream.core.extras import MissingExtra

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.admin._metadata import TopicMetadata

PATIENCE_S = 30.0
LOOK_EVERY_S = 0.05

# What it has to say comes as errors; its log would be lines on standard error about every attempt to connect.
quiet = logging.getLogger("elastream.kafka.client")
quiet.addHandler(logging.NullHandler())
quiet.propagate = False


class TopicError(ElastreamError):
    """A topic that could not be made, changed or removed."""


def create_topic(
    bootstrap: str,
    name: str,
    partitions: int = 1,
    config: Mapping[str, str] | None = None,
    *,
    client: Mapping[str, str] | None = None,
) -> None:
    """Make a topic with as many copies as the broker makes by default.

    `config` is the topic's, as Kafka spells it, such as `retention.ms`; `client` are librdkafka's settings, for a
    broker that asks who one is. They may be secret, and nothing repeats them.
    """
    if partitions < 1:
        raise BadInput(f"topic {name}: {partitions} is not a number of partitions from 1")
    admin = admin_of(bootstrap, client)
    from confluent_kafka.cimpl import NewTopic

    wanted = NewTopic(name, num_partitions=partitions, config=dict(config or {}))
    finish(admin.create_topics([wanted], request_timeout=PATIENCE_S)[name], f"{name}: cannot be made", bootstrap)
    wait_until(admin, bootstrap, name, lambda topic: topic is not None and count_led(topic) >= partitions)


def admin_of(bootstrap: str, client: Mapping[str, str] | None = None) -> AdminClient:
    """Who manages the topics of a broker."""
    try:
        from confluent_kafka.admin import AdminClient
    except ModuleNotFoundError:
        raise MissingExtra("creating topics", "confluent_kafka") from None
    return AdminClient({**(client or {}), "bootstrap.servers": bootstrap}, logger=quiet)


def finish(done: Future[None], problem: str, bootstrap: str) -> None:
    """Wait for the broker's answer."""
    from confluent_kafka import KafkaException

    try:
        done.result(PATIENCE_S)
    except KafkaException as failed:
        raise TopicError(f"topic {problem}: {failed.args[0].str()} (broker {bootstrap})") from failed
    except TimeoutError as late:
        raise TopicError(f"topic {problem}: no answer within {PATIENCE_S:.0f} s (broker {bootstrap})") from late


def wait_until(admin: AdminClient, bootstrap: str, name: str, holds: Callable[[TopicMetadata | None], bool]) -> None:
    """A broker answers when its controller has decided, a moment before clients are told."""
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            # Of all topics: asking for one by name may make it.
            found = admin.list_topics(timeout=PATIENCE_S).topics.get(name)
        except KafkaException as failed:
            raise TopicError(f"topic {name}: {failed.args[0].str()} (broker {bootstrap})") from failed
        if holds(found):
            return
        if time.monotonic() > deadline:
            raise TopicError(f"topic {name}: not as wanted after {PATIENCE_S:.0f} s (broker {bootstrap})")
        time.sleep(LOOK_EVERY_S)


def count_led(topic: TopicMetadata) -> int:
    """Partitions that can be written: those with a leader."""
    return sum(partition.leader >= 0 for partition in topic.partitions.values())
