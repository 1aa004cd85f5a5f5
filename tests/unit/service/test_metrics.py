"""What Prometheus is told."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from elastream.core.bottleneck import Bottleneck
from elastream.core.decision import Adjustment, Decision
from elastream.core.observation import FinishedBatch, KeyedState, Observation, Reading, Trigger
from elastream.core.signals import Signal
from elastream.core.slo import OnTime
from elastream.service.metric_names import METRICS
from elastream.service.metrics import RunMetrics
from tests.unit.journal_samples import header, planner, tick
from tests.unit.live_samples import run
from tests.unit.page_samples import calm, grown, kept, look, query

DOCS = Path(__file__).parents[3] / "docs" / "prometheus.md"
Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def begun() -> RunMetrics:
    metrics = RunMetrics()
    metrics.begin_run(replace(header(planner()), name="shop", policy_settings={"ahead_s": 120.0}))
    return metrics


def samples(metrics: RunMetrics) -> Samples:
    """Name and labels, but the application's -> value."""
    return {
        (one.name, tuple(sorted((key, value) for key, value in one.labels.items() if key != "application"))): one.value
        for family in text_string_to_metric_families(metrics.scrape().decode())
        for one in family.samples
    }


def test_all_that_is_told_is_in_the_page_about_it_and_nothing_else() -> None:
    metrics, told = begun(), set[str]()
    for one in run(looks=10, late=0.5):
        now = one.observation
        assert now is not None
        full = replace(
            now.queries[0],
            name="clicks",
            trigger=Trigger(interval_s=10.0),
            state=KeyedState(bytes=Reading(1e6, now.at_s)),
            finished=FinishedBatch(
                id=one.number,
                started_s=now.at_s - 3,
                ended_s=now.at_s,
                rows=1000 + 100 * one.number,
                busy_s=1 + 0.1 * one.number,
                driver_s=0.1,
            ),
            sources=(
                replace(now.queries[0].sources[0], partition_backlogs=(1.0, 3.0), backlog_age_s=Reading(3, now.at_s)),
            ),
        )
        pools = (replace(now.pools[0], busy_slot_s=Reading(3.0 * now.at_s, now.at_s)),)
        note = Adjustment(guard="step-limit", pool="executors", before=9, after=8, reason="x")
        limit = Bottleneck(kind="hot-key", query=full.id, sentence="x", useful_slots=1)
        metrics.write(
            replace(
                one,
                observation=replace(now, queries=(full,), pools=pools, cluster_workers=12),
                decision=Decision(
                    allocation={"executors": 8}, reason="x", adjustments=(note,), evidence={"clicks/lasting_rps": 900.0}
                ),
                bottlenecks=(limit,),
                troubles=("apply failed: no room",),
            )
        )
        told |= {re.sub(r"_(bucket|count|sum)$", "", name) for name, _ in samples(metrics)}
    metrics.write(kept(10, look(20.0, wanted=8, ready=8)))
    metrics.write(tick(11, look(25.0), Decision.hold(look(25.0), "the backlog is not known")))
    told |= {re.sub(r"_(bucket|count|sum)$", "", name) for name, _ in samples(metrics)}

    assert told == METRICS.keys()


def test_the_page_about_it_says_of_each_what_the_answer_says() -> None:
    rows = re.findall(r"^\| `(elastream_\w+)` \| ([^|]*)\| ([^|]*) \|$", DOCS.read_text(encoding="utf-8"), re.M)

    told = {
        name: (
            ", ".join(one.labels),
            f"{'histogram: ' * (one.kind == 'histogram')}{one.says[0].lower()}{one.says[1:-1]}",
        )
        for name, one in METRICS.items()
    }
    assert {name: (labels.strip(), says) for name, labels, says in rows} == told


def test_series_of_a_query_end_with_it() -> None:
    metrics = begun()
    metrics.write(kept(1, look(5.0, query(5.0, name="a"), query(5.0, name="b"))))
    assert ("elastream_backlog_records", (("query", "b"),)) in samples(metrics)

    metrics.write(kept(2, look(10.0, query(10.0, name="a"))))

    assert not [name for name, labels in samples(metrics) if ("query", "b") in labels]


def test_what_is_unknown_has_no_sample() -> None:
    metrics = begun()
    metrics.write(kept(1, look(5.0, query(5.0, p95_s=None))))

    assert not [name for name, _ in samples(metrics) if name == "elastream_delay_seconds"]


def test_decisions_are_counted_by_what_they_do() -> None:
    metrics = begun()
    for one in (*calm([1, 2]), grown(3), grown(4, to=1)):
        metrics.write(one)
    metrics.write(tick(5, look(25.0), Decision.hold(look(25.0), "unknown")))

    found = {
        labels[0][1]: value for (name, labels), value in samples(metrics).items() if name == "elastream_decisions_total"
    }
    assert found == {"keep": 2, "grow": 1, "shrink": 1, "hold": 1}


