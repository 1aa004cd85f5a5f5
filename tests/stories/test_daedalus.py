"""Daedalus on a simulated job whose truth is known: what it can take in, and when it has caught up."""

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from elastream.core.tick import Tick
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.simulated import set_up_simulation
from elastream.experiments.store.tables import DecisionLog
from elastream.policies import policies
from elastream.simulator.continuous.assignment import loads
from elastream.simulator.continuous.model import (
    WARM,
    DataflowModel,
    Feed,
    LogModel,
    OperatorModel,
    RestartModel,
    own_pools,
)
from elastream.simulator.published import published
from elastream.simulator.run import Simulation
from elastream.workloads import parse_workload
from experiments.daedalus.recoveries import Moment, Recovery, list_changes, measure_recoveries

TARGET_S = 600.0


class Ticks:
    """Keeps every tick."""

    def __init__(self) -> None:
        self.all: list[Tick] = []

    def write(self, tick: Tick) -> None:
        self.all.append(tick)

    def close(self) -> None:
        pass


def counting(workers: int, *, hot_share: float = 0.0, cpu_noise: float = 0.0) -> DataflowModel:
    """Words are read and counted by key; a hot key gives one worker more than its share. 5,000/s per worker."""
    operators = (
        OperatorModel(name="read", after=(Feed("words"),), rate_rps=200_000.0),
        OperatorModel(name="count", after=(Feed("read"),), rate_rps=5_000.0, hot_share=hot_share, buffer=2_000.0),
    )
    calm = replace(WARM, max_workers=18, cpu_noise=cpu_noise)
    return DataflowModel(
        name="word-count",
        logs=(LogModel(name="words"),),
        operators=operators,
        pools=own_pools(operators, replace(calm, initial_workers=workers))
        | {"read": replace(calm, initial_workers=1, max_workers=2)},
        restart=RestartModel(grow_s=30.0, shrink_s=15.0, checkpoint_s=10.0),
    )


def run(
    model: DataflowModel, workload: str, policy: str, *, minutes: float, tick_s: float = 1.0, **settings: Any
) -> tuple[list[Tick], Any]:
    """All ticks, and what the policy remembers at the end."""
    ticks = Ticks()
    simulation = Simulation(
        model,
        parse_workload(workload),
        policies.build(policy, settings),
        name=policy,
        duration_s=minutes * 60,
        tick_s=tick_s,
        seed=7,
    )
    simulation.run([ticks])
    return ticks.all, simulation.planner.snapshot()["memory"]


def committed(tick: Tick) -> float:
    assert tick.observation is not None
    reading = tick.observation.queries[0].sources[0].committed
    assert reading is not None
    return reading.value


def true_capacity(model: DataflowModel) -> float:
    """What it takes in while far more is there."""
    ticks, _ = run(model, "constant(150k)", "fixed", minutes=3)
    return (committed(ticks[180]) - committed(ticks[120])) / 60


def sustained(model: DataflowModel, workers: int) -> float:
    """What it takes in without falling behind: a worker with more partitions than others is the first that does.

    Flooded, the others would go on at full use with what they have, so that true_capacity is more than that.
    """
    if model.logs[0].partitions is None:
        return true_capacity(model)
    return model.operators[0].rate_rps / max(loads(model.logs[0], workers))


JOBS = ("daedalus-wordcount", "daedalus-yahoo", "daedalus-traffic", "daedalus-kafka-streams")


@pytest.mark.parametrize("share", [0.4, 0.7, 0.9])
@pytest.mark.parametrize("hot_share", [0.0, 0.1, 0.3])
def test_after_one_loop_it_knows_within_a_twentieth_what_the_job_can_take_in(share: float, hot_share: float) -> None:
    model = counting(8, hot_share=hot_share, cpu_noise=0.03)
    truth = true_capacity(model)
    low, high = truth * share * 0.8, truth * share * 1.1
    for load in (f"constant({truth * share:.0f})", f"cosine({low:.0f}..{high:.0f}, period=8m)"):
        ticks, _ = run(model, load, "daedalus", minutes=1)
        decision = ticks[60].decision
        assert decision is not None
        assert decision.evidence["capacity_rps/count"] == pytest.approx(truth, rel=0.05)


@pytest.mark.parametrize("share", [0.5, 0.9])
@pytest.mark.parametrize("workers", [4, 7, 12, 18])
@pytest.mark.parametrize("job", JOBS)
def test_so_it_does_on_the_jobs_of_the_document_at_any_size(job: str, workers: int, share: float) -> None:
    # With a hot key on Flink, and with partitions that cannot be dealt out evenly on Kafka Streams.
    model = published(job)
    model = replace(model, pools={"workers": replace(model.pools["workers"], initial_workers=workers)})
    truth = sustained(model, workers)
    ticks, _ = run(model, f"constant({truth * share:.0f})", "daedalus", minutes=1)
    decision = ticks[60].decision
    assert decision is not None
    assert decision.evidence["capacity_rps/workers"] == pytest.approx(truth, rel=0.05)


def test_the_published_code_thinks_that_a_job_with_a_hot_key_can_do_much_more_than_it_can() -> None:
    model = counting(8, hot_share=0.3)
    truth = true_capacity(model)
    ticks, _ = run(model, f"constant({truth * 0.7:.0f})", "daedalus", minutes=1, skew="difference")
    decision = ticks[60].decision
    assert decision is not None
    assert decision.evidence["capacity_rps/count"] > 1.5 * truth  # type: ignore[operator]


