"""Whether a rate is sustained, from what was recorded."""

from dataclasses import replace

import pytest

from elastream.experiments.scalability.probe import ProbeMoment, ProbeTerms, ProbeVerdict, judge_probe
from tests.unit.experiments.scalability.probes import batches_of

TERMS = ProbeTerms(rate_rps=1_000.0, workers=2, cores=2)


def judge_live(moments: list[ProbeMoment], terms: ProbeTerms = TERMS) -> tuple[ProbeVerdict, float]:
    """As a probe is judged while it runs: the first verdict that is final, and when it was given."""
    for count in range(11, len(moments) + 1, 10):
        verdict = judge_probe(moments[:count], terms)
        if verdict.is_final:
            return verdict, moments[count - 1].at_s
    return verdict, moments[-1].at_s


def test_a_job_with_room_is_sustained_and_that_is_said_late() -> None:
    verdict, at_s = judge_live(batches_of(1_000.0, 1_500.0))
    assert verdict.state == "sustained", verdict
    assert at_s == TERMS.end_s


def test_a_job_that_falls_behind_is_told_early() -> None:
    verdict, at_s = judge_live(batches_of(1_000.0, 700.0, fixed_s=0.1, used=lambda at_s: 1.0))
    assert verdict.state == "unsustained"
    assert verdict.reason.startswith("each of the last 3 batches left more behind than the one before")
    assert at_s < TERMS.end_s / 2


def test_batches_under_a_read_limit_that_fall_behind_are_told_by_their_slope() -> None:
    moments = [
        ProbeMoment(at_s=float(at), arrived=1_000.0 * at, committed=900.0 * (at - at % 5), executors=2)
        for at in range(361)
    ]
    verdict, at_s = judge_live(moments)
    assert verdict.reason == "backlog grows by 10.0% of the rate, at least 10.0%"
    assert at_s < TERMS.end_s / 2


def test_a_start_that_takes_long_is_no_growth_once_it_is_caught_up_with() -> None:
    moments = batches_of(1_000.0, 1_600.0, stall_s=25.0, catch_up=True)
    verdict, _ = judge_live(moments, replace(TERMS, processor=0.9))
    assert verdict.state == "sustained", verdict


def test_growth_that_ends_is_a_start_and_no_limit() -> None:
    # For over a minute a tenth is left behind, then all of it is worked off.
    moments = [
        ProbeMoment(
            at_s=float(at), arrived=1_000.0 * at, executors=2,
            committed=1_000.0 * at - 100 * (min(at - at % 5, 70) if at < 150 else max(0, 70 - 8 * (at - 150))),
        )
        for at in range(361)
    ]  # fmt: skip
    assert judge_live(moments, replace(TERMS, delay_s=30.0))[0].state == "sustained"


def test_median_delay_is_that_of_records_and_those_that_wait_count_with_the_time_they_waited() -> None:
    slow = batches_of(1_000.0, 3_000.0, fixed_s=14.0)
    verdict, at_s = judge_live(slow)
    assert verdict.state == "unsustained"
    assert "median delay" in verdict.reason
    # Before half of all records that will come have been late, none can know that the median will be.
    assert TERMS.warm_up_s + TERMS.accept_after_s / 2 < at_s < TERMS.end_s
    assert judge_live(slow, replace(TERMS, delay_s=60.0))[0].state == "sustained"


def test_a_batch_that_never_ends_is_late_though_nothing_is_committed() -> None:
    stuck = [replace(one, committed=0.0, used_cores=0.1) for one in batches_of(1_000.0, 2_000.0)]
    verdict, _ = judge_live(stuck)
    assert verdict.state == "unsustained"
    assert "median delay" in verdict.reason


def test_processors_that_are_busier_than_they_may_be_are_a_limit_by_themselves() -> None:
    moments = batches_of(1_000.0, 2_000.0, used=lambda at_s: 1.8)
    verdict, at_s = judge_live(moments)
    assert verdict.state == "unsustained"
    assert verdict.reason == "executors use 90% of their processors, bound 80%"
    assert at_s < TERMS.end_s
    assert judge_live(moments, replace(TERMS, processor=0.95))[0].state == "sustained"


