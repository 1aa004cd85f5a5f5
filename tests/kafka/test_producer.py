"""The producer against a real broker: every event is in the topic once, where it belongs, with its bytes."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest

pytest.importorskip("confluent_kafka")

from confluent_kafka import Consumer, TopicPartition

from elastream.cli import main
from elastream.development.kafka.contact import Troubles
from elastream.development.kafka.local_broker import LocalBroker
from elastream.development.kafka.producer import ProducerRun, Production, start_of
from elastream.development.kafka.producer_client import Target, connect, topic_partitions
from elastream.development.kafka.producer_verdict import ProducerVerdict, Standing
from elastream.development.kafka.topics import create_topic
from elastream.events.options import SourceOptions, events, parse_options
from elastream.events.wire import messages

pytestmark = pytest.mark.needs("kafka")


class Message(NamedTuple):
    key: bytes | None
    value: bytes
    stamp_ms: int


def in_topic(bootstrap: str, topic: str, partitions: int) -> list[list[Message]]:
    """Everything in a topic, by partition and in its order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "reading", "enable.auto.commit": False})
    try:
        ends = [consumer.get_watermark_offsets(TopicPartition(topic, p), timeout=30)[1] for p in range(partitions)]
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        found: list[list[Message]] = [[] for _ in range(partitions)]
        deadline_s = time.monotonic() + 120
        while [len(part) for part in found] != ends:
            assert time.monotonic() < deadline_s, f"only {[len(part) for part in found]} of {ends} came"
            for message in consumer.consume(10_000, timeout=1.0):
                partition, value = message.partition(), message.value()
                assert message.error() is None
                assert partition is not None
                assert value is not None
                found[partition].append(Message(message.key(), value, message.timestamp()[1]))
    finally:
        consumer.close()
    return found


def expected(options: dict[str, str], partitions: int, first: int, end: int) -> list[list[tuple[bytes | None, bytes]]]:
    """The same from the generator alone."""
    (batch,) = events({**options, "partitions": str(partitions)}, first, end).combine_chunks().to_batches()
    made = list(zip(*messages(batch, "key"), strict=True))
    return [[pair for n, pair in enumerate(made, first) if n % partitions == p] for p in range(partitions)]


def compare(bootstrap: str, topic: str, options: dict[str, str], partitions: int, end: int) -> list[list[Message]]:
    found = in_topic(bootstrap, topic, partitions)
    assert [[(one.key, one.value) for one in part] for part in found] == expected(options, partitions, 0, end)
    return found


def run(
    bootstrap: str,
    topic: str,
    options: SourceOptions,
    *,
    first: int = 0,
    paced: bool = True,
    tell: Callable[[str], None] = lambda line: None,
    show: Callable[[Standing], None] = lambda standing: None,
) -> tuple[ProducerVerdict, float]:
    """A run to its end, and its time zero."""
    target, troubles = Target(bootstrap=bootstrap, topic=topic), Troubles()
    client = connect(target, troubles)
    if topic_partitions(client, target, troubles) is None:
        create_topic(target.bootstrap, target.topic, options.partitions)
    start_s = start_of(options, first, time.time())
    production = Production(topic=topic, options=options, start_s=start_s, first=first, paced=paced)
    return ProducerRun(production, client, troubles, tell=tell, show=show).run(), start_s


def test_every_event_is_in_the_topic_once_with_its_key_its_bytes_and_the_time_it_was_due(
    broker: LocalBroker, topic: str
) -> None:
    given = {"workload": "cosine(2k..20k, period=3s, noise=500)", "seed": "3", "keys": "40", "hotShare": "30%"}
    options = parse_options({**given, "partitions": "3", "rows": "30000"})
    verdict, start_s = run(broker.bootstrap, topic, options)
    assert verdict.right
    assert verdict.acknowledged == 30_000
    found = compare(broker.bootstrap, topic, given, 3, 30_000)
    due_ms = [round((start_s + options.series.when(n + 1)) * 1_000) for n in range(30_000)]
    assert [[one.stamp_ms for one in part] for part in found] == [due_ms[p::3] for p in range(3)]


