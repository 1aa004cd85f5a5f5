"""What is asked of Prometheus, and what follows for executors and sources."""

import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from elastream.config import PrometheusSettings
from elastream.core.observation import Observation, Reading
from elastream.core.signals import Signal
from elastream.core.slo import Slo
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.host_usage import Usage
from elastream.spark.observe.observer import Observer
from elastream.spark.observe.outside_lag import OutsideLag
from elastream.spark.observe.prometheus.background import PrometheusWatch, watch_for
from elastream.spark.observe.prometheus.client import LabelledSeries, SeriesPoint
from elastream.spark.observe.prometheus.questions import Labels, OutsideAnswers, Question, Subject
from elastream.spark.scale.roster import Registered
from tests.unit.spark.answering import Answer, answering, matrix, vector
from tests.unit.spark.reading import FixedSizes

LABELS = Labels(executor="pod", pattern=re.compile(r".*-exec-(\d+)"), is_host=False, query=None)


def watch(url: str, **settings: Any) -> PrometheusWatch:
    made = watch_for(PrometheusSettings(url=url, **settings), {"application": "app-1", "name": 'the "shop"'}, 60.0)
    assert made is not None
    return made


def asked(answers: Mapping[str, Answer], **settings: Any) -> PrometheusWatch:
    with answering(answers) as server:
        watching = watch(server.url, **settings)
        watching.ask_once()
    return watching


def values(readings: Mapping[str, Reading]) -> dict[str, float]:
    return {name: round(reading.value, 6) for name, reading in readings.items()}


def test_a_counter_is_a_rate_that_is_true_when_it_was_scraped_last() -> None:
    now_s = time.time()
    points = [(now_s - 40, 100.0), (now_s - 25, 107.5), (now_s - 10, 130.0)]
    found = asked({"cpu_total[60000ms]": matrix(({"pod": "shop-exec-7"}, points))}, cpu="cpu_total").latest().cpu

    assert values(found) == {"7": 1.0}
    assert found["7"].at_s == pytest.approx(now_s - 10, abs=1.0)


def test_a_counter_that_began_anew_counts_from_there_and_one_sample_says_nothing() -> None:
    now_s = time.time()
    series = (
        ({"pod": "a-exec-1"}, [(now_s - 40, 900.0), (now_s - 20, 5.0), (now_s - 10, 25.0)]),
        ({"pod": "a-exec-2"}, [(now_s - 10, 25.0)]),
    )
    assert values(asked({"cpu_total[60000ms]": matrix(*series)}, cpu="cpu_total").latest().cpu) == {"1": 2.0}


def test_a_container_that_was_replaced_is_no_part_of_the_sum() -> None:
    now_s = time.time()
    series = (
        ({"pod": "a-exec-1", "id": "old"}, [(now_s - 55, 7.0), (now_s - 40, 7.0)]),
        ({"pod": "a-exec-1", "id": "new"}, [(now_s - 25, 2.0), (now_s - 10, 3.0)]),
        ({"pod": "a-exec-1", "id": "side"}, [(now_s - 24, 0.5), (now_s - 9, 0.5)]),
    )
    found = asked({"memory_bytes[60000ms]": matrix(*series)}, memory="memory_bytes").latest().memory

    assert values(found) == {"1": 3.5}
    assert found["1"].at_s == pytest.approx(now_s - 10, abs=1.0)


def test_an_expression_is_true_when_its_parts_were_scraped_and_unknown_where_nobody_says_when() -> None:
    now_s = time.time()
    answers = {
        "sum by (pod) (rate(c[1m]))": vector(({"pod": "a-exec-1"}, 0.5), ({"pod": "a-exec-2"}, 0.7)),
        "max by (pod) (timestamp(c))": vector(({"pod": "a-exec-1"}, now_s - 12)),
    }
    found = asked(answers, cpu="sum by (pod) (rate(c[1m]))", cpu_times="max by (pod) (timestamp(c))").latest().cpu

    assert values(found) == {"1": 0.5}
    assert found["1"].at_s == pytest.approx(now_s - 12, abs=1.0)


