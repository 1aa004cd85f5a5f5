"""Writes generated events to a Kafka topic when they are due.

Event n goes to partition n modulo their number, as in the embedded source, and not where a hash of its key would put
it: so message m of partition p is event m * partitions + p, whoever wrote it and whenever, and a hot key is no hot
partition in the one laboratory and not in the other. The key stands in the message all the same.

Nothing is ever dropped. librdkafka sends in the background, in order and without doubles (idempotent); if it cannot,
its queue fills, writing waits, and the run falls behind its schedule and says so.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from elastream.core.errors import BadInput
from elastream.development.kafka.contact import Troubles
from elastream.development.kafka.producer_verdict import ProducerVerdict, Standing
from elastream.events.generators import ROWS_PER_ARROW_BATCH, batches
from elastream.events.options import SourceOptions
from elastream.events.wire import messages

# Between two looks at what is due: short beside any delay that is measured, long enough to cost nothing.
TICK_S = 0.025
# Later than this is behind, and half of it is caught up; a broker needs milliseconds.
BEHIND_S = 1.0
# Without an acknowledgement for so long while all connections are lost, the broker is gone, and not only slow ...
GONE_S = 0.5
# ... and for so long, even if no connection was reported as lost.
SILENT_S = 5.0
# At the end: a broker that is being restarted takes less.
PATIENCE_S = 60.0
# The same for somebody who pressed Ctrl-C.
HURRIED_S = 8.0

Delivered = Callable[[Any, Any], None]


class Client(Protocol):
    """What is needed of librdkafka's producer."""

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes | None,
        partition: int,
        callback: Delivered,
        on_delivery: None,
        timestamp: int,
        /,
    ) -> None:
        """Queue a message, or BufferError if the queue is full. The callback has two names, and so two places."""

    def poll(self, timeout: float, /) -> int:
        """Wait for something to happen, and call back."""


@dataclass(frozen=True, kw_only=True)
class Production:
    """What is to be written."""

    topic: str
    options: SourceOptions
    start_s: float
    """UTC epoch seconds of the workload's time zero."""
    first: int = 0
    paced: bool = True
    """False: as fast as possible, whatever the schedule says. Messages then have the time they were written at."""

    def __post_init__(self) -> None:
        end = self.options.total
        if end is None and not self.paced:
            raise BadInput("produce: as fast as possible needs an end; give --rows or --duration")
        if end is not None and self.first > end:
            raise BadInput(f"produce: --first: found {self.first}, but the events end at {end}")

    def due(self, now_s: float) -> int:
        """The offset after the last event that is due."""
        if not self.paced and self.options.total is not None:
            return self.options.total
        return max(self.options.newest(now_s - self.start_s), self.first)

    def due_s(self, offset: int) -> float:
        """When an event is due."""
        return self.start_s + self.options.series.when(min(offset + 1, self.options.rows_to_come or offset + 1))


def start_of(options: SourceOptions, first: int, now_s: float) -> float:
    """The workload's time zero: as it was given, or such that the first event to be written is the next to be due."""
    return now_s - options.series.when(first) if options.start_s is None else options.start_s


