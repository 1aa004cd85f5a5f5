"""Lag of queries that read topics in every way Spark knows, held up in mid-batch, against what was really written."""

import json
import time
from pathlib import Path
from uuid import uuid4

import pytest

from elastream.core.tick import Tick
from elastream.development.kafka.local_broker import LocalBroker
from elastream.development.kafka.topics import create_topic
from tests.kafka.records import PASSWORD, write
from tests.kafka.running import Running, backlogs, query
from tests.kafka.topics import add_partitions

pytestmark = pytest.mark.needs("spark", "kafka")

APP = Path(__file__).parent / "apps" / "lagging.py"


def test_lag_is_exact_for_every_way_of_reading_a_topic(broker: LocalBroker, tmp_path: Path) -> None:
    some, more, late = (f"{name}-{uuid4().hex}" for name in ("some", "more", "late"))
    any_of_them = f"({some}|{more}|{late})"
    create_topic(broker.bootstrap, some, partitions=3)
    create_topic(broker.bootstrap, more, partitions=2)
    fill(broker, {some: 3, more: 2}, 30)
    # Kafka stores milliseconds; what is written before and after differs by at least two.
    time.sleep(0.01)
    now_ms = int(time.time() * 1000)
    time.sleep(0.01)
    ways = {
        "several": {"subscribe": f"{some},{more}", "startingOffsets": "earliest"},
        "pattern": {"subscribePattern": any_of_them, "startingOffsets": "earliest"},
        "assigned": {"assign": json.dumps({some: [0, 2]}), "startingOffsets": "earliest"},
        "limited": {"subscribe": some, "startingOffsets": "earliest", "maxOffsetsPerTrigger": "10"},
        "split": {"subscribe": some, "startingOffsets": "earliest", "minPartitions": "6"},
        "timed": {"subscribe": some, "startingTimestamp": str(now_ms), "startingOffsetsByTimestampStrategy": "latest"},
        "newest": {"subscribe": more, "startingOffsets": "latest"},
        "secured": {"subscribe": some, "startingOffsets": "earliest", **secured(broker)},
    }
    (tmp_path / "block").touch()
    fill(broker, {some: 3}, 2)
    arguments = [broker.bootstrap, json.dumps(ways), str(tmp_path)]
    with Running(tmp_path, APP, arguments, {"--executors": "1:2"}) as running:
        written = {
            "several": 156,
            "pattern": 156,
            "assigned": 64,
            "limited": 96,
            "split": 96,
            "timed": 6,
            "newest": 0,
            "secured": 96,
        }
        running.until(lambda tick: backlogs(tick) == written, f"the lag at the start: {written}")
        fill(broker, {some: 3, more: 2}, 7)
        held = {
            "several": 191,
            "pattern": 191,
            "assigned": 78,
            "limited": 117,
            "split": 117,
            "timed": 27,
            "newest": 14,
            "secured": 117,
        }
        running.until(lambda tick: backlogs(tick) == held, f"the lag of batches that are held up: {held}")
        (tmp_path / "block").unlink()
        running.until(lambda tick: set(backlogs(tick).values()) == {0.0}, "the end of all lag")
        (tmp_path / "block").touch()
        create_topic(broker.bootstrap, late, partitions=1)
        add_partitions(broker.bootstrap, more, 3)
        fill(broker, {late: 1, more: 3}, 5)
        held = {
            "several": 15,
            "pattern": 20,
            "assigned": 0,
            "limited": 0,
            "split": 0,
            "timed": 0,
            "newest": 15,
            "secured": 0,
        }
        seen = running.until(lambda tick: backlogs(tick) == held, f"the lag of new topics and partitions: {held}")
        assert partitions(seen, "pattern") == [*([5.0] * 4), *([0.0] * 3)]
        (tmp_path / "block").unlink()
        running.until(lambda tick: set(backlogs(tick).values()) == {0.0}, "the end of all lag")
        (tmp_path / "stop").touch()
        assert running.wait() == 0
    assert PASSWORD not in (tmp_path / "err").read_text()
    assert not [file for file in (tmp_path / "journal").iterdir() if PASSWORD in file.read_text()]


def secured(broker: LocalBroker) -> dict[str, str]:
    """Options of a source at the door that asks for a password."""
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    return {
        "kafka.bootstrap.servers": broker.secured,
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{module} required username="elastream" password="{PASSWORD}";',
    }


def fill(broker: LocalBroker, topics: dict[str, int], records: int) -> None:
    """So many records into each partition."""
    for topic, number in topics.items():
        for partition in range(number):
            write(broker.bootstrap, topic, [b"record"] * records, partition)


def partitions(tick: Tick, name: str) -> list[float]:
    """The backlogs of a query's partitions, the largest first."""
    seen = query(tick, name)
    assert seen is not None
    return sorted(seen.sources[0].partition_backlogs or (), reverse=True)