def test_names_are_put_into_queries_as_text() -> None:
    with answering({}) as server:
        watching = watch(server.url, cpu='c{app="$application",name="$name",ns="$namespace"}')
        server.answers = {'c{app="app-1",name="the \\"shop\\"",ns="$namespace"}[60000ms]': matrix()}
        watching.ask_once()
    assert watching.troubles() == ()


def test_a_lag_belongs_to_the_query_that_its_label_names_or_to_the_only_one() -> None:
    now_s = time.time()
    series = (
        ({"group": "clicks", "partition": "0"}, [(now_s - 5, 10.0)]),
        ({"group": "clicks", "partition": "1"}, [(now_s - 5, 30.0)]),
        ({"group": "views", "partition": "0"}, [(now_s - 5, 2.0)]),
    )
    named = asked({"lag[60000ms]": matrix(*series)}, lag="lag", query_label="group").latest().lag
    assert values(named) == {"clicks": 40.0, "views": 2.0}
    assert values(asked({"lag[60000ms]": matrix(*series)}, lag="lag").latest().lag) == {"": 42.0}


def test_a_server_that_is_gone_is_one_line_and_what_it_said_keeps_its_time() -> None:
    now_s = time.time()
    with answering({"memory_bytes[60000ms]": matrix(({"pod": "a-exec-1"}, [(now_s - 5, 7.0)]))}) as server:
        watching = watch(server.url, memory="memory_bytes", cpu="cpu_total")
        server.answers = {**server.answers, "cpu_total[60000ms]": matrix()}
        watching.ask_once()
        assert watching.troubles() == ()
    watching.ask_once()

    (line,) = watching.troubles()
    assert line.startswith(f"prometheus at {server.url.removeprefix('http://')}: ")
    assert "refused (not known: memory of executors elsewhere, processor use" in line
    assert watching.latest().memory["1"].at_s == pytest.approx(now_s - 5, abs=1.0)


def test_one_question_that_is_refused_hides_no_other() -> None:
    now_s = time.time()
    answers: dict[str, Answer] = {
        "cpu_total[60000ms]": b'{"status":"error"}',
        "memory_bytes[60000ms]": matrix(({"pod": "a-exec-1"}, [(now_s - 5, 7.0)])),
    }
    watching = asked(answers, cpu="cpu_total", memory="memory_bytes")
    assert values(watching.latest().memory) == {"1": 7.0}
    assert "processor use" in watching.troubles()[0]
    assert "memory" not in watching.troubles()[0]


def test_series_of_which_none_names_an_executor_are_told() -> None:
    watching = asked({"m[60000ms]": matrix(({"instance": "node-1"}, [(time.time(), 7.0)]))}, memory="m")
    assert "none has the label 'pod'" in watching.troubles()[0]


def test_a_silent_server_delays_nobody() -> None:
    with answering({}) as server:
        watching = watch(server.url, cpu="c", timeout_s=2.0)
        server.answers = {"c[60000ms]": lambda request: time.sleep(1.0)}
        began_s = time.monotonic()
        watching.start()
        watching.latest()
        watching.stop()
        assert time.monotonic() - began_s < 0.5


@dataclass
class Scraped:
    """A server of a source that is scraped at these times."""

    at_s: tuple[float, ...]
    now_s: float = 0.0
    place: str = "x"

    def clock(self) -> tuple[float, float]:
        # Never measured twice alike.
        return self.now_s, self.now_s % 7 / 1000

    def ask(self, promql: str, utc_s: float | None = None) -> list[LabelledSeries]:
        past = [SeriesPoint(4e8, at_s) for at_s in self.at_s if at_s <= self.now_s]
        return [LabelledSeries({"pod": "shop-exec-1"}, tuple(past))] if past else []


