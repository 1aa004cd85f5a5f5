"""A model that was simulated is found again in what was seen of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.core.observation import Observation, OperatorWork, Pool, Query, Reading, Source
from elastream.core.signals import Signal
from elastream.core.topology import Edge, Operator, Topology
from elastream.policies import policies
from elastream.simulator.calibration import cut_into, measured
from elastream.simulator.catalogue import any_model, measured_jobs, model
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.model_file import read_model, written_model
from elastream.simulator.run import Simulation
from elastream.simulator.stage_costs import StageSteps, fit_stage
from elastream.testing import Story
from elastream.workloads import parse_workload


def watched(app: ApplicationModel, workload: str, *, minutes: float, tick_s: float = 5.0) -> list[Observation]:
    """Looks at a run with executors enough."""
    app = replace(app, pool=replace(app.pool, initial_workers=8, min_workers=8))
    story = Story()
    fixed = policies.build("fixed", {"workers": 8})
    Simulation(app, parse_workload(workload), fixed, name="fixed", duration_s=minutes * 60, tick_s=tick_s, seed=7).run(
        [story]
    )
    return story.looks()


@pytest.mark.parametrize("name", ["windowed-count", "enrich", "stream-join", "two-queries"])
def test_the_costs_of_a_simulated_application_are_found_again(name: str) -> None:
    true = model(name)
    found = measured(watched(true, "cosine(5k..40k, period=20m)", minutes=60), "again")
    assert [query.name for query in found.queries] == [query.name for query in true.queries]
    for query, right in zip(found.queries, true.queries, strict=True):
        assert query.trigger == right.trigger
        assert query.plan_s + query.commit_s == pytest.approx(right.plan_s + right.commit_s, rel=0.05)
        # Looks within a batch make it look noisier than it is.
        assert right.noise - 0.02 < query.noise < right.noise + 0.1
        assert query.slot_s_per_record() == pytest.approx(right.slot_s_per_record(), rel=0.05)
        assert query.state.bytes_per_record == pytest.approx(right.state.bytes_per_record, rel=0.05)
        for stage, truth in zip(query.stages, right.stages, strict=True):
            assert (stage.name, stage.after, stage.partitions) == (truth.name, truth.after, truth.partitions)
            assert stage.records_out == pytest.approx(truth.records_out, rel=0.01)
            assert stage.slot_s_per_record == pytest.approx(truth.slot_s_per_record, rel=0.06)
            assert stage.task_s == pytest.approx(truth.task_s, rel=0.5)


def test_a_measured_model_is_read_again_from_its_file(tmp_path: Path) -> None:
    found = measured(watched(model("stream-join"), "cosine(5k..40k, period=10m)", minutes=20), "again", doc="measured")
    file = tmp_path / "again.yaml"
    file.write_text(written_model(found))
    again = read_model(file)
    assert isinstance(again, ApplicationModel)
    assert (again.name, again.doc) == ("again", found.doc)
    assert found.doc.startswith("measured; 8 slots; ")
    for query, right in zip(again.queries, found.queries, strict=True):
        assert query.slot_s_per_record() == pytest.approx(right.slot_s_per_record(), rel=1e-3)
        assert (query.trigger, query.topology()) == (right.trigger, right.topology())
        assert query.state.bytes_per_record == pytest.approx(right.state.bytes_per_record, rel=1e-3)


def test_of_a_run_in_which_events_were_lost_the_longest_part_without_a_loss_is_measured() -> None:
    batches = range(60)
    rows = [10_000.0 * (1 + number % 5) for number in batches]
    looks = [look(sum(rows[:ended]), 1_000.0 * ended, ended) for ended in batches for _ in range(2)]
    lost = [replace(now, lacks={Signal.BUSY_TIME: "events were lost"}) for now in looks[30:31]]
    # What was lost is in no total after it.
    after = [look(sum(rows[:ended]) / 9, 1_000.0 * ended, ended) for ended in batches[15:] for _ in range(2)]
    assert measured([*looks[:30], *lost, *after], "x") == measured(after, "x")


def test_with_a_steady_load_all_time_is_put_on_the_records() -> None:
    fit = fit_stage(StageSteps(records=[1_000.0] * 9, batches=[1.0] * 9, busy_s=[2.0] * 9))
    assert (fit.per_record_s, fit.per_batch_s, fit.noise) == (0.002, 0.0, 0.0)


def test_groups_that_are_as_many_at_any_load_are_a_fixed_cost() -> None:
    """Two stages; the second gets the same 1,000 records in every batch, and takes a second for them."""
    batches = range(40)
    rows = [10_000.0 * (1 + number % 5) for number in batches]
    looks = [look(sum(rows[:ended]), 1_000.0 * ended, ended) for ended in batches for _ in range(2)]
    (query,) = measured(looks, "groups").queries
    read, count = query.stages
    assert read.slot_s_per_record == pytest.approx(1e-4, rel=0.01)
    assert count.slot_s_per_record == pytest.approx(0.0, abs=1e-6)
    assert count.task_s * count.partitions == pytest.approx(1.0, rel=0.01)
    assert count.records_out == 1.0


def look(rows: float, groups: float, batches: int) -> Observation:
    """After so many batches."""
    at_s = 10.0 * batches

    def reading(value: float) -> Reading:
        return Reading(value, at_s)

    query = Query(
        id="q",
        name="q",
        phase="between-triggers",
        topology=Topology(
            operators=(Operator(name="read", pool="executors"), Operator(name="count", pool="executors")),
            edges=(Edge("read", "count"),),
        ),
        sources=(Source(name="events", arrived=reading(rows), committed=reading(rows)),),
        operators=(
            OperatorWork(
                name="read", tasks=4, records_in=reading(rows), records_out=reading(groups), busy_s=reading(rows * 1e-4)
            ),
            OperatorWork(
                name="count",
                tasks=4,
                records_in=reading(groups),
                records_out=reading(groups),
                busy_s=reading(float(batches)),
            ),
        ),
        batches=reading(float(batches)),
        driver_s=reading(0.1 * batches),
    )
    pool = Pool(
        name="executors", slots_per_worker=1, min_workers=1, max_workers=8, wanted=2, requested=2, ready=2, leaving=0
    )
    return Observation(at_s=at_s, utc_s=at_s, application="app", queries=(query,), pools=(pool,))


def test_a_model_can_be_cut_into_more_partitions_of_which_each_costs_what_it_did() -> None:
    found = measured(watched(model("windowed-count"), "cosine(5k..40k, period=10m)", minutes=20), "again")
    more = cut_into(found, 48)
    for stage, before in zip(more.queries[0].stages, found.queries[0].stages, strict=True):
        assert (stage.partitions, stage.task_s) == (48, before.task_s)
    assert more.queries[0].sources[0].partitions == 48
    assert more.doc.endswith("; as if in 48 partitions")


def test_a_stage_that_took_nothing_in_has_a_fixed_cost_only() -> None:
    fit = fit_stage(StageSteps(records=[0.0] * 4, batches=[1.0] * 4, busy_s=[0.5] * 4))
    assert (fit.per_record_s, fit.per_batch_s) == (0.0, 0.5)


def test_a_run_that_is_too_short_is_refused_with_the_remedy() -> None:
    with pytest.raises(BadInput, match="no query finished 11 batches; record a longer run"):
        measured(watched(model("enrich"), "constant(5k)", minutes=1), "short")


def test_the_jobs_that_were_measured_can_be_simulated() -> None:
    for name in measured_jobs():
        app = any_model(name)
        assert isinstance(app, ApplicationModel)
        assert "measured on spark" in app.doc
        assert watched(app, "constant(200)", minutes=5)[-1].queries[0].backlog is not None