def test_a_change_takes_until_all_are_there() -> None:
    metrics = begun()
    metrics.write(grown(1))
    metrics.write(kept(2, look(10.0, wanted=5, ready=3)))
    metrics.write(kept(3, look(15.0, wanted=5, ready=5)))

    assert samples(metrics)["elastream_scaling_duration_seconds_sum", (("action", "grow"),)] == 10.0


def test_executors_cost_while_they_are_paid_for_and_the_promise_breaks_while_it_is_broken() -> None:
    metrics = begun()
    late = look(10.0, query(10.0, p95_s=40.0), wanted=3, ready=3)
    for one in (*calm([1]), kept(2, late), *calm([4])):
        metrics.write(one)

    found = samples(metrics)
    # 5 s of two, then 10 s of three while records are late.
    assert found["elastream_executor_seconds_total", ()] == 40.0
    assert found["elastream_slo_violation_seconds_total", ()] == 10.0


def test_nobody_looking_is_degraded_and_sizes_of_before_are_not_told_as_if_they_were_seen() -> None:
    metrics = begun()
    metrics.write(calm([1])[0])
    metrics.write(tick(2, None, None, "no look: the driver does not answer"))

    found = samples(metrics)
    assert found["elastream_degraded", ()] == 1.0
    assert found["elastream_errors_total", (("stage", "look"),)] == 1.0
    assert ("elastream_executors_ready", ()) not in found


@pytest.mark.parametrize("name", ['a"} 1\nelastream_paused 1', "back\\slash", "größer", "\x00"])
def test_a_name_of_others_stays_a_label(name: str) -> None:
    metrics = begun()
    metrics.write(kept(1, look(5.0, query(5.0, name=name))))

    assert ("elastream_backlog_records", (("query", name),)) in samples(metrics)
    assert samples(metrics)["elastream_paused", ()] == 0.0


def test_the_application_is_called_by_its_name() -> None:
    metrics = begun()
    metrics.write(calm([1])[0])

    assert 'elastream_ticks_total{application="shop"}' in metrics.scrape().decode()


def test_two_queries_of_one_name_have_series_of_their_own() -> None:
    metrics = begun()
    pair = (query(5.0), replace(query(5.0), id="f00dcafe-2"))
    metrics.write(kept(1, look(5.0, *pair)))

    found = {dict(labels)["query"] for name, labels in samples(metrics) if name == "elastream_backlog_records"}
    assert found == {"clicks", "clicks (f00dcafe)"}


def test_batches_of_a_query_are_forgotten_with_it() -> None:
    metrics = begun()
    for number in (1, 2, 3):
        done = FinishedBatch(id=number, started_s=0.0, ended_s=4.0)
        metrics.write(kept(number, look(5.0 * number, replace(query(5.0 * number), finished=done))))
    assert samples(metrics)["elastream_batch_duration_seconds_count", (("query", "clicks"),)] == 2.0

    metrics.write(kept(4, look(20.0, query(20.0, name="other"))))

    assert not [name for name, labels in samples(metrics) if ("query", "clicks") in labels]


@pytest.mark.parametrize(
    ("now", "reason", "label"),
    [
        (None, "no look at spark: gone", "look"),
        (look(5.0), "the arrival rate is not known", "unknown"),
        (replace(look(5.0), lacks={Signal.WORKER_CPU: "events were lost"}), "it needs: events were lost", "lack"),
        (look(5.0), "planning failed: ZeroDivisionError", "failure"),
    ],
)
def test_holds_are_counted_by_what_is_missing(now: Observation | None, reason: str, label: str) -> None:
    metrics = begun()
    metrics.write(tick(1, now, Decision.hold(look(5.0), reason)))

    assert samples(metrics)["elastream_holds_total", (("reason", label),)] == 1.0


def test_late_records_never_become_fewer() -> None:
    metrics = begun()
    for number, (records, within) in enumerate([(100.0, 80.0), (95.0, 80.0)], 1):
        one = replace(query(5.0 * number), on_time=OnTime(records=records, within=within))
        metrics.write(kept(number, look(5.0 * number, one)))

    assert samples(metrics)["elastream_late_records_total", (("query", "clicks"),)] == 20.0


def test_the_rate_to_prepare_for_is_told_with_how_far_the_policy_looks() -> None:
    metrics = begun()
    now = look(5.0)
    metrics.write(tick(1, now, Decision.keep(now, "x", {"clicks/lasting_rps": 700.0, "clicks/arrival_rps": 100.0})))

    key = "elastream_forecast_records_per_second", (("horizon", "120"), ("query", "clicks"))
    assert samples(metrics)[key] == 700.0