@pytest.mark.parametrize(
    ("scraped_s", "told"),
    [((0, 15, 30, 45), 0), ((0, 60, 120, 180, 240), 1), ((0, 15, 30), 0), ((0, 15, 130, 145, 160), 0)],
    ids=["often", "seldom", "ended", "a gap"],
)
def test_only_what_is_always_scraped_too_seldom_is_told_as_that(
    caplog: pytest.LogCaptureFixture, scraped_s: tuple[float, ...], told: int
) -> None:
    server = Scraped(scraped_s)
    asked = [Question("memory", "bytes")]
    watching = PrometheusWatch(server, asked, LABELS, every_s=5.0, window_s=60.0, max_age_s=20.0)
    for now_s in range(0, 300, 5):
        server.now_s = float(now_s)
        watching.ask_once()

    assert sum("scrape more often" in line for line in caplog.messages) == told


@dataclass
class Told:
    """What was answered, as it is. Implements OutsideReadings."""

    answers: OutsideAnswers = field(default_factory=OutsideAnswers)
    subjects: frozenset[Subject] = frozenset({"cpu", "memory", "lag"})
    labels: Labels = LABELS
    max_age_s: float = 60.0

    def latest(self) -> OutsideAnswers:
        return self.answers

    def troubles(self) -> tuple[str, ...]:
        return ("prometheus at x: gone",)

    def stop(self) -> None:
        pass


# Our clock begins at 0 when UTC says this.
UTC_S = 1_000_000.0


def seen(
    observer: Observer, at_s: float, *, hosts: Mapping[str, str] | None = None, queries: list[Any] | None = None
) -> Observation:
    executors = {name: {"host": host, "busy_ms": 0} for name, host in (hosts or {"1": "far", "2": "far"}).items()}
    told = {"at_ms": (UTC_S + at_s) * 1000, "busy_ms": 0, "executors": executors, "queries": queries or []}
    look = parse_snapshot(json.dumps(told))
    return observer.fold(look, Registered(tuple(executors), ()), FixedSizes(), at_s=at_s, utc_s=UTC_S + at_s)


def observer(outside: Told, usage: Mapping[str, Usage] | None = None) -> Observer:
    return Observer(
        application="app-1", bounds=(1, 4), slots_per_worker=2, slo=Slo(delay_s=30.0), usage=lambda: usage or {},
        outside=outside,
    )  # fmt: skip


def test_executors_elsewhere_use_what_prometheus_says_on_our_clock() -> None:
    told = Told(OutsideAnswers(cpu={"1": Reading(1.5, UTC_S + 7)}, memory={"1": Reading(4e8, UTC_S + 7)}))
    here = {"2": Usage(pid=9, cpu_s=3.0, memory_bytes=5.0)}
    far, near = seen(observer(told, here), 10.0).pools[0].workers

    assert (far.cpu, far.cpu_from, far.memory_bytes) == (Reading(0.75, 7.0), "prometheus", Reading(4e8, 7.0))
    assert near.memory_bytes == Reading(5.0, 10.0)


def test_what_prometheus_does_not_say_is_unknown_and_lacks_after_a_minute() -> None:
    told = Told(OutsideAnswers(memory={"1": Reading(4e8, UTC_S + 7)}), max_age_s=90.0)
    watching = observer(told)
    young = seen(watching, 10.0)
    assert [worker.cpu for worker in young.pools[0].workers] == [None, None]
    assert young.lacks == {}

    old = seen(watching, 80.0)

    assert "2 of 2 executors" in old.lacks[Signal.WORKER_CPU]
    assert "1 of 2 executors" in old.lacks[Signal.WORKER_MEMORY]
    assert old.troubles == ("prometheus at x: gone",)


def test_what_has_grown_old_lacks_as_what_was_never_told() -> None:
    told = Told(OutsideAnswers(cpu={"1": Reading(1.5, UTC_S + 7), "2": Reading(1.5, UTC_S + 70)}))
    watching = observer(told)
    seen(watching, 1.0)
    old = seen(watching, 80.0)

    assert [worker.cpu is None for worker in old.pools[0].workers] == [True, False]
    assert "1 of 2 executors" in old.lacks[Signal.WORKER_CPU]