def recoveries(ticks: list[Tick]) -> list[tuple[float, float]]:
    """Predicted and true times from each change of the counting workers until nothing waits any more."""
    changes = [n for n, tick in enumerate(ticks) if _changed(tick)]
    found = []
    for begin, end in pairwise([*changes, len(ticks)]):
        decision = ticks[begin].decision
        assert decision is not None
        predicted = decision.evidence["recovery_s/count"]
        over = next((tick.at_s for tick in ticks[begin + 1 : end] if _has_caught_up(tick)), None)
        # One that was overtaken by the next change has no end.
        if over is not None and isinstance(predicted, float):
            found.append((predicted, over - ticks[begin].at_s))
    return found


def _changed(tick: Tick) -> bool:
    assert tick.decision is not None
    assert tick.observation is not None
    return "count" in tick.decision.changes(tick.observation)


def _has_caught_up(tick: Tick) -> bool:
    assert tick.observation is not None
    query = tick.observation.queries[0]
    return query.phase != "restarting" and query.backlog is not None and query.backlog < 2_000 and not _in_flux(tick)


def _in_flux(tick: Tick) -> bool:
    assert tick.observation is not None
    return any(pool.in_flux for pool in tick.observation.pools)


def test_hours_of_waves_are_ridden_with_few_workers_and_recoveries_are_over_sooner_than_predicted() -> None:
    ticks, memory = run(counting(11), "cosine(5k..50k, period=60m)", "daedalus", minutes=180, tick_s=5.0)
    true = recoveries(ticks)
    assert len(true) >= 12
    assert sum(predicted >= took for predicted, took in true) >= 0.9 * len(true)
    measured = memory["recoveries"]
    assert len(measured) >= 12
    assert sum(predicted >= took for predicted, took in measured) >= 0.9 * len(measured)
    # Fewer than the twelve that the peak needs, and still all is taken in within the target.
    sizes = [tick.observation.pool("count").ready for tick in ticks if tick.observation is not None]
    assert sum(sizes) / len(sizes) < 9
    ages = [tick.observation.queries[0].sources[0].backlog_age_s for tick in ticks if tick.observation is not None]
    assert max(age.value for age in ages if age is not None) < TARGET_S


# The document's sine, with one of its two periods; its recordings are not shipped, so a day of taxi rides and one of
# requests stand for them.
LOADS = {
    "daedalus-wordcount": "sine(0..40k, period=3h)",
    "daedalus-kafka-streams": "sine(0..40k, period=3h)",
    "daedalus-yahoo": "trace(dsp_taxi_300s, baseline=78k, peak=52k, start=4d, stretch=0.125)",
    "daedalus-traffic": "trace(dsp_alibaba_300s, peak=66.6k, stretch=0.125)",
}


@cache
def evaluation(share: float) -> tuple[list[Recovery], float]:
    """Three hours of each job: all recoveries, and the workers of all jobs together. The same whoever asks."""
    found, workers = list[Recovery](), 0.0
    for job, load in LOADS.items():
        log, policy = DecisionLog(), policies.build("daedalus", {"share": share})
        simulation = Simulation(
            published(job), parse_workload(load), policy, name="daedalus", duration_s=3 * 3600, tick_s=5.0, seed=0
        )
        outcome = simulation.run([log])
        moments = [
            Moment(at - outcome.series.start, backlog, arrived)
            for at, backlog, arrived in zip(
                outcome.series.at, outcome.series.column("backlog"), outcome.series.column("arrived"), strict=True
            )
        ]
        decisions = [{**row, "evidence": json.loads(str(row["evidence"]))} for row in log.rows]
        found += measure_recoveries(moments, list_changes(decisions))
        workers += outcome.summary.mean_workers or 0.0
    return found, workers


def above(pairs: Iterable[tuple[float, float | None]]) -> tuple[int, int]:
    """How many were over no later than predicted, and of how many the end was seen."""
    known = [(predicted, took) for predicted, took in pairs if took is not None]
    return sum(predicted >= took for predicted, took in known), len(known)


def test_on_the_jobs_of_the_document_nine_of_ten_recoveries_are_measured_to_be_over_sooner_than_predicted() -> None:
    # Measured as the document does, by anomalies of the throughput.
    right, number = above((one.predicted_s, one.measured_s) for one in evaluation(share=0.0)[0])
    assert number > 50
    assert right >= 0.9 * number


@pytest.mark.full
def test_with_a_margin_for_what_is_to_come_so_are_they_in_truth_for_little_more() -> None:
    # In truth it is over when nothing waits any more. With the forecast alone that is sooner in three of four.
    (_, bare), (safe, workers) = evaluation(share=0.0), evaluation(share=0.5)
    right, number = above((one.predicted_s, one.true_s) for one in safe)
    assert number > 50
    assert right >= 0.9 * number
    assert workers < 1.2 * bare


def test_hpa_lags_where_a_frequent_key_fills_one_worker_and_the_mean_of_all_does_not_show_it() -> None:
    """Of 12 workers that can do no more the mean use is 82 % here, and HPA-85 grows above 93.5 %: from 5 workers on."""
    plan = multiply(read_plan(Path(__file__).parents[2] / "experiments" / "daedalus" / "hpa-and-skew.yaml"))
    experiments = {case.labels["model"]: case.experiment for case in plan.cases if case.labels["policy"] == "HPA-85"}
    skewed, even = (
        set_up_simulation(replace(experiments[label], duration_s=1.5 * 3600)).run()
        for label in ("2 % one key", "no frequent key")
    )
    assert skewed.exact is not None
    assert even.exact is not None
    assert (skewed.exact.delay_p95_s or 0) > 10 * (even.exact.delay_p95_s or 0)
    assert (skewed.summary.mean_cpu or 1) < 0.935
    assert (even.summary.mean_wanted or 0) > 1.3 * (skewed.summary.mean_wanted or 0)
