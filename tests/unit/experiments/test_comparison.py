"""Who did best: only where it is beyond doubt, and only among those that keep their promise."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.experiments.comparison import Contest, compare, name_situations
from elastream.experiments.store.folder import StoredRun
from elastream.experiments.store.identity import Identity


def stored(policy: str, seed: int, *, workload: str = "wave", **numbers: object) -> tuple[StoredRun, str]:
    document: Mapping[str, Any] = {
        "labels": {"model": "enrich", "workload": workload, "policy": policy}, "what": {"seed": seed}
    }  # fmt: skip
    return StoredRun(Identity("e", "c"), Path(), "finished", numbers, document, None), "finished"


def runs(
    policy: str, hours: Sequence[float], *, kept: Sequence[float] | None = None, workload: str = "wave"
) -> list[tuple[StoredRun, str]]:
    found = []
    for seed, paid in enumerate(hours):
        within = kept[seed] if kept is not None else 1.0
        slo: dict[str, object] = {"records_within_slo": within, "slo_kept": within >= 0.99}
        found.append(stored(policy, seed, workload=workload, worker_hours_paid=paid, **slo))
    return found


def contest(*parts: list[tuple[StoredRun, str]], number: str | None = None) -> Contest:
    [found] = compare([run for part in parts for run in part], number).contests
    return found


def test_who_costs_less_beyond_doubt_is_named() -> None:
    found = contest(runs("dear", [10.0, 12.0, 14.0]), runs("cheap", [9.0, 10.9, 13.1]))
    assert found.winner == "cheap"
    assert [one.policy for one in found.contenders] == ["cheap", "dear"]


def test_where_the_interval_holds_zero_no_difference_is_shown() -> None:
    found = contest(runs("a", [10.0, 12.0, 14.0]), runs("b", [9.0, 13.0, 13.0]))
    assert found.winner is None
    assert found.sentence.startswith("no difference shown between b and a: worker_hours_paid +0.333 [")


def test_one_repetition_shows_no_difference() -> None:
    found = contest(runs("a", [10.0]), runs("b", [1.0]))
    assert (found.winner, found.sentence) == (
        None, "no difference shown: with one repetition worker_hours_paid has no interval",
    )  # fmt: skip


def test_cheap_is_good_only_for_those_that_keep_their_promise() -> None:
    broken = runs("broken", [1.0, 1.1, 1.2], kept=[0.5, 0.55, 0.6])
    found = contest(broken, runs("kept", [10.0, 12.0, 14.0], kept=[0.995, 0.999, 0.998]))
    assert found.winner == "kept"
    assert contest(broken).sentence == "no policy keeps the SLO in all its runs"


def test_who_breaks_the_promise_once_does_not_keep_it() -> None:
    once = runs("once", [1.0, 1.0, 1.0], kept=[0.999, 0.98, 0.999])
    found = contest(once, runs("always", [5.0, 5.1, 5.2], kept=[0.999, 0.999, 0.999]))
    assert found.contenders[0].policy == "always"
    # That it broke the promise once in three is not beyond doubt.
    assert found.winner is None


def test_any_number_can_be_compared_by_and_more_is_better_for_some() -> None:
    parts = runs("low", [1.0, 1.0], kept=[0.5, 0.51]), runs("high", [9.0, 9.0], kept=[0.9, 0.91])
    assert contest(*parts, number="records_within_slo").winner == "high"
    assert contest(*parts, number="worker_hours_paid").winner == "low"
    with pytest.raises(BadInput, match="there is no number 'worker_hour_paid'; did you mean 'worker_hours_paid'"):
        contest(*parts, number="worker_hour_paid")


def test_what_is_not_known_of_a_run_is_no_zero() -> None:
    [one] = contest([stored("a", 0, worker_hours_paid=2.0), stored("a", 1, worker_hours_paid=None)]).contenders
    found = one.estimate("worker_hours_paid")
    assert found is not None
    assert (found.mean, found.repetitions, one.estimate("mean_cpu"), one.keeps_slo) == (2.0, 1, None, None)


def test_policies_are_ranked_over_workloads_and_what_does_not_count_is_told() -> None:
    given = [
        run
        for load in ("wave", "spike", "steps")
        for run in (*runs("a", [1.0, 1.1], workload=load), *runs("b", [2.0, 2.1], workload=load))
    ]
    given += [(run, "stale") for run, _ in runs("a", [0.0], workload="old")]
    found = compare(given)
    assert found.ranks is not None
    assert found.ranks.ranks == {"a": 1.0, "b": 2.0}
    assert found.left_out == {"of older code": 1}
    assert name_situations(found.contests) == ["spike", "steps", "wave"]


def test_the_command_tells_of_a_folder_of_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plan.yaml").write_text(
        "what: {model: windowed-count, workload: {calm: constant(10k), busy: constant(20k)}, slo: 2m}\n"
        "how: {policy: [fixed(workers=4), fixed(workers=6)], executors: 1..12, duration: 10m, repetitions: 2}\n",
        encoding="utf-8",
    )
    out = str(tmp_path / "out")
    assert main(["experiment", "run", str(tmp_path / "plan.yaml"), "--out", out, "--on", "local", "--json"]) == 0
    capsys.readouterr()
    assert main(["experiment", "compare", out, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["winner"] for one in found["workloads"]] == ["fixed(workers=4)", "fixed(workers=4)"]
    assert found["ranks"]["ranks"] == {"fixed(workers=4)": 1.0, "fixed(workers=6)": 2.0}
    assert main(["experiment", "compare", out]) == 0
    told = capsys.readouterr().out
    assert "fixed(workers=4) costs least of those that keep the SLO." in told
    assert "Mean ranks over 2 workloads: fixed(workers=4) 1.00, fixed(workers=6) 2.00." in told
