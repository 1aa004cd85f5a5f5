"""Kafka sources: backlog per partition, whatever happens to the topics."""

from collections.abc import Mapping
from typing import Any

import pytest

from elastream.core.observation import Source
from elastream.spark.jvm.snapshot import LogSeen, SourceSeen
from elastream.spark.observe.source_tracker import SourceTracker

KAFKA = SourceSeen(
    kind="org.apache.spark.sql.kafka010.KafkaMicroBatchStream",
    table="kafka",
    limit="AllAvailable",
    options={"Kafka.bootstrap.servers": "broker:9092", "subscribe": "words"},
)
ZERO_UTC_S = 1_000_000.0


class Followed:
    """A source that is looked at; times are seconds on our clock, and UTC is that much further."""

    def __init__(self, source: SourceSeen = KAFKA) -> None:
        self.input = SourceTracker(source)

    def look(self, at_s: float, log: LogSeen | None, *, committed: Any = None, available: Any = None) -> Source:
        self.input.see(
            at_s,
            at_s + ZERO_UTC_S,
            committed=committed,
            available=available or committed,
            latest=available,
            asked_s=None,
            log=log,
        )
        return self.input.source(0, at_s, None)


def answered(at_s: float, ends: Mapping[str, tuple[float, float]], **more: Any) -> LogSeen:
    return LogSeen(utc_s=at_s + ZERO_UTC_S, ends=ends, **more)


def test_backlog_is_what_the_log_has_beyond_the_last_commit_per_partition_and_in_total() -> None:
    seen = Followed().look(
        10.0,
        answered(9.5, {"words-0": (0, 100), "words-1": (0, 40), "words-10": (0, 7), "words-2": (0, 5)}),
        committed={"words": {"0": 30, "1": 40, "10": 0, "2": 5}},
    )
    assert seen.backlog == 77
    assert seen.partition_backlogs == (70, 0, 0, 7)
    assert seen.arrived_from == "probe"
    assert seen.arrived is not None
    assert seen.arrived.at_s == pytest.approx(9.5)


def test_a_batch_that_runs_is_backlog_until_it_is_committed() -> None:
    seen = Followed().look(
        10.0,
        answered(10.0, {"words-0": (0, 100)}),
        committed={"words": {"0": 30}},
        available={"words": {"0": 90}},
    )
    assert seen.backlog == 70


def test_the_age_of_the_backlog_is_that_of_the_oldest_record_of_any_partition() -> None:
    followed = Followed()
    committed = {"words": {"0": 0, "1": 0}}
    for at_s in range(21):
        busy = {"words-0": (0, 10.0 * at_s), "words-1": (0, 1.0 if at_s >= 5 else 0.0)}
        # The busy partition is read within a second, the other one never.
        committed = {"words": {"0": 10 * max(0, at_s - 1), "1": 0}}
        seen = followed.look(float(at_s), answered(float(at_s), busy), committed=committed)
    assert seen.backlog == 11
    assert seen.backlog_age_s is not None
    assert seen.backlog_age_s.value == pytest.approx(15.0, abs=1.0)


def test_what_waited_before_we_watched_has_the_age_that_its_records_say() -> None:
    past = tuple(
        (ZERO_UTC_S + 1000.0 - ago, {"words-0": count}) for ago, count in ((512, 0.0), (256, 100.0), (1, 100.0))
    )
    seen = Followed().look(1000.0, answered(1000.0, {"words-0": (0, 100)}, past=past), committed={"words": {"0": 0}})
    assert seen.backlog_age_s is not None
    assert 256 <= seen.backlog_age_s.value <= 512


def test_what_retention_deleted_unread_is_no_backlog() -> None:
    followed = Followed()
    followed.look(0.0, answered(0.0, {"words-0": (0, 100)}), committed={"words": {"0": 10}})
    seen = followed.look(1.0, answered(1.0, {"words-0": (60, 120)}), committed={"words": {"0": 10}})
    assert seen.backlog == 60


