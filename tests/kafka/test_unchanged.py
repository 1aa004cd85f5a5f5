"""An application that knows nothing of us reads Kafka under `elastream run`, with a load that moves and accidents.

One run serves all tests of this file: its journal says what was seen and decided, its output whether that was safe.
"""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest

from elastream.core.observation import Query
from elastream.core.tick import Tick
from elastream.development.kafka.local_broker import LocalBroker
from elastream.development.kafka.topics import create_topic
from tests.kafka.records import read_all
from tests.kafka.running import ELASTREAM, PATIENCE_S, TICK_S, Running, backlogs, query, ready

pytestmark = pytest.mark.needs("spark", "kafka")

APP = Path(__file__).parent / "apps" / "counting.py"
POLICY = "lag-proportional(interval_s=2, window_s=6, drain_s=10, asap_batch_s=3)"
# Slots work through a thousand rows a second: the spike needs more than two of them.
WORKLOAD = "100 + spike(2400, at=3s, for=12s)"
# Records still come while the sink is blocked, on a slow machine too.
DURATION = "35s"
EVENTS = {"workload": WORKLOAD, "duration": DURATION, "partitions": "3", "keys": "50"}


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What is left of the run."""

    ticks: list[Tick]
    blocked_utc_s: tuple[float, float]
    down_utc_s: tuple[float, float]
    stdout: str
    stderr: str
    code: int
    folder: Path
    copied: list[bytes]

    def queries(self, name: str) -> Iterator[tuple[Tick, Query]]:
        for tick in self.ticks:
            if (seen := query(tick, name)) is not None:
                yield tick, seen


@pytest.fixture(scope="module")
def ran(broker: LocalBroker, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("counting")
    topic, copy = f"in-{uuid4().hex}", f"out-{uuid4().hex}"
    create_topic(broker.bootstrap, topic, partitions=3)
    create_topic(broker.bootstrap, copy, partitions=3)
    produce = [ELASTREAM, "produce", "keyed", "--bootstrap", broker.bootstrap, "--topic", topic, "--workload", WORKLOAD]
    produce += ["--duration", DURATION, "--option", "keys=50"]
    arguments = [broker.bootstrap, topic, copy, str(folder)]
    with Running(folder, APP, arguments, {"--executors": "1:3", "--policy": POLICY}) as running:
        running.until(lambda tick: backlogs(tick).get("counting") == 0, "the queries")
        with producing(produce) as producer:
            running.until(lambda tick: (backlogs(tick).get("counting") or 0) > 1000, "the spike")
            (folder / "block").touch()
            # The batch before still works, for as long as its rows take.
            running.until(lambda _: (folder / "blocked").exists(), "a batch at the door that is shut")
            blocked_s = time.time()
            time.sleep(9 * TICK_S)
            (folder / "block").unlink()
            unblocked_s = time.time()
            running.until(lambda tick: ready(tick) == 3, "three executors")
            broker.stop()
            stopped_s = time.time()
            running.until(lambda tick: "gives no answer" in (tick.decision.reason if tick.decision else ""), "a hold")
            broker.start()
            started_s = time.time()
            told, _ = producer.communicate(timeout=PATIENCE_S)
            assert producer.returncode == 0, told
        running.until(lambda tick: backlogs(tick) == {"counting": 0, "copying": 0}, "the end of the backlog")
        running.until(lambda tick: ready(tick) == 1, "one executor")
        (folder / "stop").touch()
        code = running.wait()
    return Ran(
        ticks=running.ticks(),
        blocked_utc_s=(blocked_s, unblocked_s),
        down_utc_s=(stopped_s, started_s),
        stdout=(folder / "out").read_text(),
        stderr=(folder / "err").read_text(),
        code=code,
        folder=folder,
        copied=read_all(broker.bootstrap, copy),
    )


@contextmanager
def producing(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    producer = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield producer
    finally:
        if producer.poll() is None:
            producer.terminate()
            producer.wait(PATIENCE_S)


def test_output_and_exit_code_are_its_own(ran: Ran) -> None:
    assert ran.stdout == "started\nstopped\n"
    assert ran.code == 3


def test_its_totals_are_those_of_the_events_exactly_once(ran: Ran) -> None:
    import pandas as pd  # type: ignore[import-untyped]

    from elastream.events.options import events, parse_options

    total = parse_options(EVENTS).total
    assert total is not None
    expected = events(EVENTS, 0, total).to_pandas().groupby("key")["value"].agg(["count", "sum"])
    batches = sorted((ran.folder / "totals").iterdir(), key=lambda path: int(path.name.partition("=")[2]))
    found = pd.concat([pd.read_parquet(path) for path in batches]).groupby("key").last()
    assert found["n"].to_dict() == expected["count"].to_dict()
    assert found["total"].to_dict() == expected["sum"].to_dict()


def test_what_it_copies_to_a_topic_is_not_lost_and_not_doubled(ran: Ran) -> None:
    from elastream.events.options import events, parse_options
    from elastream.events.wire import messages

    total = parse_options(EVENTS).total
    assert total is not None
    expected = Counter(
        value for batch in events(EVENTS, 0, total).to_batches() for value in messages(batch, "key").values
    )
    assert Counter(ran.copied) == expected


def test_executors_followed_the_load_up_and_down(ran: Ran) -> None:
    sizes = [size for tick in ran.ticks if (size := ready(tick)) is not None]
    assert max(sizes) == 3
    assert sizes[-1] == 1


def test_a_sink_that_blocks_shows_as_backlog_within_two_ticks(ran: Ran) -> None:
    since_s, until_s = ran.blocked_utc_s
    seen = [(tick.utc_s, query) for tick, query in ran.queries("counting") if since_s <= tick.utc_s <= until_s]
    # The end of the batch before may be seen a tick after the next one has come to the door.
    last = max(query.sources[0].committed.value for _, query in seen if query.sources[0].committed)
    held = [
        (utc_s, query)
        for utc_s, query in seen
        if query.sources[0].committed and query.sources[0].committed.value == last
    ]
    assert len(held) >= 4
    backlogs = [query.backlog or 0.0 for _, query in held]
    for two_ticks_before, now in zip(backlogs, backlogs[2:], strict=False):
        assert now > two_ticks_before
    for utc_s, one in held:
        age = one.sources[0].backlog_age_s
        assert age is not None
        assert age.value >= utc_s - held[0][0] - TICK_S


def test_backlog_is_told_per_partition(ran: Ran) -> None:
    # In the first moments of a query its sources are not known yet.
    shares = [source.partition_backlogs for _, query in ran.queries("counting") for source in query.sources]
    assert any(parts is not None and len(parts) == 3 and min(parts) > 0 for parts in shares)


def test_without_its_broker_the_size_is_held_and_the_reason_told(ran: Ran) -> None:
    since_s, until_s = ran.down_utc_s
    held = [
        tick.decision
        for tick in ran.ticks
        if since_s <= tick.utc_s <= until_s and tick.decision and "gives no answer" in tick.decision.reason
    ]
    assert held
    assert all(decision.kind == "hold" for decision in held)
    assert "gives no answer" in ran.stderr


def test_a_decision_says_which_query_needs_what(ran: Ran) -> None:
    reasons = [tick.decision.reason for tick in ran.ticks if tick.decision is not None]
    assert any("counting: " in reason and "copying" in reason for reason in reasons)
