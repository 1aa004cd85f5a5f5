"""Whether what a job has written follows from what it has read, where that are topics.

Somebody's own topic comes without an answer, so that is computed from the topic itself: its messages are read again,
told from what is no event of the job, and given to DuckDB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from elastream.development.kafka.topic_reader import Message, Places
from elastream.jobs.batches import Batch, count_late
from elastream.jobs.checkpoint import read_checkpoint
from elastream.jobs.job import Job
from elastream.jobs.judging import Circumstances, Verdict, answered, count_events, judge_rows
from elastream.jobs.latency import Latency, latency_of
from elastream.jobs.topic_names import Topics
from elastream.jobs.topic_rows import FindRows, TopicInputs, read_inputs, read_since
from elastream.jobs.topics import Held

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRun:
    """What a query over topics has done, as far as it is committed."""

    ends: Mapping[str, Mapping[int, int]]
    """How far it has read."""
    watermark: datetime | None
    dropped: int
    """Rows that came behind the watermark."""
    may_repeat: bool = False
    """Some rows may have been written to Kafka again."""


def topic_run(folder: Path, batches: Sequence[Batch]) -> TopicRun:
    """Of the query whose checkpoint is in this folder."""
    reached = read_checkpoint(folder)
    return TopicRun(
        ends={} if reached is None else reached.ends,
        watermark=None if reached is None else reached.watermark,
        dropped=count_late(batches),
    )


def judge_run(
    job: Job, topics: Topics, held: Held, run: TopicRun, find: FindRows | None
) -> tuple[TopicInputs, tuple[Verdict, ...]]:
    """What was read, and what is to be said of all that was written: results, and messages that are no events."""
    inputs = read_inputs(job, topics, consumed(topics, held, run))
    verdicts = [] if find is None else [judge_topics(job, topics, inputs, run, find())]
    if topics.rejected is not None:
        verdicts.append(judge_rejected(topics, inputs, run, held.places[topics.rejected]))
    return inputs, tuple(verdicts)


def judge_topics(job: Job, topics: Topics, inputs: TopicInputs, run: TopicRun, found: pa.Table | None) -> Verdict:
    """Compute the answer from what the committed batches have read, and compare every row that came out."""
    answer = answered(job, inputs.tables)
    events = count_events(inputs.tables)
    circumstances = Circumstances(
        events=_in_words([topic for _, topic in topics.read], sum(map(len, inputs.rejected.values()))),
        answer="an answer that DuckDB made from the topic",
        goes_on=True,
        watermark=run.watermark,
        dropped=run.dropped,
        may_repeat=run.may_repeat and topics.to is not None,
    )
    return judge_rows(job.result, answer, events, found, circumstances)


def topic_delay(inputs: TopicInputs, batches: Sequence[Batch], since_s: float) -> Latency | None:
    """Of all messages that came since then: from their timestamp to the commit of the batch that has read them."""
    commits_s = np.array([batch.committed_s for batch in batches])
    parts = []
    for topic, rows in inputs.arrivals.items():
        ends = [ends for batch in batches for span in batch.spans if (ends := span.ends.get(topic)) is not None]
        for number in np.unique(rows[:, 0]):
            offsets, stamps_s = rows[rows[:, 0] == number, 1], rows[rows[:, 0] == number, 2] / 1_000
            places = np.searchsorted([part.get(int(number), 0) for part in ends], offsets, side="right")
            counted = (places < len(commits_s)) & (stamps_s >= since_s)
            parts.append(commits_s[places[counted]] - stamps_s[counted])
    return latency_of(np.concatenate(parts)) if parts else None


def judge_rejected(topics: Topics, inputs: TopicInputs, run: TopicRun, since: Places) -> Verdict:
    """Compare what was written to the topic of those that are no events, byte by byte."""
    assert topics.rejected is not None
    named = dict(topics.read)
    wanted = Counter(
        (named[stream], one.partition, one.offset, one.value)
        for stream, some in inputs.rejected.items()
        for one in some
    )
    found = Counter(map(_origin, read_since(topics, topics.rejected, since)))
    if found == wanted or (run.may_repeat and found.keys() == wanted.keys()):
        said = f"all {wanted.total():,} messages that are no events are in topic {topics.rejected}"
        return Verdict(True, said if wanted else f"nothing was left out, and nothing is in topic {topics.rejected}")
    return Verdict(
        False,
        f"topic {topics.rejected} is wrong: {(wanted - found).total():,} messages are missing,"
        f" {(found - wanted).total():,} should not be there",
    )


def _origin(message: Message) -> tuple[str, int, int, bytes | None]:
    """Where a message that is no event was found, and what it is."""
    headers = dict(message.headers)
    return headers["topic"].decode(), int(headers["partition"]), int(headers["offset"]), message.value


def _in_words(topics: Sequence[str], others: int) -> str:
    names = f"topic{'s' * (len(topics) > 1)} {', '.join(topics)}"
    return f"events in {names}" + f" (and {others:,} messages that are none)" * bool(others)


def consumed(topics: Topics, held: Held, run: TopicRun) -> dict[str, Places]:
    """What was read of each topic."""
    return {
        topic: {
            number: (held.places[topic].get(number, (0, 0))[0], end) for number, end in run.ends.get(topic, {}).items()
        }
        for _, topic in topics.read
    }


def has_run_again(spark: SparkSession) -> bool:
    """Whether a task of this application did not end well, and so may have written what another one wrote again."""
    context: Any = spark.sparkContext._jsc
    store = context.sc().statusStore()
    executors = store.executorList(False)
    ended = [executors.apply(n) for n in range(executors.length())]
    return any(one.totalTasks() > one.completedTasks() + one.activeTasks() for one in ended)
