"""Records written to a topic and read back, each with the patience of a loaded machine."""

import time
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

PATIENCE_S = 60.0
PASSWORD = "correct0horse0battery"
"""Of the broker's second door."""
SHORT_LIVED = ("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1")
"""Read by Java itself: a broker that lives for minutes compiles nothing for a long run."""


def write(bootstrap: str, topic: str, values: Iterable[bytes], partition: int = 0) -> None:
    """Return when the broker has them all."""
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
    for value in values:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(PATIENCE_S) == 0, "records that the broker has not taken"


def read(bootstrap: str, topic: str, count: int, partition: int = 0) -> list[bytes]:
    """The first records of a partition, from the beginning."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "log_level": 0})
    consumer.assign([TopicPartition(topic, partition, 0)])
    values: list[bytes] = []
    deadline = time.monotonic() + PATIENCE_S
    try:
        while len(values) < count and time.monotonic() < deadline:
            message = consumer.poll(1.0)
            if message is not None and message.error() is None:
                value = message.value()
                assert isinstance(value, bytes)
                values.append(value)
    finally:
        consumer.close()
    return values


def read_all(bootstrap: str, topic: str) -> list[bytes]:
    """Every record that a topic holds now."""
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "test", "log_level": 0, "enable.partition.eof": True}
    )
    try:
        partitions = consumer.list_topics(topic, PATIENCE_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
        values: list[bytes] = []
        at_end: set[int | None] = set()
        while len(at_end) < len(partitions):
            message = consumer.poll(PATIENCE_S)
            assert message is not None, f"{topic}: no answer"
            if (error := message.error()) is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error
                at_end.add(message.partition())
            else:
                value = message.value()
                assert isinstance(value, bytes)
                values.append(value)
        return values
    finally:
        consumer.close()
