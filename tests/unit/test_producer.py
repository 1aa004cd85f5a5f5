"""The producer's own logic, with a fake of librdkafka: no Kafka, no waiting."""

import json
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.development.kafka.contact import Troubles
from elastream.development.kafka.producer import ProducerRun, Production, start_of
from elastream.development.kafka.producer_verdict import ProducerVerdict, Standing
from elastream.events.options import events, parse_options
from elastream.events.wire import messages

START_S = 1_000_000.0


class Said:
    """An error of librdkafka, or the message that a delivery tells of."""

    def __init__(self, name: str = "", *, fatal: bool = False, partition: int = 0) -> None:
        self._name, self._fatal, self._partition = name, fatal, partition

    def name(self) -> str:
        return self._name

    def str(self) -> str:
        return self._name

    def fatal(self) -> bool:
        return self._fatal

    def partition(self) -> int:
        return self._partition


class FakeClient:
    """A queue that a broker empties whenever it is polled; time passes only there."""

    def __init__(self, *, room: int = 100_000, per_poll: int = 100_000) -> None:
        self.now_s = START_S
        self.queue: deque[tuple[int, Callable[[Any, Any], None]]] = deque()
        self.sent: list[tuple[str, bytes, bytes | None, int, int]] = []
        self.sent_at: list[float] = []
        self.room, self.per_poll = room, per_poll
        self.is_up: Callable[[], bool] = lambda: True
        self.refuses = False

    def produce(
        self, topic: str, value: bytes, key: bytes | None, partition: int, callback: Any, also: None, stamp_ms: int, /
    ) -> None:
        if len(self.queue) >= self.room:
            raise BufferError
        self.queue.append((partition, callback))
        self.sent.append((topic, value, key, partition, stamp_ms))
        self.sent_at.append(self.now_s)

    def poll(self, timeout: float, /) -> int:
        self.now_s += timeout
        for _ in range(min(self.per_poll, len(self.queue)) if self.is_up() else 0):
            partition, callback = self.queue.popleft()
            callback(Said("refused") if self.refuses else None, Said(partition=partition))
        return 0


class Harness:
    """One run with everything it told and showed."""

    def __init__(self, client: FakeClient | None = None, **options: object) -> None:
        self.client = client or FakeClient()
        self.troubles = Troubles()
        self.options = parse_options(
            {"workload": "constant(1k)", **{key: str(value) for key, value in options.items()}}
        )
        self.told: list[str] = []
        self.seen: list[Standing] = []
        self.stop_when: Callable[[], bool] = lambda: False

    def run(self, *, first: int = 0, start_s: float = START_S, paced: bool = True) -> ProducerVerdict:
        run = ProducerRun(
            Production(topic="t", options=self.options, start_s=start_s, first=first, paced=paced),
            self.client,
            self.troubles,
            tell=self.told.append,
            show=self.seen.append,
            stopping=lambda: self.stop_when(),
            clock=lambda: self.client.now_s,
        )
        return run.run()


def test_every_event_is_written_once_to_the_partition_of_its_offset_with_the_bytes_of_the_generator() -> None:
    harness = Harness(partitions=3, rows=5_000)
    verdict = harness.run()
    (batch,) = events({"workload": "constant(1k)", "partitions": "3"}, 0, 5_000).combine_chunks().to_batches()
    keys, values = messages(batch, "key")
    sent = harness.client.sent
    assert [(value, key) for _, value, key, _, _ in sent] == list(zip(values, keys, strict=True))
    assert [partition for _, _, _, partition, _ in sent] == [n % 3 for n in range(5_000)]
    assert (verdict.wanted, verdict.acknowledged, verdict.next_offset, verdict.right) == (5_000, 5_000, 5_000, True)


