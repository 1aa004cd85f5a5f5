"""A real broker: it keeps records, is closed to other machines, and leaves nothing behind however it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.daemons.processes import Process, descendants, process
from elastream.development.kafka.folder import BrokerError
from elastream.development.kafka.local_broker import BrokerSettings, LocalBroker
from elastream.development.kafka.topics import TopicError, create_topic
from tests.kafka.records import SHORT_LIVED, read, write
from tests.kafka.topics import add_partitions, delete_topic
from tests.spark.sockets import LOOPBACKS, listening

pytestmark = pytest.mark.needs("kafka")

# Has a broker; then waits to be ended from outside.
HOLDER = """
import signal
from elastream.development.kafka.local_broker import LocalBroker

with LocalBroker() as broker:
    print(broker.folder, flush=True)
    signal.pause()
"""


@pytest.fixture(autouse=True)
def _short_lived(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*SHORT_LIVED)


def holder(temporary: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )


def all_below(pid: int) -> list[Process]:
    return [found for below in descendants(pid) if (found := process(below)) is not None]


def test_a_record_written_at_once_can_be_read(broker: LocalBroker, topic: str) -> None:
    create_topic(broker.bootstrap, topic)
    write(broker.bootstrap, topic, [b"first", b"second"])
    assert read(broker.bootstrap, topic, 2) == [b"first", b"second"]


def test_it_listens_on_loopback_only(broker: LocalBroker) -> None:
    ours = [broker.pid, *descendants(os.getpid())]
    found = {address for pid in ours for address in listening(pid)}
    assert ("127.0.0.1", int(broker.bootstrap.rpartition(":")[2])) in found
    assert {address for address, _ in found} <= LOOPBACKS
    assert len(listening(broker.pid)) == 3, "for clients, for those who know the password, for its own controller"
    assert broker.folder.stat().st_mode & 0o777 == 0o700


def test_topics_grow_and_go(broker: LocalBroker, topic: str) -> None:
    create_topic(broker.bootstrap, topic, partitions=2, config={"retention.ms": "60000"})
    add_partitions(broker.bootstrap, topic, 4)
    write(broker.bootstrap, topic, [b"in the last one"], partition=3)
    delete_topic(broker.bootstrap, topic)
    with pytest.raises(TopicError, match=f"topic {topic}: cannot be removed: .*[Uu]nknown topic"):
        delete_topic(broker.bootstrap, topic)


@pytest.mark.parametrize(
    ("partitions", "config", "told"),
    [(1, {"no.such.thing": "1"}, "Unknown topic config name"), (4, {}, "already exists")],
)
def test_what_kafka_refuses_is_told_in_one_line(
    broker: LocalBroker, topic: str, partitions: int, config: dict[str, str], told: str
) -> None:
    if not config:
        create_topic(broker.bootstrap, topic)
    with pytest.raises(TopicError, match=told) as refused:
        create_topic(broker.bootstrap, topic, partitions, config)
    assert str(refused.value).startswith(f"topic {topic}: cannot be made: ")
    assert "\n" not in str(refused.value)


def test_a_restart_keeps_port_and_records(broker: LocalBroker, topic: str) -> None:
    create_topic(broker.bootstrap, topic)
    write(broker.bootstrap, topic, [b"before"])
    address, pid = broker.bootstrap, broker.pid
    broker.stop()
    try:
        assert process(pid) is None
        with pytest.raises(BrokerError, match="does not run; start it first"):
            broker.pause()
    finally:
        broker.start()
    assert (broker.bootstrap, process(pid)) == (address, None)
    write(address, topic, [b"after"])
    assert read(address, topic, 2) == [b"before", b"after"]


# That one which is killed starts again is seen with a producer that goes on writing, too.
@pytest.mark.full
def test_records_survive_a_kill(broker: LocalBroker, topic: str) -> None:
    create_topic(broker.bootstrap, topic)
    write(broker.bootstrap, topic, [b"before"])
    broker.kill()
    broker.start()
    assert read(broker.bootstrap, topic, 1) == [b"before"]


def test_a_broker_that_pauses_takes_a_record_when_it_goes_on(broker: LocalBroker, topic: str) -> None:
    create_topic(broker.bootstrap, topic)
    broker.pause()
    try:
        with ThreadPoolExecutor() as other:
            writing = other.submit(write, broker.bootstrap, topic, [b"late"])
            assert not wait([writing], timeout=1.0).done
            broker.resume()
            writing.result()
    finally:
        broker.resume()
    assert read(broker.bootstrap, topic, 1) == [b"late"]


def test_a_port_that_is_taken_is_named_and_nothing_is_left(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = BrokerSettings(port=port, folder=tmp_path / "broker")
        with pytest.raises(BadInput, match=f"broker: port: {port} cannot be had"), LocalBroker(settings):
            pass
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_an_interrupt_while_it_starts(tmp_path: Path) -> None:
    with holder(tmp_path) as held:
        deadline = time.monotonic() + 60
        processes: list[Process] = []
        while len(processes) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
            processes = all_below(held.pid) if list(tmp_path.glob("*/log/broker.log")) else []
        held.send_signal(signal.SIGINT)
        held.wait(60)
    assert len(processes) == 2, "the supervisor and the broker"
    assert not [one for one in processes if one.is_running]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_left_after_its_owner_was_killed(tmp_path: Path) -> None:
    with holder(tmp_path) as held:
        assert held.stdout is not None
        folder = Path(held.stdout.readline().strip())
        assert (folder / "broker.json").exists()
        processes = all_below(held.pid)
        held.kill()
        held.wait(60)
    assert len(processes) == 2
    assert all(one.wait(60) for one in processes)
    assert list(tmp_path.iterdir()) == []


def test_a_broker_that_stays_is_started_shown_and_stopped_by_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "a broker"

    def told(*arguments: str) -> str:
        assert main(["kafka", *arguments, "--folder", str(folder)]) == 0
        return capsys.readouterr().out

    started = json.loads(told("up", "--heap", "256m", "--json"))
    try:
        assert started["started"]
        assert started["heap"] == "256m"
        create_topic(started["bootstrap"], "events")
        shown = json.loads(told("status", "--json"))
        assert shown["up"]
        assert [one["name"] for one in shown["processes"] if one["running"]] == ["supervisor", "broker"]
        assert told("up").startswith(f"already up: {started['bootstrap']}")
    finally:
        assert "are gone" in told("down")
    assert not [one for one in started["processes"] if process(one["pid"])]
    assert not folder.exists()
    assert "nothing to stop" in told("down")


def test_nothing_is_left_after_an_exception(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    seen: list[Process | None] = []

    def fail() -> None:
        with LocalBroker(BrokerSettings(folder=folder)) as own:
            seen.append(process(own.pid))
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        fail()
    assert not [one for one in seen if one is None or one.is_running]
    assert not folder.exists()
