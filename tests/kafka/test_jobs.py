"""Jobs that read what others wrote and write what others read, by the commands of a user."""

import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from uuid import uuid4

import pytest

from elastream.development.kafka.local_broker import LocalBroker
from elastream.jobs.catalogue import jobs
from tests.kafka.records import SHORT_LIVED, read_all, write
from tests.kafka.running import ELASTREAM

# With a Spark in the process of the command, beside no cluster.
pytestmark = [pytest.mark.needs("spark", "kafka"), pytest.mark.local]

# A fail-safe; nothing waits for it on a machine that has time.
PATIENCE_S = 600.0
# But for its time it could be one, and would end every window before it.
FROM_THE_FUTURE = b'{"ad_id": "a", "event_type": "view", "event_time": "2120-01-01T00:00:00Z"}'
NO_EVENTS = [FROM_THE_FUTURE, b"", b"not JSON", b"[1]", b'{"ad_id": null}', b'{"event_time": "yesterday"}', b"\xff\xfe"]


def elastream(*arguments: str) -> str:
    ended = subprocess.run(
        [ELASTREAM, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, SHORT_LIVED[0]: SHORT_LIVED[1]},
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    return ended.stdout


def produce(source: str, broker: LocalBroker, topic: str, rows: int, *more: str) -> None:
    where = ["--bootstrap", broker.bootstrap, "--topic", topic, "--create"]
    elastream("produce", source, "--workload", "constant(100)", "--rows", str(rows), "--max", *where, *more)


def bench(job: str, broker: LocalBroker, read: Sequence[str], to: str, *more: str) -> list[str]:
    """What is said of the output, if nothing is wrong with it."""
    named = [word for topic in read for word in ("--from", topic)]
    told = elastream("bench", job, *named, "--to", to, "--create", "--bootstrap", broker.bootstrap, "--json", *more)
    document = json.loads(told)
    assert [verdict["right"] for verdict in document["verdicts"]] == [True] * (1 + bool(more))
    return [verdict["sentence"] for verdict in document["verdicts"]]


def test_a_job_reads_a_topic_writes_another_and_a_third_with_what_is_no_event(broker: LocalBroker, topic: str) -> None:
    to, rejected = f"{topic}-out", f"{topic}-rejected"
    produce("yahoo", broker, topic, 1_500)
    write(broker.bootstrap, topic, NO_EVENTS, partition=1)
    # Fifteen seconds more of them.
    produce("yahoo", broker, topic, 3_000, "--first", "1500")
    said, left_out = bench("yahoo", broker, [topic], to, "--rejected", rejected)
    assert f"result rows of 3,000 events in topic {topic} (and 7 messages that are none) are right, compared" in said
    assert said.endswith(" more wait for the watermark")
    assert left_out == f"all 7 messages that are no events are in topic {rejected}"
    assert Counter(read_all(broker.bootstrap, rejected)) == Counter(NO_EVENTS)
    assert {"campaign_id", "window_start", "window_end", "count"} == json.loads(
        read_all(broker.bootstrap, to)[0]
    ).keys()


@pytest.mark.full
@pytest.mark.parametrize("name", ["wordcount", "nexmark-q8", "enrichment"])
def test_every_stream_has_a_topic_and_rows_that_are_told_again_count_once(name: str, broker: LocalBroker) -> None:
    streams = [stream.name for stream in jobs.build(name).streams]
    topics = {stream: f"{stream}-{uuid4().hex}" for stream in streams}
    for stream, topic in topics.items():
        produce(f"{name}/{stream}", broker, topic, 6_000, "--option", "disorder=5")
    (said,) = bench(name, broker, [f"{stream}={topic}" for stream, topic in reversed(topics.items())], uuid4().hex)
    assert f"of {6_000 * len(streams):,} events in topics {', '.join(topics.values())} are right" in said.replace(
        "topic ", "topics "
    )
