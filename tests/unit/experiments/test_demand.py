"""What a load would have needed: against runs of every fixed size."""

from dataclasses import replace

from elastream.core.slo import Slo
from elastream.experiments.demand import find_least_size
from elastream.experiments.experiment import ExecutorBounds, Experiment, SimulatedModel
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.simulated import find_demand, set_up_simulation

WAVE = Experiment(
    subject=SimulatedModel(model="windowed-count"),
    workload="cosine(10k..40k, period=10m)",
    duration_s=600.0,
    policy=parse_policy("threshold"),
    executors=ExecutorBounds(min=1, max=12),
    slo=Slo(delay_s=40.0, share=0.95),
)


def kept(experiment: Experiment, workers: int) -> bool | None:
    fixed = replace(
        experiment,
        policy=parse_policy(f"fixed(workers={workers})"),
        executors=replace(experiment.executors, start=workers),
    )
    return set_up_simulation(fixed).simulation().run().summary.slo_kept


def test_the_least_size_is_the_first_of_all_that_keeps_the_promise() -> None:
    least = find_least_size(WAVE)
    assert least == next(workers for workers in range(1, 13) if kept(WAVE, workers))
    assert 1 < least < 12


def test_without_a_promise_or_with_one_that_no_size_keeps_there_is_no_least_size() -> None:
    assert find_least_size(replace(WAVE, slo=Slo(delay_s=0.001))) is None
    assert find_least_size(replace(WAVE, subject=SimulatedModel(model="kanis-q1"))) is None


def test_demand_is_the_fewest_workers_that_do_not_fall_behind() -> None:
    demand = find_demand(WAVE, [0.0, 20_000.0, 1e9])
    assert demand is not None
    assert (demand[0], demand[2]) == (1, 12)
    load = replace(WAVE, workload="20k", duration_s=1800.0, slo=Slo(delay_s=120.0, share=0.95))
    assert kept(load, demand[1]) is True
    assert kept(load, demand[1] - 1) is False


def test_where_several_pools_share_the_work_no_single_size_is_needed() -> None:
    several = replace(WAVE, subject=SimulatedModel(model="kanis-q1"), executors=ExecutorBounds())
    assert find_demand(several, [1000.0]) is None
