"""What was read from topics and written to them, found again: here in the memory of a broker that is none."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.core.errors import ElastreamError
from elastream.development.kafka.topic_reader import Message, Places
from elastream.events.options import events, parse_options
from elastream.events.wire import messages
from elastream.jobs import topic_rows
from elastream.jobs.batches import Batch, Span
from elastream.jobs.catalogue import parse_job
from elastream.jobs.inputs import stream_options
from elastream.jobs.job import Result
from elastream.jobs.judging import answered
from elastream.jobs.topic_judging import TopicRun, consumed, has_run_again, judge_rejected, judge_topics, topic_delay
from elastream.jobs.topic_names import Topics
from elastream.jobs.topic_rows import read_inputs, read_output
from elastream.jobs.topics import Held

JOB = parse_job("yahoo(campaigns=3)")
TOPICS = Topics(bootstrap="nobody:1", read=(("ads", "ads"),), to="out", rejected="bad")
BAD = [None, b"", b"[]", b"{}", b'{"ad_id": 5}']


class Broker:
    """Topics in memory, of one partition each."""

    held: Mapping[str, list[Message]] = {}

    def __init__(self, bootstrap: str) -> None:
        assert bootstrap == TOPICS.bootstrap

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def topics(self) -> dict[str, list[int]]:
        return {name: [0] for name in self.held}

    def places(self, topic: str, partitions: list[int]) -> Places:
        return {0: (0, len(self.held[topic]))}

    def read(self, topic: str, places: Places) -> Iterator[list[Message]]:
        some = self.held[topic][slice(*places[0])]
        yield from (some[:100], some[100:])


# A minute after the first event, and with it all of them are in time.
STAMP_MS = 1_577_836_860_000


def kept(values: list[bytes | None]) -> list[Message]:
    return [Message(0, offset, STAMP_MS, value) for offset, value in enumerate(values)]


@pytest.fixture
def ads(monkeypatch: pytest.MonkeyPatch) -> list[Message]:
    """Forty-five seconds of them, with others in between."""
    given = stream_options(JOB, {"workload": "constant(20)"})["ads"]
    (batch,) = events(given, 0, 900).combine_chunks().to_batches()
    values: list[bytes | None] = list(messages(batch, parse_options(given).generator.key_column).values)
    values[50:50] = BAD
    monkeypatch.setattr(topic_rows, "TopicReader", Broker)
    monkeypatch.setattr(Broker, "held", {"ads": kept(values), "out": [], "bad": []})
    return kept(values)


def run(end: int, watermark: datetime | None = None) -> TopicRun:
    return TopicRun(ends={"ads": {0: end}}, watermark=watermark, dropped=0)


def batch(end: int) -> Batch:
    span = Span(first=0, end=end, start_s=None, ends={"ads": {0: end}})
    return Batch(number=0, began_s=0.0, committed_s=1.0, rows=end, spans=(span,), state=None)


def test_what_the_committed_batches_have_read_is_read_again_and_told_from_what_is_no_event(ads: list[Message]) -> None:
    held = Held(places={"ads": {0: (20, 905)}})
    read = consumed(TOPICS, held, run(300))
    assert read == {"ads": {0: (20, 300)}}
    found = read_inputs(JOB, TOPICS, read)
    assert found.tables["ads"].num_rows == 280 - len(BAD)
    assert [one.value for one in found.rejected["ads"]] == BAD
    assert [one.offset for one in found.rejected["ads"]] == [50, 51, 52, 53, 54]
    assert found.tables["ads"]["offset"].to_pylist()[28:32] == [48, 49, 50, 51]


def test_the_answer_comes_from_the_topic_and_waits_for_the_watermark(ads: list[Message]) -> None:
    inputs = read_inputs(JOB, TOPICS, {"ads": {0: (0, 905)}})
    after = run(905, datetime(2020, 1, 1, 0, 0, 20, tzinfo=UTC))
    answer = answered(JOB, inputs.tables).drop_columns(["first_time", "last_time"])
    rows = answer.filter([until.second <= 20 for until in answer["window_end"].to_pylist()])
    assert judge_topics(JOB, TOPICS, inputs, after, rows) == (
        True,
        "all 6 result rows of 900 events in topic ads (and 5 messages that are none) are right, compared one by one"
        " with an answer that DuckDB made from the topic; 9 more wait for the watermark",
    )
    assert judge_topics(JOB, TOPICS, inputs, after, rows.slice(1)).right is False
    assert judge_topics(JOB, TOPICS, inputs, replace(after, dropped=2), rows.slice(1)).right is None
    twice = pa.concat_tables([rows, rows])
    assert judge_topics(JOB, TOPICS, inputs, after, twice).right is False
    assert judge_topics(JOB, TOPICS, inputs, replace(after, may_repeat=True), twice).right
    files = replace(TOPICS, to=None)
    assert judge_topics(JOB, files, inputs, replace(after, may_repeat=True), twice).right is False


def test_a_delay_is_from_the_timestamp_to_the_commit_of_the_batch_that_has_read_it(ads: list[Message]) -> None:
    inputs = read_inputs(JOB, TOPICS, {"ads": {0: (0, 4)}})
    stamped = np.array([[0, 0, 500], [0, 1, 1_000], [0, 2, 2_500], [0, 3, 9_000]])
    inputs = replace(inputs, arrivals={"ads": stamped})
    seen = [replace(batch(end), committed_s=at_s) for end, at_s in ((2, 3.0), (2, 4.0), (3, 6.0))]
    found = topic_delay(inputs, seen, since_s=0.75)
    assert found is not None
    # The first was there before, and the last is in no batch.
    assert (found.count, found.p50_s, found.max_s) == (2, 2.75, 3.5)


@pytest.mark.parametrize(("ahead_s", "found"), [(60.0, 900), (0.0, 900), (-45.0, 300)])
def test_what_is_too_far_ahead_of_its_timestamp_is_no_event(ahead_s: float, found: int, ads: list[Message]) -> None:
    inputs = read_inputs(JOB, replace(TOPICS, ahead_s=ahead_s), {"ads": {0: (0, 905)}})
    assert inputs.tables["ads"].num_rows == found


def row(word: str, count: int) -> bytes:
    return json.dumps({"word": word, "count": count}).encode()


def test_only_what_was_written_since_counts_and_of_rows_that_are_told_again_the_newest(
    ads: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    values: list[bytes | None] = [b"before", row("a", 1), row("b", 1), row("a", 2)]
    monkeypatch.setattr(Broker, "held", {"out": kept(values)})
    schema, since = pa.schema({"word": pa.string(), "count": pa.int64()}), {0: (0, 1)}
    append = read_output(TOPICS, "out", since, schema, Result())
    assert append["count"].to_pylist() == [1, 1, 2]
    newest = read_output(TOPICS, "out", since, schema, Result(mode="update", key=("word",)))
    assert newest.to_pylist() == [{"word": "b", "count": 1}, {"word": "a", "count": 2}]
    with pytest.raises(ElastreamError, match="topic 'out': holds what is no row of the job: "):
        read_output(TOPICS, "out", {0: (0, 0)}, schema, Result())


def origin(offset: int, value: bytes | None) -> Message:
    headers = [("topic", b"ads"), ("partition", b"0"), ("offset", str(offset).encode())]
    return Message(0, 0, 0, value, headers)


@pytest.mark.parametrize(
    ("change", "right"),
    [
        (lambda some: some[::-1], True),
        (lambda some: some[1:], False),
        (lambda some: [*some, some[0]], False),
        (lambda some: [*some[1:], some[0]._replace(value=b"another")], False),
    ],
)
def test_rejected_messages_are_compared_byte_by_byte_with_where_they_came_from(
    change: Any, right: bool, ads: list[Message], monkeypatch: pytest.MonkeyPatch
) -> None:
    inputs = read_inputs(JOB, TOPICS, {"ads": {0: (0, 905)}})
    written = change([origin(50 + n, value) for n, value in enumerate(BAD)])
    monkeypatch.setattr(Broker, "held", {"bad": written})
    verdict = judge_rejected(TOPICS, inputs, run(905), {0: (0, 0)})
    assert verdict.right is right, verdict.sentence
    if right:
        assert verdict.sentence == "all 5 messages that are no events are in topic bad"
    again = judge_rejected(TOPICS, inputs, replace(run(905), may_repeat=True), {0: (0, 0)})
    assert again.right is (right or len(written) > len(BAD))


@pytest.mark.parametrize(
    ("tasks", "again"), [([(9, 9, 0)], False), ([(9, 8, 1)], False), ([(9, 9, 0), (4, 3, 0)], True)]
)
def test_a_task_that_did_not_end_well_has_run_again(tasks: list[tuple[int, int, int]], again: bool) -> None:
    def executor(total: int, completed: int, active: int) -> Any:
        counts = {"totalTasks": total, "completedTasks": completed, "activeTasks": active}
        return SimpleNamespace(**{name: lambda count=count: count for name, count in counts.items()})

    listed = SimpleNamespace(length=lambda: len(tasks), apply=lambda number: executor(*tasks[number]))
    store = SimpleNamespace(executorList=lambda only_active: listed)
    context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: SimpleNamespace(statusStore=lambda: store)))
    spark: Any = SimpleNamespace(sparkContext=context)
    assert has_run_again(spark) is again
