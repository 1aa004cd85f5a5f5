"""Phoebe makes a profile in place: what it measures at a size, and when it stops."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.observation import Delay, Observation, Reading
from elastream.core.slo import Slo
from elastream.loop.planner import Planner
from elastream.policies.phoebe.policy import Phoebe
from elastream.policies.phoebe.profiling import InPlace
from elastream.policies.phoebe.trial import Trial, Watching, begin, follow, row_of
from elastream.testing import POOL, delay, size
from tests.unit.policies.observing import EVERYTHING, Dataflow, Doing

HOLD_S = 120.0
HOW = Watching(settle_s=20.0, full_cpu=1.0)


def watched(flow: Dataflow, how: Watching = HOW) -> Trial:
    trial = begin(flow.looks[0], flow.shared or 0)
    for look in flow.looks[1:]:
        trial = follow(trial, look, look.queries, how)
    return trial


def row(flow: Dataflow, how: Watching = HOW) -> list[float] | None:
    return row_of(watched(flow, how), flow.now.queries, how)


def in_batches(rows: float, seconds: float, every_s: float = 10.0, number: int = 12, driver_s: float = 0.2) -> Dataflow:
    """Batches that commit in lumps, seen every five seconds, with the delay known."""
    flow = Dataflow(
        Doing("count", in_rps=0.0, arrival_rps=rows / every_s, cpu=0.9), shared=4, tick_s=5.0, trigger_s=10.0
    )
    for _ in range(number):
        flow.passes(every_s)
        flow.totals["count", "in"] += rows
        flow.batch(seconds, rows=rows)
        assert flow.finished is not None
        flow.finished = replace(flow.finished, driver_s=driver_s)
        flow.looks[-1] = late(flow._look(), 2.0)
    return flow


def late(look: Observation, seconds: float | None) -> Observation:
    """The same look with a delay."""
    known: Delay | None = None if seconds is None else delay(look.at_s, seconds)
    return replace(look, queries=tuple(replace(query, delay=known) for query in look.queries))


def test_a_batch_says_what_its_size_can_take_in_by_the_time_that_its_rows_need_of_a_trigger() -> None:
    # 4.9 s of 9.8 s are needed for 50,000 rows every ten seconds, and the driver needs 0.2 s whatever they are.
    assert row(in_batches(50_000, 5.1)) == pytest.approx([4.0, 5_000.0, 10_000.0, 2.0], rel=0.02)


def test_a_job_that_falls_behind_takes_in_what_it_commits_from_one_batch_to_the_next() -> None:
    """A batch of 20 s commits in one look; from look to look that is four times its rate for 5 s, and nothing else."""
    found = row(in_batches(100_000, 20.0, every_s=20.0, driver_s=0.0))
    assert found == pytest.approx([4.0, 5_000.0, 5_000.0, 2.0], rel=0.05)


def test_a_batch_that_began_at_another_size_does_not_count_and_neither_does_what_came_before_it_settled() -> None:
    early = in_batches(50_000, 6.0, number=2)
    settled = watched(early, Watching(settle_s=15.0, full_cpu=1.0))
    assert settled["queries"]["q"]["rows"] == 0.0
    assert watched(early, Watching(settle_s=60.0, full_cpu=1.0))["queries"]["q"]["rows"] == 100_000.0


def test_of_a_continuous_job_that_keeps_up_the_busiest_worker_tells_and_of_one_that_does_not_what_it_takes_in() -> None:
    def flow(**doing: Any) -> Dataflow:
        made = Dataflow(Doing("count", in_rps=3_000.0, **doing), shared=2, tick_s=5.0)
        made.passes(60.0)
        made.looks[-1] = late(made.now, 1.0)
        return made

    assert row(flow(cpu=(0.6, 0.3))) == pytest.approx([2.0, 3_000.0, 5_000.0, 1.0])
    assert row(flow(cpu=(0.6, 0.3)), Watching(20.0, 0.9)) == pytest.approx([2.0, 3_000.0, 4_500.0, 1.0])
    assert row(flow(cpu=(0.6, 0.3), arrival_rps=6_000.0)) == pytest.approx([2.0, 6_000.0, 3_000.0, 1.0])
    # Where the processors' use is hidden, that of the slots serves.
    assert row(flow(cpu=None, busy=0.75)) == pytest.approx([2.0, 3_000.0, 4_000.0, 1.0])


class Job:
    """Twelve workers at most, of which each takes in 1,000/s; what a policy decides becomes so at once."""

    def __init__(self, rps: float, *, start: int = 5, slo_s: float | None = None, **policy: Any) -> None:
        self.rps, self.workers, self.slo_s = rps, start, slo_s
        self.planner = Planner(Phoebe(**{"choose_s": HOLD_S, "settle_s": 30.0, **policy}), {}, EVERYTHING)
        self.flow = Dataflow(Doing("count"), shared=start, most=12, tick_s=15.0)
        self.made: list[Decision] = []
        self.age_s: Callable[[int], float] = lambda workers: 2.0
        self.seen: Callable[[Observation], Observation] = lambda look: look

    def runs(self, for_s: float) -> list[int]:
        """Let it go on; the sizes that were decided, each told once."""
        until_s, began = self.flow.at_s + for_s, len(self.made)
        while self.flow.at_s < until_s:
            taken = min(self.rps, 1_000.0 * self.workers)
            self.flow.passes(
                15.0, count={"arrival_rps": self.rps, "in_rps": taken, "cpu": taken / 1_000 / self.workers}
            )
            decision, troubles, _ = self.planner.plan(self.seen(self._look()))
            assert not troubles
            self.workers = size(decision)
            self.flow.resized(executors=self.workers)
            self.made.append(decision)
        sizes = [size(decision) for decision in self.made[began:]]
        return [one for number, one in enumerate(sizes) if number == 0 or one != sizes[number - 1]]

    def _look(self) -> Observation:
        look = late(self.flow.now, self.age_s(self.workers))
        slo = None if self.slo_s is None else Slo(delay_s=self.slo_s, share=0.99)
        return replace(look, queries=tuple(replace(query, slo=slo) for query in look.queries))


def rows(job: Job) -> dict[float, float]:
    found = job.planner.snapshot()["memory"]["profiling"]["rows"]
    return {row[0]: row[2] for row in found}


def test_the_greatest_size_comes_first_and_each_is_held_for_its_time() -> None:
    job = Job(1_500.0)
    assert job.runs(HOLD_S * 6)[:5] == [5, 12, 9, 6, 3]
    asked = [decision.note.get("profiling") for decision in job.made]
    held = [asked.count(workers) * 15.0 for workers in (12, 9, 6, 3)]
    assert all(HOLD_S <= seconds <= HOLD_S + 30 for seconds in held)
    assert rows(job) == pytest.approx({12.0: 12_000.0, 9.0: 9_000.0, 6.0: 6_000.0, 3.0: 3_000.0}, rel=0.05)
    assert job.made[-1].evidence["profiling_worker_h"] == pytest.approx((12 + 9 + 6 + 3) * HOLD_S / 3600, rel=0.2)
    assert size(job.made[-1]) == job.made[-1].allocation[POOL]


def test_profiling_costs_what_is_paid_for_and_workers_on_their_way_are() -> None:
    job = Job(1_500.0, start=12)
    job.seen = lambda look: replace(
        look, pools=tuple(replace(pool, requested=pool.ready + 3, leaving=1) for pool in look.pools)
    )
    job.runs(HOLD_S / 2)
    intervals = len(job.made) - 1
    assert job.made[-1].evidence["profiling_worker_h"] == pytest.approx(16 * intervals * 15 / 3600)


def test_a_size_that_is_not_expected_to_keep_up_is_not_tried() -> None:
    job = Job(7_000.0)
    job.runs(HOLD_S * 5)
    assert {decision.note.get("profiling") for decision in job.made} - {None} == {12, 9}
    reasons = [decision.reason for decision in job.made]
    assert any("6 workers are not expected to take in 7,000/s, and are not profiled" in reason for reason in reasons)
    assert job.workers >= 8


def test_a_size_that_endangers_what_was_promised_is_given_up_at_once_and_smaller_ones_are_not_tried() -> None:
    job = Job(1_500.0, slo_s=30.0)
    job.age_s = lambda workers: 45.0 if workers == 6 else 5.0
    job.runs(HOLD_S * 5)
    held = [decision.note.get("profiling") for decision in job.made]
    assert held.count(6) <= 2
    assert 3 not in held
    assert any("6 workers endanger what was promised" in decision.reason for decision in job.made)
    # Without an SLO the promise is the recovery target.
    other = Job(1_500.0)
    other.age_s = job.age_s
    other.runs(HOLD_S * 5)
    assert 3 in [decision.note.get("profiling") for decision in other.made]


def test_while_results_are_late_at_the_greatest_size_no_smaller_one_is_tried() -> None:
    job = Job(1_500.0, slo_s=30.0)
    job.age_s = lambda workers: 45.0
    assert job.runs(HOLD_S * 4) == [5, 12]
    assert "9 workers are not profiled while results are later than promised" in job.made[-1].reason
    job.age_s = lambda workers: 5.0
    assert 9 in job.runs(60)


def test_delays_that_nobody_knows_any_more_do_not_make_it_hold_at_a_size_that_was_only_tried() -> None:
    """Batches have outgrown the window of delays; how long the oldest record waits is known and grows."""
    job = Job(1_500.0)
    job.runs(HOLD_S * 2.6)
    assert job.workers == 6
    waited = [150.0]

    def silent(look: Observation) -> Observation:
        waited[0] += 15.0 if job.workers == 6 else -waited[0]
        query = late(look, None).queries[0]
        source = replace(query.sources[0], backlog_age_s=Reading(waited[0], look.at_s))
        return replace(look, queries=(replace(query, sources=(source,)),))

    job.seen = silent
    job.runs(60)
    assert job.workers > 6
    assert all(decision.kind != "hold" for decision in job.made[-4:])
    assert any("6 workers endanger what was promised" in decision.reason for decision in job.made[-4:])


def test_where_what_arrives_is_not_known_any_more_it_goes_back_to_the_greatest_size_and_goes_on_after_that() -> None:
    job = Job(1_500.0)
    job.runs(HOLD_S * 2.6)
    assert job.workers == 6

    def silent(look: Observation) -> Observation:
        query = look.queries[0]
        return replace(look, queries=(replace(query, sources=(replace(query.sources[0], arrived=None),)),))

    job.seen = silent
    assert job.runs(60) == [12]
    assert "arrival rate of q is not known: 6 workers are not profiled meanwhile" in job.made[-1].reason
    job.seen = lambda look: look
    assert job.runs(60) == [6]


def test_before_a_delay_was_known_and_while_nothing_arrives_nothing_is_profiled() -> None:
    job = Job(0.0)
    job.seen = lambda look: late(look, None)
    job.runs(60)
    assert (job.made[-1].kind, job.made[-1].reason) == (
        "hold",
        "the delay of no query is known, and there is no profile",
    )
    job.seen = lambda look: look
    assert job.runs(60) == [5]
    assert "nothing arrives" in job.made[-1].reason


def test_a_size_that_cannot_be_had_is_waited_for_as_long_as_one_is_held() -> None:
    job = Job(1_500.0)
    job.seen = lambda look: replace(look, pools=(replace(look.pools[0], ready=2),)) if job.workers > 9 else look
    assert job.runs(HOLD_S * 1.6)[:3] == [5, 12, 9]
    assert 12.0 not in rows(job)


def test_a_size_that_was_chosen_and_makes_results_late_does_not_wait_for_the_next_choice() -> None:
    job = Job(1_500.0)
    job.runs(HOLD_S * 6)
    chosen = job.workers
    job.rps = 6_000.0
    job.age_s = lambda workers: 300.0 if workers < 6 else 5.0
    job.runs(240)
    assert chosen < 6 <= job.workers


def test_it_goes_on_as_before_after_a_restart() -> None:
    job, other = Job(1_500.0), Job(1_500.0)
    job.runs(HOLD_S * 6)
    for _ in range(6):
        other.runs(HOLD_S)
        other.planner.restore(json.loads(json.dumps(other.planner.snapshot())))
    assert [size(decision) for decision in job.made] == [size(decision) for decision in other.made]


@pytest.mark.parametrize(("believed_rps", "measured_rps"), [(1_000.0, 4_000.0), (3_000.0, 3_000.0)])
def test_after_profiling_only_a_row_that_a_size_has_proven_wrong_is_measured_anew(
    believed_rps: float, measured_rps: float
) -> None:
    """Half busy with 2,000/s: it can do 4,000/s, which is news only where it was believed to be too small for that."""
    in_place = InPlace(sizes=4, hold_s=60.0, settle_s=15.0, full_cpu=1.0, promised_s=180.0)
    flow = Dataflow(Doing("count", in_rps=2_000.0, cpu=0.5), shared=4, tick_s=15.0)
    flow.passes(120.0)
    state: Any = {**in_place.start(), "over": "all sizes are profiled", "rows": [[4.0, 3_000.0, believed_rps, 1.0]]}
    for look in flow.looks:
        seen = late(look, 1.0)
        state = in_place.learn(state, seen, seen.queries, None, 2_000.0)
    assert state["rows"][0][2] == pytest.approx(measured_rps)


def test_a_size_that_was_chosen_and_falls_behind_is_measured_anew() -> None:
    in_place = InPlace(sizes=4, hold_s=600.0, settle_s=20.0, full_cpu=1.0, promised_s=180.0)
    flow = in_batches(200_000, 20.0, every_s=20.0, driver_s=0.0)
    state: Any = {**in_place.start(), "over": "all sizes are profiled", "rows": [[4.0, 3_000.0, 50_000.0, 1.0]]}
    for look in flow.looks:
        # Each batch leaves half of what came while it ran; more and more comes.
        query = look.queries[0]
        more = replace(query.sources[0], arrived=Reading(look.at_s * 10_000 * (1 + look.at_s / 1_000), look.at_s))
        seen = replace(look, queries=(replace(query, sources=(more,)),))
        state = in_place.learn(state, seen, seen.queries, None, 10_000.0)
    assert state["rows"][0][2] == pytest.approx(10_000.0, rel=0.05)
    assert state["fell_s"] is not None