def test_a_new_partition_counts_from_its_oldest_record_and_makes_no_jump() -> None:
    followed = Followed()
    before = followed.look(0.0, answered(0.0, {"words-0": (0, 100)}), committed={"words": {"0": 100}})
    ends = {"words-0": (0.0, 100.0), "words-1": (5000.0, 5008.0)}
    seen = followed.look(1.0, answered(1.0, ends), committed={"words": {"0": 100}})
    assert seen.backlog == 8
    assert seen.arrived is not None
    assert before.arrived is not None
    assert seen.arrived.value - before.arrived.value == 8
    assert seen.backlog_age_s is not None
    assert 0.0 <= seen.backlog_age_s.value <= 1.0
    read = followed.look(2.0, answered(2.0, ends), committed={"words": {"0": 100, "1": 5008}})
    assert read.backlog == 0


def test_a_topic_that_is_made_again_counts_on_and_nothing_of_it_is_committed() -> None:
    followed = Followed()
    before = followed.look(0.0, answered(0.0, {"words-0": (0, 500)}), committed={"words": {"0": 400}})
    followed.look(1.0, answered(1.0, {"words-0": (0, 500)}), committed={"words": {"0": 400}})
    again = followed.look(2.0, answered(2.0, {"words-0": (0, 30)}), committed={"words": {"0": 400}})
    assert again.backlog == 30
    assert again.arrived is not None
    assert before.arrived is not None
    assert again.arrived.value == before.arrived.value + 30
    read = followed.look(3.0, answered(3.0, {"words-0": (0, 35)}), committed={"words": {"0": 30}})
    assert read.backlog == 5


def test_a_commit_that_is_newer_than_the_answer_of_the_log_is_no_new_topic() -> None:
    followed = Followed()
    followed.look(0.0, answered(0.0, {"words-0": (0, 500)}), committed={"words": {"0": 400}})
    seen = followed.look(1.0, answered(0.5, {"words-0": (0, 510)}), committed={"words": {"0": 520}})
    assert seen.backlog == 0
    after = followed.look(2.0, answered(1.5, {"words-0": (0, 530)}), committed={"words": {"0": 520}})
    assert after.backlog == 10


def test_a_topic_that_is_gone_has_no_backlog() -> None:
    followed = Followed()
    committed = {"words": {"0": 0}, "more": {"0": 0}}
    followed.look(0.0, answered(0.0, {"words-0": (0, 5), "more-0": (0, 50)}), committed=committed)
    seen = followed.look(1.0, answered(1.0, {"words-0": (0, 6)}), committed=committed)
    assert seen.backlog == 6


def test_a_query_that_starts_at_the_end_has_no_backlog_from_before() -> None:
    followed = Followed()
    log = answered(0.0, {"words-0": (0, 1000)})
    assert followed.look(0.0, log).backlog is None
    began = answered(1.0, {"words-0": (0, 1010)}, first={"words": {"0": 1000}})
    assert followed.look(1.0, began).backlog == 10
    progress = {"startOffset": None, "endOffset": {"words": {"0": 1010}}, "numInputRows": 99}
    assert followed.input.take(progress, 2.0, is_foreach=False).rows == 10


def test_a_log_that_does_not_answer_makes_the_lag_unknown_and_says_why() -> None:
    followed = Followed()
    committed = {"words": {"0": 10}}
    followed.look(0.0, answered(0.0, {"words-0": (0, 100)}), committed=committed)
    silent = answered(0.0, {"words-0": (0, 100)}, problem="TimeoutException: no answer")
    seen = followed.look(5.0, silent, committed=committed)
    assert seen.backlog is None
    assert seen.problem == "Kafka at broker:9092 gives no answer: TimeoutException: no answer"
    again = followed.look(6.0, answered(6.0, {"words-0": (0, 160)}), committed=committed)
    assert again.backlog == 150
    assert again.problem is None


def test_where_the_log_is_not_asked_lag_is_what_spark_reports() -> None:
    followed = Followed()
    followed.input.report(0.0, {"words": {"0": 100}})
    followed.input.report(10.0, {"words": {"0": 200}})
    seen = followed.look(20.0, None, committed={"words": {"0": 50}}, available={"words": {"0": 150}})
    assert seen.arrived_from == "extrapolated"
    assert seen.backlog == 250
    assert followed.look(21.0, None).committed is not None