def test_a_run_in_two_parts_is_as_good_as_one(broker: LocalBroker, topic: str) -> None:
    given = {"workload": "constant(10k)", "seed": "5", "partitions": "4"}
    first, _ = run(broker.bootstrap, topic, parse_options({**given, "rows": "7001"}), paced=False)
    again, _ = run(
        broker.bootstrap, topic, parse_options({**given, "rows": "20000"}), first=first.next_offset, paced=False
    )
    assert (first.acknowledged, again.acknowledged) == (7_001, 12_999)
    compare(broker.bootstrap, topic, given, 4, 20_000)


def killed(broker: LocalBroker) -> None:
    os.kill(broker.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    "end", [pytest.param(LocalBroker.stop, id="stopped", marks=pytest.mark.full), pytest.param(killed, id="killed")]
)
def test_a_broker_that_restarts_in_mid_run_loses_and_doubles_nothing(
    broker: LocalBroker, topic: str, end: Callable[[LocalBroker], None]
) -> None:
    given = {"workload": "constant(10k)", "seed": "1"}
    told: list[str] = []
    gone = threading.Event()

    def tell(line: str) -> None:
        told.append(line)
        if line.startswith("the broker does not answer"):
            gone.set()

    def restart() -> None:
        end(broker)
        gone.wait(60)
        broker.start()

    restarting = threading.Thread(target=restart)

    def show(standing: Standing) -> None:
        if standing.acknowledged > 20_000 and restarting.ident is None:
            restarting.start()

    options = parse_options({**given, "partitions": "4", "rows": "150000"})
    verdict, _ = run(broker.bootstrap, topic, options, tell=tell, show=show)
    restarting.join(120)
    assert gone.is_set(), told
    assert verdict.right, verdict.sentence
    assert sum("does not answer" in line for line in told) == 1
    assert sum("answers again" in line for line in told) == 1
    compare(broker.bootstrap, topic, given, 4, 150_000)


def test_ctrl_c_writes_what_was_begun_and_tells_where_to_go_on(broker: LocalBroker, topic: str) -> None:
    command = [sys.executable, "-m", "elastream", "produce", "keyed", "--workload", "constant(5k)", "--create"]
    producing = subprocess.Popen(
        [*command, "--bootstrap", broker.bootstrap, "--topic", topic, "--partitions", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert producing.stderr is not None
    try:
        assert any("acknowledged" in line for line in producing.stderr), "it ended without writing"
        producing.send_signal(signal.SIGINT)
        out, err = producing.communicate(timeout=30)
    finally:
        producing.kill()
        producing.wait()
    assert producing.returncode == 130
    assert err.endswith("elastream: interrupted\n")
    written = int(out.rpartition("next offset ")[2])
    assert out.startswith(f"{written:,} events acknowledged; intended 5,000/s")
    compare(broker.bootstrap, topic, {"workload": "constant(5k)"}, 2, written)


def test_a_topic_is_created_only_when_asked_for_and_must_have_the_partitions(
    broker: LocalBroker, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["produce", "keyed", "--workload", "1k", "--rows", "9", "--max", "--bootstrap", broker.bootstrap]
    command += ["--topic", topic]
    assert main(command) == 1
    assert capsys.readouterr().err == f"elastream: {broker.bootstrap}: there is no topic {topic!r}; --create makes it\n"
    assert main([*command, "--create", "--partitions", "3"]) == 0
    assert capsys.readouterr().out.startswith("9 events acknowledged; achieved")
    assert main([*command, "--partitions", "5"]) == 1
    assert f"topic {topic!r} has 3 partitions, and --partitions says 5" in capsys.readouterr().err
    compare(broker.bootstrap, topic, {"workload": "1k"}, 3, 9)


def test_a_broker_that_cannot_be_reached_is_one_line_within_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    began_s = time.monotonic()
    assert main(["produce", "keyed", "--workload", "1k", "--bootstrap", "127.0.0.1:1"]) == 1
    assert time.monotonic() - began_s < 10
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("elastream: 127.0.0.1:1: no Kafka broker answers: ")
    assert err.count("\n") == 1
