"""Spark's own example, exactly as it comes with Spark, under `elastream run`."""

import re
import signal
from collections import Counter
from pathlib import Path

import pytest

from elastream.development.kafka.local_broker import LocalBroker
from elastream.development.kafka.topics import create_topic
from tests.kafka.records import write
from tests.kafka.running import Running, backlogs, committed

pytestmark = [pytest.mark.needs("spark", "kafka"), pytest.mark.full]

WORDS = "the quick brown fox jumps over the lazy dog and the dog sleeps"


def test_the_kafka_word_count_counts_what_it_would_count_without_us(
    broker: LocalBroker, topic: str, tmp_path: Path
) -> None:
    import pyspark

    examples = Path(pyspark.__file__).parent / "examples" / "src" / "main" / "python" / "sql" / "streaming"
    create_topic(broker.bootstrap, topic, partitions=2)
    options = {"--executors": "1:2", "--conf": "spark.sql.shuffle.partitions=2"}
    arguments = [broker.bootstrap, "subscribe", topic]
    with Running(tmp_path, examples / "structured_kafka_wordcount.py", arguments, options) as running:
        running.until(lambda tick: list(backlogs(tick).values()) == [0.0], "the query")
        for _ in range(3):
            write(broker.bootstrap, topic, [WORDS.encode()] * 100)
        running.until(lambda tick: list(backlogs(tick).values()) == [0.0] and committed(tick) == 300, "the count")
        running.signal(signal.SIGINT)
        assert running.wait() != 0
    shown = (tmp_path / "out").read_text().rpartition("Batch: ")[2]
    found = {word: int(count) for word, count in re.findall(r"\|\s*(\w+)\|\s*(\d+)\|", shown)}
    assert found == {word: 300 * times for word, times in Counter(WORDS.split()).items()}