class ProducerRun:
    """One run, from its first event to the verdict."""

    def __init__(
        self,
        production: Production,
        client: Client,
        troubles: Troubles,
        *,
        tell: Callable[[str], None],
        show: Callable[[Standing], None] = lambda standing: None,
        stopping: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._production, self._options = production, production.options
        self._client, self._troubles = client, troubles
        self._tell, self._show, self._stopping, self._clock = tell, show, stopping, clock
        self._next = production.first
        self._acknowledged = [0] * production.options.partitions
        self._refused = ""
        self._worst_late_s, self._worst_behind = 0.0, 0
        self._behind_since_s: float | None = None
        self._gone_since_s: float | None = None
        self._began_s = self._moved_s = 0.0
        self._moved_to = 0

    def run(self) -> ProducerVerdict:
        """Write until the end, or until told to stop."""
        self._began_s = self._moved_s = self._clock()
        while not self._is_over():
            # Before writing, which may be fast enough to hide how late it was.
            self._look()
            due = self._production.due(self._clock())
            self._write(min(due, self._next + ROWS_PER_ARROW_BATCH))
            if self._next >= due and not self._is_over():
                self._wait()
        self._flush()
        self._look()
        return self._verdict()

    def _is_over(self) -> bool:
        return self._next == self._options.total or self._must_stop()

    def _must_stop(self) -> bool:
        return bool(self._refused or self._troubles.fatal) or self._stopping()

    def _write(self, end: int) -> None:
        first, options = self._next, self._options
        if first >= end:
            self._client.poll(0)
            return
        # As many as are one batch.
        (batch,) = batches(options.generator, options.times, options.part(first, end), range(first, end))
        keys, values = messages(batch, options.generator.key_column)
        offsets = np.arange(first, end)
        if self._production.paced:
            # Those that flush are due with the last one before them.
            places = np.minimum(offsets + 1.0, options.rows_to_come or np.inf)
            due_s = self._production.start_s + options.stretch.of(first, end).when(places)
            stamps_ms = np.rint(due_s * 1_000).astype(np.int64).tolist()
        else:
            stamps_ms = [round(self._clock() * 1_000)] * len(values)
        self._queue(values, keys, (offsets % options.partitions).tolist(), stamps_ms)

    def _queue(self, values: Any, keys: Any, partitions: list[int], stamps_ms: list[int]) -> None:
        # Names of the loop are local and arguments have no names, which would cost a fifth: this runs for every event.
        produce, topic, delivered = self._client.produce, self._production.topic, self._delivered
        for value, key, partition, stamp_ms in zip(values, keys, partitions, stamps_ms, strict=True):
            while True:
                try:
                    produce(topic, value, key, partition, delivered, None, stamp_ms)
                    break
                except BufferError:
                    self._client.poll(TICK_S)
                    self._look()
                    if self._must_stop():
                        return
                except Exception as refused:  # a class of librdkafka's package, which need not be there
                    self._refused = _said(refused)
                    return
            self._next += 1
        self._client.poll(0)

    def _delivered(self, error: Any, message: Any) -> None:
        """Called for every message, in the order of its partition."""
        if error is None:
            self._acknowledged[message.partition()] += 1
        elif not self._refused:
            self._refused = error.str()

    def _wait(self) -> None:
        """Until the next look; a call back ends a poll early."""
        until_s = self._clock() + TICK_S
        while (left_s := until_s - self._clock()) > 0:
            self._client.poll(left_s)

    def _flush(self) -> None:
        began_s = self._clock()
        while self._outstanding() and not self._refused and not self._troubles.fatal:
            # Patience begins anew with every acknowledgement, except for somebody who waits for the prompt.
            hurried = self._stopping()
            waited_s = self._clock() - (began_s if hurried else max(began_s, self._moved_s))
            if waited_s > (HURRIED_S if hurried else PATIENCE_S):
                return
            self._client.poll(TICK_S)
            self._look()

    def _outstanding(self) -> int:
        return self._next - self._production.first - sum(self._acknowledged)

    def _next_unacknowledged(self) -> int:
        first, count = self._production.first, self._options.partitions
        nexts = (first + (p - first) % count + done * count for p, done in enumerate(self._acknowledged))
        return min(self._next, *nexts)

    def _look(self) -> None:
        now_s = self._clock()
        standing = self._standing(now_s)
        self._worst_late_s = max(self._worst_late_s, standing.late_s)
        self._worst_behind = max(self._worst_behind, standing.behind)
        if standing.acknowledged > self._moved_to or not self._outstanding():
            self._moved_s, self._moved_to = now_s, standing.acknowledged
            self._troubles.all_down = False
        self._tell_if_gone(now_s)
        self._tell_if_behind(standing, now_s)
        self._show(standing)

    def _standing(self, now_s: float) -> Standing:
        due, oldest = max(self._production.due(now_s), self._next), self._next_unacknowledged()
        late = self._production.paced and oldest < due
        return Standing(
            at_s=now_s - self._began_s,
            due=due - self._production.first,
            written=self._next - self._production.first,
            acknowledged=sum(self._acknowledged),
            late_s=max(now_s - self._production.due_s(oldest), 0.0) if late else 0.0,
        )

    def _tell_if_gone(self, now_s: float) -> None:
        silent_s = now_s - self._moved_s
        if self._gone_since_s is None:
            if silent_s > (GONE_S if self._troubles.all_down else SILENT_S):
                self._gone_since_s = self._moved_s
                why = f" ({self._troubles.last})" if self._troubles.last else ""
                self._tell(f"the broker does not answer{why}; {self._outstanding():,} events wait, and it tries on")
        elif silent_s <= 0:
            self._tell(f"the broker answers again after {now_s - self._gone_since_s:.1f} s")
            self._gone_since_s = None

    def _tell_if_behind(self, standing: Standing, now_s: float) -> None:
        if self._behind_since_s is None:
            # A broker that is gone was told; who is behind because of it will be told when it is back.
            if standing.late_s > BEHIND_S and self._gone_since_s is None:
                self._behind_since_s = now_s
                self._tell(
                    f"behind by {standing.behind:,} events, {standing.late_s:.1f} s: {standing.acknowledged:,} of"
                    f" {standing.due:,} events that are due were achieved"
                )
        elif standing.late_s < BEHIND_S / 2:
            self._tell(f"caught up after {now_s - self._behind_since_s:.1f} s")
            self._behind_since_s = None

    def _verdict(self) -> ProducerVerdict:
        first = self._production.first
        return ProducerVerdict(
            wanted=self._next - first,
            acknowledged=sum(self._acknowledged),
            next_offset=self._next_unacknowledged(),
            took_s=(self._clock() if self._outstanding() else self._moved_s) - self._began_s,
            intended_rps=self._intended_rps(first, self._next) if self._production.paced else None,
            worst_late_s=self._worst_late_s,
            worst_behind=self._worst_behind,
            trouble=(self._refused or self._troubles.fatal) or None,
        )

    def _intended_rps(self, first: int, end: int) -> float | None:
        span_s = self._options.series.when(end) - self._options.series.when(first)
        return (end - first) / span_s if span_s > 0 else None


def _said(error: Exception) -> str:
    """What librdkafka says, without the frame that its package puts around it."""
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(error)