def test_no_event_is_written_before_it_is_due_or_much_later_and_the_message_says_when_it_was_due() -> None:
    harness = Harness(workload="step(100..2k, at=2s)", duration="4s")
    verdict = harness.run()
    due_s = [START_S + harness.options.series.when(n + 1) for n in range(len(harness.client.sent))]
    assert len(due_s) == harness.options.total
    late_s = [at - due for at, due in zip(harness.client.sent_at, due_s, strict=True)]
    assert min(late_s) >= -1e-6
    assert max(late_s) <= 0.026
    assert [stamp for *_, stamp in harness.client.sent] == [round(due * 1_000) for due in due_s]
    assert verdict.worst_late_s < 0.06
    assert verdict.intended_rps == pytest.approx(1_050, rel=0.01)
    assert verdict.achieved_rps == pytest.approx(1_050, rel=0.02)
    assert harness.told == []


def test_a_run_that_goes_on_writes_what_comes_after_and_keeps_its_schedule() -> None:
    harness = Harness(rows=3_000)
    start_s = start_of(harness.options, 1_001, START_S)
    verdict = harness.run(first=1_001, start_s=start_s)
    assert [json.loads(value)["offset"] for _, value, *_ in harness.client.sent] == list(range(1_001, 3_000))
    assert (verdict.acknowledged, verdict.next_offset) == (1_999, 3_000)
    assert harness.client.sent_at[0] == pytest.approx(START_S, abs=0.03)
    assert verdict.took_s == pytest.approx(2.0, abs=0.1)


def test_with_a_start_of_long_ago_everything_that_is_due_is_written_at_once() -> None:
    harness = Harness(rows=3_000, start=START_S - 100)
    verdict = harness.run(start_s=start_of(harness.options, 0, START_S))
    assert verdict.took_s < 0.1
    assert verdict.worst_late_s == pytest.approx(100, abs=0.1)


def test_as_fast_as_possible_ignores_the_schedule_and_stamps_the_present() -> None:
    harness = Harness(workload="constant(1)", rows=50_000)
    verdict = harness.run(paced=False)
    assert verdict.took_s < 1.0
    assert verdict.right
    assert verdict.intended_rps is None
    assert "intended" not in verdict.sentence
    assert {stamp for *_, stamp in harness.client.sent} == {round(START_S * 1_000)}


def test_a_broker_that_is_too_slow_loses_nothing_and_the_run_says_by_how_much_it_is_behind() -> None:
    # 500 events/s at most, of 1,000 that are due, and hardly any queue.
    harness = Harness(FakeClient(room=20, per_poll=12), rows=6_000)
    verdict = harness.run()
    assert verdict.right
    assert len(harness.client.sent) == 6_000
    assert [line for line in harness.told if line.startswith("behind by")] == harness.told[:1]
    assert verdict.achieved_rps == pytest.approx(480, rel=0.05)
    assert verdict.worst_late_s == pytest.approx(6.5, abs=0.4)
    assert verdict.worst_behind > 2_500
    assert "intended 1,000/s, achieved 4" in verdict.sentence


def test_who_catches_up_says_so() -> None:
    client = FakeClient()
    client.is_up = lambda: not START_S + 1 < client.now_s < START_S + 4
    harness = Harness(client, rows=8_000)
    assert harness.run().right
    assert harness.told[0].startswith("behind by 1,0")
    assert harness.told[1].startswith("caught up after 2.")
    assert len(harness.told) == 2


def test_a_broker_that_goes_is_told_once_and_so_is_that_it_is_back() -> None:
    client = FakeClient(room=500)
    harness = Harness(client, rows=12_000)

    def is_up() -> bool:
        if START_S + 2 < client.now_s < START_S + 9:
            harness.troubles.note(Said("Connection refused"))
            harness.troubles.note(Said("_ALL_BROKERS_DOWN"))
            return False
        return True

    client.is_up = is_up
    verdict = harness.run()
    assert verdict.right
    gone, back, *rest = harness.told
    assert gone.startswith("the broker does not answer (Connection refused); 5")
    assert back.startswith("the broker answers again after 7.")
    assert not any("does not answer" in line for line in rest)
    assert verdict.worst_late_s == pytest.approx(7.0, abs=0.2)