def test_a_partition_that_holds_most_of_the_backlog_is_named() -> None:
    followed = Followed()
    committed = {"words": {"0": 0, "1": 0, "2": 0}}
    even = followed.look(
        0.0, answered(0.0, dict.fromkeys(("words-0", "words-1", "words-2"), (0, 9))), committed=committed
    )
    assert even.uneven is None
    ends = {"words-0": (0.0, 90.0), "words-1": (0.0, 9.0), "words-2": (0.0, 9.0)}
    assert followed.look(1.0, answered(1.0, ends), committed=committed).uneven == "83% of it in one of 3 partitions"


def hourly(hour: int) -> tuple[dict[str, tuple[float, float]], dict[str, dict[str, float]]]:
    """What the log has and what the query has committed, with a topic of twelve partitions an hour, kept for two."""
    topics = [f"words-{number}" for number in (hour - 1, hour) if number >= 0]
    ends = {f"{topic}-{place}": (0.0, 100.0) for topic in topics for place in range(12)}
    return ends, {topic: {str(place): 90.0 for place in range(12)} for topic in topics}


def test_after_a_month_of_hourly_topics_a_source_has_the_partitions_of_two_hours_and_all_of_its_records() -> None:
    followed = Followed()
    last = 0.0
    for hour in range(720):
        ends, committed = hourly(hour)
        # Topics go before the next batch has noticed; then its offsets name them no longer.
        followed.look(3600.0 * hour, answered(3600.0 * hour, ends), committed=hourly(max(0, hour - 1))[1])
        seen = followed.look(3600.0 * hour + 60, answered(3600.0 * hour + 60, ends), committed=committed)
        assert seen.partition_backlogs == (10.0,) * len(ends)
        assert seen.committed is not None
        assert seen.committed.value >= last
        last = seen.committed.value
    assert seen.backlog == 240
    assert seen.arrived is not None
    assert seen.arrived.value == 720 * 12 * 100
    # Of everything that was remembered by partition, in the source and in its log.
    for holder in (followed.input, followed.input._probe):
        sizes = {name: len(value) for name, value in vars(holder).items() if isinstance(value, dict)}
        assert sizes
        assert max(sizes.values()) <= 24, sizes


def test_an_even_backlog_is_not_called_uneven_because_of_partitions_that_are_gone() -> None:
    followed = Followed()
    for hour in range(12):
        ends, committed = hourly(hour)
        seen = followed.look(3600.0 * hour, answered(3600.0 * hour, ends), committed=committed)
    assert seen.partition_backlogs == (10.0,) * 24
    assert seen.uneven is None


def test_a_batch_that_is_told_of_after_a_topic_of_it_is_gone_counts_nothing_twice() -> None:
    followed = Followed()
    both = {"words": {"0": 50.0}, "more": {"0": 50.0}}
    followed.look(0.0, answered(0.0, {"words-0": (0, 100), "more-0": (0, 100)}), committed=both)
    alone = {"words": {"0": 80.0}}
    before = followed.look(1.0, answered(1.0, {"words-0": (0, 100)}), committed=alone)
    followed.input.take(
        {"startOffset": both, "endOffset": {"words": {"0": 60.0}, "more": {"0": 60.0}}}, 1.0, is_foreach=False
    )
    after = followed.look(2.0, answered(2.0, {"words-0": (0, 100)}), committed=alone)
    assert before.committed is not None
    assert after.committed is not None
    assert (after.committed.value, after.backlog) == (before.committed.value, 20)


def test_partitions_that_only_spark_tells_of_are_forgotten_with_their_topics_too() -> None:
    followed = Followed()
    for hour in range(48):
        committed = {f"words-{hour}": {"0": 100.0, "1": 100.0}}
        progress = {"startOffset": committed, "endOffset": committed, "latestOffset": committed, "numInputRows": 0}
        followed.input.report(60.0 * hour, committed)
        followed.input.take(progress, 60.0 * hour, is_foreach=False)
        seen = followed.look(60.0 * hour, None, committed=committed)
    assert seen.partition_backlogs == (0.0, 0.0)
    assert seen.committed is not None
    assert seen.committed.value == 48 * 200
