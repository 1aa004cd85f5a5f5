"""The jobs of the published experiments: what the documents tell of them holds in the model."""

from dataclasses import replace

import pytest

from elastream.core.errors import UnknownName
from elastream.policies import policies
from elastream.simulator.catalogue import any_model
from elastream.simulator.continuous.model import DataflowModel
from elastream.simulator.published import PUBLISHED, published
from elastream.simulator.run import ExactFigures, Simulation
from elastream.workloads import parse_workload


def fixed(model: DataflowModel, load: str, sizes: dict[str, int] | None = None, minutes: float = 10.0) -> ExactFigures:
    """The model with these sizes under a load."""
    pools = {name: replace(pool, initial_workers=(sizes or {}).get(name, pool.initial_workers))
             for name, pool in model.pools.items()}  # fmt: skip
    run = Simulation(
        replace(model, pools=pools),
        parse_workload(load),
        policies.build("fixed"),
        name="fixed",
        duration_s=60 * minutes,
    )
    return run.run().exact


@pytest.mark.parametrize("name", PUBLISHED)
def test_every_job_says_what_it_is_and_runs(name: str) -> None:
    model = published(name)
    assert model.doc
    assert model is any_model(name)
    summary = fixed(model, f"constant({0.01 * model.full_rps():.6g})", minutes=3.0)
    assert summary.records > 0


def test_a_name_that_does_not_exist_suggests_one_that_does() -> None:
    with pytest.raises(UnknownName, match="did you mean 'gesscale-taxi'"):
        any_model("gesscale-tax")


@pytest.mark.parametrize(("flatmap", "count", "enough"), [(10, 20, True), (9, 20, False), (10, 19, False)])
def test_ten_and_twenty_instances_are_just_enough_for_word_count_on_heron(
    flatmap: int, count: int, enough: bool
) -> None:
    # Buffers of 100 MiB take in what is too much for many minutes.
    model = published("heron-wordcount")
    small = tuple(replace(one, buffer=1000.0) if one.buffer else one for one in model.operators)
    found = fixed(replace(model, operators=small), "constant(16666)", {"flatmap": flatmap, "count": count})
    assert (found.records > 0.99 * 16_666 * 600) is enough


@pytest.mark.parametrize(("query", "load", "size"), [("q1", "4M", 16), ("q8", "540k", 10), ("q11", "1M", 28)])
def test_the_final_size_of_table_4_keeps_up_and_one_less_does_not(query: str, load: str, size: int) -> None:
    model = published(f"ds2-nexmark-{query}")
    main = model.operators[-1].name
    made = {n: fixed(model, f"constant({load})", {main: n}).records for n in (size - 1, size)}
    whole = parse_workload(f"constant({load})").series(duration_s=600.0, seed=0).arrived(600.0)
    assert made[size] == pytest.approx(whole, rel=1e-3)
    assert made[size - 1] < 0.995 * whole


@pytest.mark.parametrize(("workers", "keeps_up"), [(3, False), (4, True)])
def test_on_timely_four_workers_keep_up_and_with_three_the_queue_grows(workers: int, keeps_up: bool) -> None:
    found = fixed(published("timely-nexmark-q5"), "constant(2M)", {"workers": workers})
    assert (found.backlog_left < 1e6) is keeps_up


def test_one_instance_of_each_operator_of_kanis_q1_does_what_the_thesis_says() -> None:
    assert (
        fixed(published("kanis-q1"), "constant(200k)", dict.fromkeys(("source-bids", "map", "sink"), 1)).backlog_left
        < 1
    )


def test_the_static_deployment_of_daedalus_keeps_up_with_its_peak_at_its_base_latency() -> None:
    found = fixed(published("daedalus-yahoo"), "constant(52k)")
    assert found.delay_p95_s == pytest.approx(7.6, abs=0.01)
    assert fixed(published("daedalus-yahoo"), "constant(58k)").backlog_left > 100_000