def test_a_lost_connection_without_an_event_that_waits_is_nobodys_concern() -> None:
    harness = Harness(workload="spike(100, at=20s, for=1s)", duration="22s")
    harness.troubles.note(Said("_ALL_BROKERS_DOWN"))
    assert harness.run().right
    assert harness.told == []


def test_a_broker_that_never_comes_back_ends_the_run_with_what_was_not_acknowledged() -> None:
    client = FakeClient()
    client.is_up = lambda: client.now_s < START_S + 1
    verdict = Harness(client, rows=3_000).run()
    assert not verdict.right
    assert 900 < verdict.acknowledged < 1_100
    assert verdict.next_offset == verdict.acknowledged
    assert f"{verdict.acknowledged:,} of 3,000 events acknowledged" in verdict.sentence
    assert f"{3_000 - verdict.acknowledged:,} events were not acknowledged" in verdict.failure


def test_a_refused_event_ends_the_run_at_once() -> None:
    client = FakeClient()
    client.refuses = True
    verdict = Harness(client, rows=100_000).run()
    assert not verdict.right
    assert verdict.trouble == "refused"
    assert client.now_s < START_S + 1


def test_an_event_that_librdkafka_does_not_take_ends_the_run_at_once() -> None:
    client = FakeClient()

    def produce(*arguments: object) -> None:
        raise Exception(Said("message too large"))

    client.produce = produce  # type: ignore[method-assign]
    verdict = Harness(client, rows=100).run()
    assert (verdict.right, verdict.trouble, verdict.acknowledged) == (False, "message too large", 0)


def test_a_fatal_error_ends_the_run_at_once() -> None:
    harness = Harness(rows=100_000)
    harness.troubles.note(Said("out of sequence", fatal=True))
    verdict = harness.run()
    assert (verdict.right, verdict.trouble) == (False, "out of sequence")


def test_who_stops_a_run_waits_for_what_was_written() -> None:
    harness = Harness(FakeClient(per_poll=10))
    harness.stop_when = lambda: harness.client.now_s > START_S + 2
    verdict = harness.run()
    assert verdict.right
    assert verdict.acknowledged == verdict.next_offset == len(harness.client.sent)


def test_who_stops_a_run_does_not_wait_long_for_a_broker_that_is_gone() -> None:
    client = FakeClient(room=50)
    client.is_up = lambda: client.now_s < START_S + 1
    harness = Harness(client)
    harness.stop_when = lambda: client.now_s > START_S + 3
    verdict = harness.run()
    assert client.now_s < START_S + 12
    assert verdict.wanted - verdict.acknowledged == 50


def test_the_next_offset_is_the_first_one_missing_in_any_partition() -> None:
    client = FakeClient(room=400)
    held: list[tuple[int, Callable[[Any, Any], None]]] = []

    def poll(timeout: float, /) -> int:
        client.now_s += timeout
        for partition, callback in client.queue:
            if partition == 1:
                held.append((partition, callback))
            else:
                callback(None, Said(partition=partition))
        client.queue.clear()
        return 0

    client.poll = poll  # type: ignore[method-assign]
    verdict = Harness(client, rows=1_000, partitions=4).run(first=2)
    assert (verdict.acknowledged, len(held)) == (749, 249)
    assert verdict.next_offset == 5


@pytest.mark.parametrize(
    ("options", "first", "paced", "message"),
    [
        ({}, 0, False, "as fast as possible needs an end"),
        ({"rows": "10"}, 11, True, "--first: found 11, but the events end at 10"),
    ],
)
def test_what_cannot_be_written_is_told_before_it_starts(
    options: dict[str, str], first: int, paced: bool, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        Production(
            topic="t", options=parse_options({"workload": "1k", **options}), start_s=0.0, first=first, paced=paced
        )
