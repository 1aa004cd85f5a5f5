"""What was lost on the way from Spark to us is told, and what it affects is unknown instead of too low."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.observation import Observation, Query
from elastream.core.readings import readings
from elastream.core.signals import Signal
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from elastream.spark.observe.losses import ADDED_UP, Losses
from elastream.spark.observe.observer import PROVIDES
from tests.unit.spark.reading import fold, lines, observing

RECORDING = "windowed"


def counting(**counts: int) -> Snapshot:
    return parse_snapshot(json.dumps({"at_ms": 1_000, **counts}))


def looked(*, lossy: dict[int, dict[str, Any]], name: str = RECORDING) -> Iterator[tuple[int, Observation]]:
    """A recording in which the JVM counts losses from some look on."""
    observer, counts = observing(), dict[str, Any]()
    first_s = None
    for number, line in enumerate(lines(name)):
        counts |= lossy.get(number, {})
        look = parse_snapshot(json.dumps({**line["look"], **counts}))
        first_s = look.utc_s if first_s is None else first_s
        yield number, fold(observer, look, 1_000.0 + look.utc_s - first_s)


def known(now: Observation) -> set[Signal]:
    return {signal for signal, _, reading in readings(now) if reading is not None}


def only(now: Observation) -> Query:
    (query,) = now.queries
    return query


@pytest.mark.parametrize("kind", ["dropped", "lost", "failures"])
def test_readings_are_unknown_in_the_look_that_finds_a_loss_and_in_no_other(kind: str) -> None:
    sound = {number: known(now) for number, now in looked(lossy={})}
    for number, now in looked(lossy={8: {kind: 3}, 12: {kind: 5}}):
        if number in (8, 12):
            assert known(now).isdisjoint(ADDED_UP)
            assert set(ADDED_UP) <= now.lacks.keys()
            assert Signal.COMMITTED in known(now) or Signal.COMMITTED not in sound[number]
        elif Signal.DRIVER_TIME not in now.lacks:
            assert known(now) == sound[number], number
            assert now.lacks.keys() <= {Signal.WORKER_MEMORY}


def test_what_was_dropped_before_we_listened_and_what_is_missed_a_minute_after_it_was_dropped_is_no_new_loss() -> None:
    losses = Losses()
    assert not losses.update(counting(dropped=7), 0, 0.0)
    assert losses.update(counting(dropped=9), 0, 5.0)
    assert not losses.update(counting(dropped=9, lost=2), 0, 70.0)
    assert losses.update(counting(dropped=9, lost=11), 0, 75.0)
    assert losses.troubles() == (
        "events of Spark were lost in the last minute, 2 never came: records and busy time of operators and executors "
        "are not known for that time",
    )


def test_losses_are_told_in_one_sentence_for_a_minute_after_the_last() -> None:
    losses = Losses()
    losses.update(counting(), 0, 0.0)
    assert losses.update(counting(dropped=4), 0, 5.0)
    assert losses.update(counting(dropped=5, failures=1), 2, 10.0)
    (told,) = losses.troubles()
    assert told.startswith("events of Spark were lost in the last minute, 5 were dropped from its full queue")
    assert "1 could not be read, 2 parts of looks made no sense: records" in told
    assert not losses.update(counting(dropped=5, failures=1), 2, 69.0)
    assert losses.troubles()
    losses.update(counting(dropped=5, failures=1), 2, 71.0)
    assert losses.troubles() == ()


def test_a_query_that_could_not_be_asked_is_told_and_no_gap() -> None:
    losses = Losses()
    seen = replace(counting(query_failures=2), failure="NoSuchMethodException")
    assert not losses.update(seen, 0, 5.0)
    assert losses.troubles() == (
        "queries could not be asked 2 times in the last minute (NoSuchMethodException): lag may be old",
    )


def test_parts_of_a_look_that_make_no_sense_are_a_loss() -> None:
    for number, now in looked(lossy={8: {"stages": [{"stage": "x"}]}}):
        assert bool(now.troubles) is (number >= 8)


def test_the_cost_of_a_batch_of_which_events_were_lost_is_unknown_and_that_of_the_next_is_known() -> None:
    batches = {}
    for number, now in looked(lossy={8: {"dropped": 1}}):
        batch, running = only(now).finished, only(now).running
        if number == 8:
            last = running.id if running is not None else batch.id if batch is not None else -1
        if number >= 8 and batch is not None:
            batches[batch.id] = batch
            if batch.id <= last:
                assert (batch.busy_s, batch.critical_s, batch.driver_s, batch.longest) == (None, None, None, None)
            else:
                assert batch.busy_s is not None
                assert batch.driver_s is not None
    assert min(batches) <= last < max(batches)


def test_no_rate_is_told_across_a_loss() -> None:
    planner = Planner(policies.build("lag-proportional", {}), {}, PROVIDES)
    for number, now in looked(lossy={32: {"dropped": 100}}):
        planner.plan(now)
        works = only(now).operators
        rates = [planner.known.rate(Signal.BUSY_TIME, f"{only(now).id}/{work.name}", 60.0) for work in works]
        assert number != 31 or any(rates)
        # Two looks are needed for a rate.
        assert number not in (32, 33) or rates == [None] * len(works)


@pytest.mark.parametrize("policy", ["lag-proportional", "ds2", "flink-autoscaler", "varga"])
def test_a_policy_that_needs_what_was_lost_holds_on_that_look_and_says_so(policy: str) -> None:
    planner = Planner(policies.build(policy, {}), {}, PROVIDES)
    for number, now in looked(lossy={12: {"dropped": 100}}):
        decision = planner.plan(now).decision
        if number == 12:
            assert decision.kind == "hold"
            assert decision.reason.endswith("which cannot be told now: events of Spark were lost")


def test_ds2_measures_no_interval_across_a_loss() -> None:
    planner = Planner(policies.build("ds2", {"interval_s": 5.0}), {}, PROVIDES)
    for number, now in looked(lossy={12: {"dropped": 100}}):
        planner.plan(now)
        if number == 12:
            assert planner.remember().memory["began"] is None
