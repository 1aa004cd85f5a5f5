"""The models of Kanis' queries against what their constants were derived from: the thesis' parameter optimisation."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from elastream.experiments.plan.matrix import Case, multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.run import Run
from elastream.experiments.simulated import set_up_simulation

PLAN = Path(__file__).parents[2] / "experiments" / "kanis" / "parameter-optimisation.yaml"


@cache
def cases() -> tuple[Case, ...]:
    return multiply(read_plan(PLAN)).cases


def run(query: str, policy: str, *, load: str | None = None) -> Run:
    """The first repetition of a row of the plan, or the same under another load."""
    [case] = [
        one for one in cases() if (one.labels["model"], one.labels["policy"], one.experiment.seed) == (query, policy, 0)
    ]
    return set_up_simulation(replace(case.experiment, workload=load or case.experiment.workload)).run()


def workers(seen: Run) -> float:
    assert seen.summary.mean_wanted is not None
    return seen.summary.mean_wanted


def latency_s(seen: Run) -> float:
    found = seen.summary.as_json()["age_sample_mean_s"]
    assert isinstance(found, float)
    return found


@pytest.mark.parametrize(("extra", "most"), [(1.0, 10), (1.2, 13), (1.4, 15)])
def test_ds2_ends_at_the_top_of_the_cosine_where_the_thesis_saw_it(extra: float, most: int) -> None:
    seen = run("Q1", f"ds2-kanis(over_provision={extra})", load="constant(2.2M)")
    assert seen.series.column("wanted")[-1] == most


def test_quick_sources_make_dhalion_as_large_as_in_the_thesis_and_it_lags_more_than_hpa() -> None:
    """Table 7.1, factor 1.1: 16.8 workers, 31 at most, 14.8 s; table 7.7, target 0.5: 4.0 s."""
    dhalion, hpa = run("Q1", "dhalion-kanis(scale_down_factor=1.1)"), run("Q1", "hpa-kanis(target=0.5)")
    assert workers(dhalion) == pytest.approx(16.8, rel=0.2)
    assert dhalion.summary.max_workers == pytest.approx(31, abs=3)
    assert latency_s(hpa) == pytest.approx(4.0, abs=1.5)
    assert latency_s(dhalion) > 4 * latency_s(hpa)


def test_ds2_without_extra_never_works_off_its_lag_and_with_two_fifths_it_does() -> None:
    """Table 7.3: 312 and 12 s."""
    assert latency_s(run("Q1", "ds2-kanis(over_provision=1.0)")) > 300
    assert latency_s(run("Q1", "ds2-kanis(over_provision=1.4)")) < 60


def test_the_session_window_takes_half_as_many_workers_again() -> None:
    """Tables 7.3 and 7.4: 9.4 over 6.5."""
    stateless, stateful = (workers(run(query, "ds2-kanis(over_provision=1.0)")) for query in ("Q1", "Q11"))
    assert stateful / stateless == pytest.approx(9.4 / 6.5, rel=0.1)
