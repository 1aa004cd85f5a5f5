"""What topics hold, read without Spark: where their partitions begin and end, and every message between."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from elastream.core.errors import ElastreamError
from elastream.core.extras import MissingExtra
from elastream.development.kafka.contact import Troubles, list_topics
from elastream.development.kafka.topics import quiet

if TYPE_CHECKING:
    from confluent_kafka import Consumer

Places: TypeAlias = Mapping[int, tuple[int, int]]
"""Of each partition of a topic: the first offset, and the one behind the last."""

# A broker that is being restarted takes less.
PATIENCE_S = 60.0
_AT_ONCE = 10_000
_POLL_S = 1.0


class Message(NamedTuple):
    """One message, as it is in the topic."""

    partition: int
    offset: int
    stamp_ms: int
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


class TopicReader:
    """Reads without a group: nobody else is disturbed, and nothing is remembered."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._troubles = Troubles()
        self._client: Consumer | None = None

    def __enter__(self) -> Self:
        try:
            from confluent_kafka import Consumer
        except ModuleNotFoundError:
            raise MissingExtra("reading topics", "confluent_kafka") from None
        settings = {
            "bootstrap.servers": self._bootstrap,
            # It must have one, and never joins it.
            "group.id": "elastream-reading",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            # What Spark reads.
            "isolation.level": "read_uncommitted",
            "allow.auto.create.topics": False,
            "error_cb": self._troubles.note,
        }
        self._client = Consumer(settings, logger=quiet)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.close()

    @property
    def _entered(self) -> Consumer:
        assert self._client is not None, "enter it first"
        return self._client

    def topics(self) -> dict[str, list[int]]:
        """All topics of others, with the numbers of their partitions."""
        found = list_topics(self._entered, self._bootstrap, self._troubles)
        return {
            name: sorted(topic.partitions)
            for name, topic in found.items()
            if topic.error is None and not name.startswith("__")
        }

    def places(self, topic: str, partitions: Collection[int]) -> dict[int, tuple[int, int]]:
        """Where the partitions of a topic begin and end now."""
        from confluent_kafka import KafkaException, TopicPartition

        found = {}
        for number in partitions:
            try:
                ends = self._entered.get_watermark_offsets(TopicPartition(topic, number), timeout=PATIENCE_S)
            except KafkaException as failed:
                raise ElastreamError(f"topic {topic!r} at {self._bootstrap}: {failed.args[0].str()}") from None
            if ends is None:
                raise ElastreamError(f"topic {topic!r} at {self._bootstrap}: no answer within {PATIENCE_S:.0f} s")
            found[number] = (int(ends[0]), int(ends[1]))
        return found

    def read(self, topic: str, places: Places) -> Iterator[list[Message]]:
        """All messages between these places, some thousands at a time, each partition in its order."""
        from confluent_kafka import TopicPartition

        ends = {number: end for number, (first, end) in places.items() if end > first}
        self._entered.assign([TopicPartition(topic, number, places[number][0]) for number in ends])
        moved_s = time.monotonic()
        while ends:
            found = self._entered.consume(_AT_ONCE, timeout=_POLL_S)
            if found:
                moved_s = time.monotonic()
            elif time.monotonic() - moved_s > PATIENCE_S:
                why = f" ({self._troubles.last})" if self._troubles.last else ""
                raise ElastreamError(f"topic {topic!r} at {self._bootstrap}: nothing came for {PATIENCE_S:.0f} s{why}")
            if messages := list(_taken(topic, found, ends)):
                yield messages
        self._entered.unassign()


def _taken(topic: str, found: list[Any], ends: dict[int, int]) -> Iterator[Message]:
    """Those before the ends; a partition that has come to its own leaves `ends`."""
    from confluent_kafka import KafkaError

    for message in found:
        number, offset, error = message.partition(), message.offset(), message.error()
        if error is not None and error.code() != KafkaError._PARTITION_EOF:
            raise ElastreamError(f"topic {topic!r}: {error.str()}")
        if error is None and number in ends and offset < ends[number]:
            yield Message(number, offset, message.timestamp()[1], message.value(), message.headers() or ())
        # Offsets may have gaps, and the last one before the end may be no message at all.
        if number in ends and offset + (error is None) >= ends[number]:
            del ends[number]
