"""Layouts of a model: the simulator finds what its model says, and reports tell that it is simulated."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.experiments.scalability.laws import TITLES
from elastream.experiments.scalability.layout import Layout
from elastream.experiments.scalability.probe import ProbeTerms
from elastream.experiments.scalability.scaling import answer_load, find_scaling, least_layout
from elastream.experiments.scalability.search import FoundRate
from elastream.experiments.scalability.shape import published_rates, score_shape
from elastream.experiments.scalability.simulated import SimulatedGround, read_ground, shape_model
from elastream.experiments.scalability.study import LayoutResult
from elastream.simulator.catalogue import any_model
from elastream.simulator.microbatch.model import ApplicationModel


def result(workers: int, cores: int, rate: float | None) -> LayoutResult:
    found = FoundRate(rate_rps=rate, below_rps=None if rate is None else rate * 1.1, runs=3)
    return LayoutResult(layout=Layout(workers, cores), found=found, stopped=None, probes=())


def test_a_simulated_layout_sustains_what_its_model_can(tmp_path: Path) -> None:
    model = any_model("enrich")
    assert isinstance(model, ApplicationModel)
    ground = read_ground("enrich")
    # A slot does 10,000 records/s of it; batches have fixed parts, and eight tenths of a processor may be used.
    for layout in (Layout(1, 1), Layout(2, 2)):
        with ground.open(layout) as bench:
            terms = ProbeTerms(rate_rps=6_000.0 * layout.slots, workers=layout.workers, cores=layout.slots)
            assert bench.run(terms, tmp_path, lambda share: None).verdict.state == "sustained"
            too_much = replace(terms, rate_rps=11_000.0 * layout.slots)
            assert bench.run(too_much, tmp_path, lambda share: None).verdict.state == "unsustained"


def test_a_simulated_probe_is_the_same_whenever_it_is_run(tmp_path: Path) -> None:
    def run() -> object:
        with read_ground("windowed-count").open(Layout(2, 1)) as bench:
            terms = ProbeTerms(rate_rps=5_000.0, workers=2, cores=2, accept_after_s=60.0)
            return bench.run(terms, tmp_path, lambda share: None).recording.moments

    assert run() == run()


def test_a_model_takes_the_shape_of_a_layout() -> None:
    ground = read_ground("windowed-count")
    assert isinstance(ground, SimulatedGround)
    model = shape_model(ground.model, Layout(3, 4))
    assert {stage.partitions for query in model.queries for stage in query.stages} == {12}
    pool = model.pool
    assert (pool.min_workers, pool.max_workers, pool.initial_workers, pool.slots_per_worker) == (3, 3, 3, 4)


def test_a_continuous_model_has_no_executors() -> None:
    with pytest.raises(BadInput, match="is continuous"):
        read_ground("heron-wordcount")


def test_efficiency_is_that_of_the_document() -> None:
    curve = find_scaling([result(1, 6, 80_000.0), result(2, 6, 160_000.0), result(4, 6, 300_000.0),
                          result(6, 6, 380_000.0)], "real", precision=0.1)[0]  # fmt: skip
    assert [one.efficiency for one in curve.points] == [None, 1.0, 0.9375, pytest.approx(380 / 300 / 1.5)]
    assert [one.per_core_rps for one in curve.points][:2] == [pytest.approx(80_000 / 6), pytest.approx(160_000 / 12)]


def test_a_layout_without_a_result_is_no_base() -> None:
    curve = find_scaling([result(1, 1, 100.0), result(2, 1, None), result(4, 1, 320.0)], "real", precision=0.1)[0]
    assert [one.efficiency for one in curve.points] == [None, None, 0.8]


def test_the_published_curves_agree_with_themselves() -> None:
    rates = published_rates("enrichment", "horizontal")
    assert rates == {1: 80_000.0, 2: 160_000.0, 4: 300_000.0, 6: 380_000.0}
    # The printed efficiency of the last vertical step follows from the first of two published rates.
    assert published_rates("enrichment", "vertical") == {1: 40_000.0, 2: 160_000.0, 4: 310_000.0, 6: 380_000.0}
    assert published_rates("wordcount", "vertical") == {}
    curves = find_scaling([result(n, 6, rate) for n, rate in rates.items()], "real", precision=0.1)
    score = score_shape("enrichment", curves)[0]
    assert [one.agrees for one in score.steps] == [True, True, True]
    flat = find_scaling([result(n, 6, 80_000.0) for n in rates], "real", precision=0.1)
    assert [one.agrees for one in score_shape("enrichment", flat)[0].steps] == [False, False, False]
    assert score_shape("wordcount", curves) == []


def test_the_two_questions_of_theodolite_are_answered_from_what_was_measured() -> None:
    results = [result(1, 1, 100.0), result(2, 1, 190.0), result(1, 2, 170.0)]
    least = least_layout(results, 150.0)
    assert least is not None
    assert least.layout.name == "1x2"
    assert answer_load(results, 500.0) == "500/s: no layout that was measured sustains it"
    curve = find_scaling(results, "real", precision=0.1)[0]
    assert curve.answer(150.0).startswith("horizontal, 1 core each: 150/s needs 2 of those measured (190/s); too few")


def test_nothing_is_foretold_beyond_twice_the_largest_layout() -> None:
    points = [(1, 1_000.0), (2, 1_900.0), (4, 3_500.0), (6, 5_000.0)]
    curve = find_scaling([result(n, 1, rate) for n, rate in points], "real", precision=0.05)[0]
    assert curve.foretell(12) > 5_000
    with pytest.raises(BadInput, match="13 is not from 1 to 12, twice the most that was measured"):
        curve.foretell(13)
    assert "beyond that nothing is foretold" in curve.answer(50_000.0)
    assert "19 times out of 20" in curve.answer(6_000.0)


def test_the_command_says_first_that_it_is_simulated_and_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["scalability", "wordcount", "--simulate", "--layouts", "1x1,2x1,1x2", "--accept-after", "60s", "--repeat",
            "1", "--first-rate", "20k", "--load", "30k", "--out", str(tmp_path)]  # fmt: skip
    assert main(call) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("simulated: a model of the job, and no Spark (model wordcount); sustained: for 1m")
    assert any(TITLES["universal"] in line and "too few layouts" in line for line in said)
    page = (tmp_path / "scalability.html").read_text()
    assert page.index("simulated: a model of the job") < page.index("How far wordcount scales</h1>")
    before = sorted(tmp_path.glob("*/probe-*"))
    assert main([*call, "--recorded", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert sorted(tmp_path.glob("*/probe-*")) == before
    assert document["work"] == "simulated"
    assert [one["layout"] for one in document["layouts"]] == ["1x1", "1x2", "2x1"]
    assert {one["direction"] for one in document["curves"]} == {"horizontal", "vertical"}


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--layouts", "1by1"], "--layouts: found '1by1'"),
        (["--rates", "10k,x"], "--rates"),
        (["--first-rate", "0"], "--first-rate: found '0'"),
        (["--precision", "0"], "precision"),
        (["--memory", "lots"], "--memory"),
        (["--delay", "0s"], "--delay"),
        (["--option", "keys=5"], "--option: no events are made here"),
    ],
)
def test_what_makes_no_sense_is_told_before_anything_is_run(
    more: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["scalability", "wordcount", "--simulate", "--out", str(tmp_path / "out"), *more]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_job_without_a_model_is_told_how_to_get_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scalability", "deduplicates", "--simulate", "--out", str(tmp_path / "out")]) == 2
    assert "did you mean 'deduplicate'" in capsys.readouterr().err


def test_a_rate_is_sustained_for_ten_batches_at_least_and_the_first_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["scalability", "aggregation", "--simulate", "--layouts", "4x1,6x1", "--repeat", "1", "--accept-after", "5m"]
    assert main([*call, "--out", str(tmp_path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "for 10m (10 batches; in 5m there are too few) after 30s of warm-up" in found["about"]
    four, six = (one["rate_rps"] for one in found["layouts"])
    assert six == pytest.approx(1.5 * four, rel=0.15)
