"""When the query of a live run over topics ends, and what becomes of a batch that had begun."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from elastream.core.errors import ElastreamError
from elastream.experiments import live_query
from elastream.jobs import running
from elastream.jobs.checkpoint import Checkpoint
from elastream.jobs.running import run_for
from elastream.jobs.topic_names import Topics
from elastream.jobs.topics import Held

TOPICS = Topics(bootstrap="nobody:1", read=(("ads", "ads"),), to="out")
REACHED = Checkpoint(batch=3, ends={"ads": {0: 9}}, watermark=datetime(2026, 1, 1, tzinfo=UTC), is_between=False)


class Query:
    """Commits a hundred messages per look."""

    def __init__(self, *, fails: bool = False) -> None:
        self.name, self.fails, self.isActive, self.looks = "q", fails, True, 0

    @property
    def lastProgress(self) -> dict[str, Any]:
        self.looks += 1
        return {
            "batchId": self.looks - 1,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "durationMs": {"triggerExecution": 10, "addBatch": 5},
            "sources": [{"numInputRows": 100, "startOffset": None, "endOffset": {"ads": {"0": 100 * self.looks}}}],
        }

    def exception(self) -> str | None:
        return "no such host" if self.fails else None

    def stop(self) -> None:
        self.isActive = False


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A second passes while one sleeps."""
    clock = SimpleNamespace(now_s=0.0)

    def sleep(seconds: float) -> None:
        clock.now_s += 1.0

    monkeypatch.setattr(running, "time", SimpleNamespace(monotonic=lambda: clock.now_s, sleep=sleep))
    return clock


def test_it_runs_as_long_as_it_was_told_and_then_until_what_had_arrived_is_committed(clock: SimpleNamespace) -> None:
    query, asked_s = Query(), []

    def find_total() -> int:
        asked_s.append(clock.now_s)
        return 2_000

    log = run_for(query, 10.0, find_total, patience_s=100.0)
    assert asked_s == [10.0]
    # One more was committed until it was stopped.
    assert log.read == 2_100
    assert not query.isActive


def test_what_does_not_come_to_an_end_is_told(clock: SimpleNamespace) -> None:
    with pytest.raises(ElastreamError, match=r"q: 3,900 of 9,000 events are still not committed"):
        run_for(Query(), 10.0, lambda: 9_000, patience_s=50.0)
    with pytest.raises(ElastreamError, match=r"q: the query failed: no such host"):
        run_for(Query(fails=True), 1.0, lambda: 100, patience_s=50.0)


@pytest.mark.parametrize(
    ("topics", "reached", "runs_again"),
    [
        (TOPICS, REACHED, True),
        (TOPICS, replace(REACHED, is_between=True), False),
        (TOPICS, None, False),
        # Files of a batch that is not committed do not count.
        (replace(TOPICS, to=None), REACHED, False),
    ],
)
def test_a_batch_that_had_begun_is_finished_if_it_may_have_written_to_a_topic(
    topics: Topics, reached: Checkpoint | None, runs_again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    query = SimpleNamespace(start=lambda: started.append("again"))
    writing = SimpleNamespace(trigger=lambda **how: query)
    setup = SimpleNamespace(name="q", topics=None, held=None, experiment=SimpleNamespace(duration_s=1.0))
    monkeypatch.setattr(live_query, "read_checkpoint", lambda folder: reached)
    monkeypatch.setattr(live_query, "_read", lambda *given: "rows")
    monkeypatch.setattr(live_query, "_writing", lambda *given, name: writing)
    monkeypatch.setattr(live_query, "run_until_it_ends", lambda query, total, patience_s: None)
    told: list[str] = []
    given: Any = setup
    spark: Any = None
    again = live_query._finish(given, topics, Held(places={}), spark, Path(), told.append)
    assert again is runs_again
    assert started == ["again"] * runs_again
    assert told == ["finishing the batch that had begun"] * runs_again
