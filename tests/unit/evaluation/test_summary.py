"""The numbers of a run: what holds until when, and what unknown counts for."""

from collections.abc import Iterable
from dataclasses import replace

import pytest

from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.core.tick import Tick
from elastream.evaluation.series import RunSeries
from elastream.evaluation.summary import Summary, summarise
from tests.unit.journal_samples import tick
from tests.unit.page_samples import kept, look, query

HOUR_S = 3600.0


def found(ticks: Iterable[Tick], *, tick_s: float = 5.0) -> Summary:
    series = RunSeries(tick_s=tick_s)
    for one in ticks:
        series.update(one)
    return summarise(series)


def late(at_s: float, p95_s: float | None) -> Observation:
    return look(at_s, query(at_s, p95_s=p95_s))


def test_a_number_holds_until_the_next_look_and_the_last_one_for_no_time() -> None:
    # A loop that is late by two ticks has looked all the same.
    summary = found(kept(n, look(at_s, ready=ready)) for n, (at_s, ready) in enumerate([(0, 2), (5, 4), (17, 8)]))
    assert summary.worker_hours_ready == pytest.approx((5 * 2 + 12 * 4) / HOUR_S)
    assert summary.mean_workers == pytest.approx(58 / 17)
    assert summary.max_workers == 8


def test_time_in_which_the_slo_is_unknown_is_neither_kept_nor_broken() -> None:
    # 5 s within, 5 s unknown, 10 s beyond.
    summary = found(
        kept(n, late(at_s, p95_s)) for n, (at_s, p95_s) in enumerate([(0, 4), (5, None), (10, 40), (20, 4)])
    )
    assert summary.time_within_slo == pytest.approx(5 / 15)


def test_time_within_the_slo_is_time_and_not_looks() -> None:
    ticks = [kept(n, late(float(n), 4.0)) for n in range(10)]
    ticks += [kept(n, late(9.0 + 5.0 * (n - 9), 40.0)) for n in range(10, 12)]
    assert found(ticks).time_within_slo == pytest.approx(14 / 19)


def test_before_a_second_look_there_is_a_size_and_no_share_of_time() -> None:
    summary = found([kept(1, look(5.0, ready=3))])
    assert (summary.mean_workers, summary.max_workers, summary.worker_hours_paid) == (3, 3, 0.0)
    assert (summary.time_within_slo, summary.records_within_slo, summary.slo_kept) == (None, None, None)


def test_of_a_run_that_was_never_seen_nothing_is_known() -> None:
    summary = found(tick(n, None, None, "no look") for n in range(1, 4))
    assert (summary.ticks, summary.actions, summary.holds) == (3, 0, 0)
    nothing = (summary.mean_workers, summary.worker_hours_paid, summary.worker_hours_ready, summary.last_backlog)
    assert nothing == (None, None, None, None)


def test_holds_are_looks_at_which_something_was_unknown() -> None:
    now = look(5.0)
    held = [tick(n, replace(now, at_s=5.0 * n), Decision.hold(now, "no rate")) for n in range(1, 4)]
    # A look that failed restates the last decision: nobody was asked.
    assert found([*held, tick(4, None, Decision.hold(now, "no look"), "no look")]).holds == 3