def test_where_prometheus_is_silent_what_tasks_tell_does_not_stand_in() -> None:
    watching = observer(Told())
    for at_s, busy_ms in ((1.0, 0), (6.0, 5000)):
        done = {"host": "far", "busy_ms": busy_ms, "held_ms": busy_ms, "cpu_ms": busy_ms}
        look = parse_snapshot(json.dumps({"at_ms": (UTC_S + at_s) * 1000, "busy_ms": 0, "executors": {"1": done}}))
        now = watching.fold(look, Registered(("1",), ()), FixedSizes(), at_s=at_s, utc_s=UTC_S + at_s)

    assert (now.pools[0].workers[0].cpu, now.pools[0].workers[0].cpu_from) == (None, None)


def test_what_a_host_uses_is_its_executors_only_where_that_is_alone() -> None:
    cpu = {"one": Reading(1.0, UTC_S), "two": Reading(2.0, UTC_S)}
    told = Told(OutsideAnswers(cpu=cpu), labels=LABELS._replace(is_host=True))
    now = seen(observer(told), 1.0, hosts={"1": "one", "2": "two", "3": "two"})

    assert [worker.cpu for worker in now.pools[0].workers] == [Reading(0.5, 0.0), None, None]


def test_a_lag_from_outside_counts_from_what_was_committed_when_it_was_true() -> None:
    lag = OutsideLag()
    lag.commit(0.0, 100.0)
    lag.commit(10.0, 180.0)
    lag.see(Reading(50.0, 8.0))
    assert lag.arrived == Reading(150.0, 8.0)
    lag.see(Reading(0.0, 12.0))
    assert lag.arrived == Reading(180.0, 12.0)
    # What is committed by now was there: nothing waits, and a total does not fall.
    lag.commit(13.0, 190.0)
    lag.see(Reading(0.0, 12.5))
    assert lag.arrived == Reading(180.0, 12.5)
    assert lag.age_s(190.0, 14.0) == Reading(0.0, 12.5)


def test_records_that_wait_outside_are_as_old_as_the_answers_say() -> None:
    lag = OutsideLag()
    lag.commit(0.0, 0.0)
    for at_s, waiting in ((1.0, 0.0), (11.0, 100.0), (21.0, 200.0)):
        lag.see(Reading(waiting, at_s))

    age = lag.age_s(50.0, 25.0)
    assert age is not None
    assert age.value == pytest.approx(25.0 - 6.1)
    assert lag.overdue(11.0, 50.0) == 50.0
    (late, *_) = lag.stretches(0.0, 100.0, 25.0)
    assert (late.longest_s, late.records) == (24.0, 100.0)


STREAM = "org.apache.spark.sql.execution.streaming.sources.TextSocketMicroBatchStream"
SOCKET = {
    "id": "0a1b", "run": "r", "name": "clicks", "active": True, "trigger": "ProcessingTimeTrigger(5000)", "batch": 0,
    "described": {"sources": [{"class": STREAM}], "leaves": [0]}, "committed": [3], "available": [3], "latest": [None],
    "logs": [None],
}  # fmt: skip


def test_a_source_that_spark_cannot_count_has_the_backlog_that_prometheus_tells() -> None:
    told = Told()
    watching = observer(told)
    (before,) = seen(watching, 1.0, queries=[SOCKET]).queries
    assert before.backlog is None
    for waited_s, at_s in ((4, 6.0), (9, 11.0)):
        told.answers = OutsideAnswers(lag={"": Reading(40.0, UTC_S + waited_s)})
        (query,) = seen(watching, at_s, queries=[SOCKET]).queries

    # What was committed at the time of the first answer is not known.
    assert query.sources[0].arrived == Reading(40.0, 9.0)
    assert query.sources[0].arrived_from == "prometheus"
    assert query.backlog == 40.0
    assert query.sources[0].problem is None
    assert watching.watched_only() == ()


def test_a_lag_that_is_of_no_query_in_particular_is_given_to_none_of_several() -> None:
    told = Told(OutsideAnswers(lag={"": Reading(40.0, UTC_S)}))
    both = [SOCKET, {**SOCKET, "id": "2c3d", "name": "views"}]
    now = seen(observer(told), 6.0, queries=both)

    assert [query.backlog for query in now.queries] == [None, None]