def test_processors_that_are_busy_at_first_only_are_none() -> None:
    verdict, _ = judge_live(batches_of(1_000.0, 2_000.0, used=lambda at_s: 2.0 if at_s < 120 else 1.0))
    assert verdict.state == "sustained"


def test_a_host_that_others_filled_is_no_limit_of_the_job() -> None:
    behind = batches_of(1_000.0, 700.0, used=lambda at_s: 1.2, host_cores=1.98)
    assert judge_live(behind, replace(TERMS, host_cores=2))[0].state == "invalid"
    assert judge_live(behind, replace(TERMS, host_cores=8))[0].state == "unsustained"


def test_a_host_that_executors_filled_is_their_limit() -> None:
    busy = batches_of(1_000.0, 700.0, used=lambda at_s: 1.9, host_cores=2.0)
    assert judge_live(busy, replace(TERMS, host_cores=2))[0].state == "unsustained"


def test_a_full_host_on_which_a_rate_was_sustained_all_the_same_is_no_reason_to_doubt_it() -> None:
    fine = batches_of(1_000.0, 1_500.0, used=lambda at_s: 1.2, host_cores=2.0)
    assert judge_live(fine, replace(TERMS, host_cores=2))[0].state == "sustained"


def test_a_producer_that_lags_is_told_as_what_it_is() -> None:
    lagging = [replace(one, arrived=0.8 * one.arrived, committed=0.8 * one.committed)
               for one in batches_of(1_000.0, 2_000.0)]  # fmt: skip
    verdict, _ = judge_live(lagging)
    assert verdict.state == "invalid"
    assert verdict.reason == "the producer wrote 80% of the load: it is the limit, not the job"


def test_an_executor_that_comes_back_is_forgiven_and_a_cluster_that_shrank_is_not() -> None:
    def without(moments: list[ProbeMoment], until_s: float) -> list[ProbeMoment]:
        return [replace(one, executors=1) if 100 < one.at_s <= until_s else one for one in moments]

    fine = batches_of(1_000.0, 1_500.0)
    assert judge_live(without(fine, 130.0))[0].state == "sustained"
    verdict, at_s = judge_live(without(fine, 400.0))
    assert (verdict.state, at_s) == ("broken", 160.0)
    assert verdict.reason == "the cluster has 1 of 2 executors for 1m"


def test_a_few_batches_say_nothing_and_the_probe_goes_on_for_more() -> None:
    # A batch a minute.
    moments = [
        ProbeMoment(at_s=float(at), arrived=1_000.0 * at, committed=1_000.0 * (at - at % 60), executors=2)
        for at in range(700)
    ]
    terms = replace(TERMS, delay_s=60.0, interval_s=60.0)
    verdict, at_s = judge_live(moments, terms)
    assert verdict.state == "sustained", verdict
    assert terms.end_s < at_s < terms.patience_s
    few = replace(terms, accept_after_s=120.0)
    unclear, _ = judge_live(moments, few)
    assert unclear.state == "unsustained"
    assert unclear.reason.startswith("only 4 batches in 4m")


@pytest.mark.parametrize("capacity", [1_040.0, 1_100.0, 1_300.0, 3_000.0])
def test_a_little_room_is_room(capacity: float) -> None:
    moments = batches_of(1_000.0, capacity, fixed_s=0.2, duration_s=660, used=lambda at_s: 1.0)
    verdict, _ = judge_live(moments, replace(TERMS, delay_s=30.0))
    assert verdict.state == "sustained", verdict


@pytest.mark.parametrize("capacity", [500.0, 800.0, 900.0, 960.0])
def test_a_little_too_little_is_too_little(capacity: float) -> None:
    moments = batches_of(1_000.0, capacity, fixed_s=0.2, duration_s=660, used=lambda at_s: 1.0)
    verdict, _ = judge_live(moments, replace(TERMS, delay_s=30.0))
    assert verdict.state == "unsustained", verdict


def test_every_verdict_has_its_evidence() -> None:
    verdict, _ = judge_live(batches_of(1_000.0, 1_500.0, host_cores=1.0))
    assert verdict.evidence["growth_high"] <= 0.01  # type: ignore[operator]
    assert {"seconds", "median_delay_s", "processor", "host_cores", "delivered"} <= verdict.evidence.keys()
