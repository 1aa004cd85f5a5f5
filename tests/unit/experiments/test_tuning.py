"""The search for settings: tuned on some loads, scored on others, run once, and everything kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.experiments.experiment import parse_experiment
from elastream.experiments.named_settings import parse_policy
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import PlanProblems, read_plan
from elastream.experiments.runner.execution import Done, Task
from elastream.experiments.runner.runner import CaseStatus
from elastream.experiments.store.folder import RunStore, write_stored
from elastream.experiments.store.tables import DECISIONS, TICKS, make_summary
from elastream.experiments.tuning.folds import deal, group_loads
from elastream.experiments.tuning.page import make_tuning_page
from elastream.experiments.tuning.result import TunedPolicy, Tuning, as_json
from elastream.experiments.tuning.sampler import GridSampler, OptunaSampler, RandomSampler
from elastream.experiments.tuning.search import choose_search
from elastream.experiments.tuning.space import SearchedSetting, read_searched, write_policy
from elastream.experiments.tuning.tuner import Tuner
from elastream.experiments.tuning.words import answer, paste

PLAN = """\
what:
  model: windowed-count
  workload: {a: 1k, b: 2k, c: 3k, d: 4k}
  slo: 60s
how:
  policy: ["lag-proportional(window=30s)", "fixed(workers=3)"]
  executors: 1..12
  duration: 10m
  repetitions: 2
search:
  settings:
    lag-proportional: {drain: 10s..110s}
  by: grid
  trials: 6
"""

Numbers = Callable[[str, Mapping[str, Any], int], tuple[float, float]]
"""Of a load, settings and a seed: worker-hours, and the share of records in time."""


@dataclass
class Computed:
    """Implements RunnerBackend, by a formula in place of a simulation."""

    numbers: Numbers
    ran: list[Task] = field(default_factory=list)

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        for task in tasks:
            self.ran.append(task)
            settings = parse_experiment(task.experiment).policy.settings
            cost, share = self.numbers(task.labels["workload"], settings, task.experiment["seed"])
            identity = {"experiment": task.identity.experiment, "code": task.identity.code}
            found = {"worker_hours_paid": cost, "records_within_slo": share, "slo_kept": share >= 0.99}
            row = {**identity, **task.labels, "seed": task.experiment["seed"], **found}
            tables = {"ticks": pa.Table.from_pylist([], TICKS), "decisions": pa.Table.from_pylist([], DECISIONS)}
            document = {**identity, "labels": task.labels, "what": task.experiment, "code_files": []}
            write_stored(Path(task.place), document, {}, {**tables, "summary": make_summary(row)})
            yield Done(task, None, 0.0)


class Nobody:
    """Implements TuningView."""

    def begin(self, to_run: Sequence[CaseStatus], later: float) -> None:
        assert later >= 0

    def done(self, done: Done) -> None:
        assert done.error is None


def slower_is_cheaper(load: str, settings: Mapping[str, Any], seed: int) -> tuple[float, float]:
    """A longer drain costs less, and each load bears another one."""
    drain_s = settings.get("drain_s") or 5.0
    most_s = {"a": 75.0, "b": 95.0, "c": 75.0, "d": 35.0}[load]
    return 10.0 - drain_s / 20 + seed / 100, 1.0 if drain_s <= most_s else 0.9 - drain_s / 1000


def searched(folder: Path, text: str, numbers: Numbers = slower_is_cheaper) -> tuple[Tuning, Computed]:
    path = folder / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    plan = read_plan(path)
    backend = Computed(numbers)
    store = RunStore(folder / "out").open()
    try:
        return Tuner(plan, check_plan(multiply(plan)).cases, store, backend, Nobody()).run(), backend
    finally:
        store.close()


def found_for(tuning: Tuning, label: str = "lag-proportional(window=30s)") -> TunedPolicy:
    [found] = [one for one in tuning.policies if one.label == label]
    return found


def problem(folder: Path, text: str) -> str:
    with pytest.raises(BadInput) as wrong:
        searched(folder, text)
    return str(wrong.value).replace(f"{folder}/", "")


def held_out(*loads: str) -> str:
    return PLAN + f"  held-out: [{', '.join(loads)}]\n"


def test_the_cheapest_settings_that_keep_the_promise_on_the_loads_that_are_tuned_on_are_chosen(tmp_path: Path) -> None:
    tuning, _ = searched(tmp_path, held_out("d"))
    found = found_for(tuning)
    assert [trial.text for trial in found.trials] == [
        "lag-proportional(window=30s)",
        *(f"lag-proportional(window=30s, drain={drain})" for drain in ("10s", "35s", "1m", "85s", "110s")),
    ]
    assert paste(found) == "--policy 'lag-proportional(window=30s, drain=1m)'"
    [choice] = found.choices
    assert choice.tuned is not None
    assert choice.held_out is not None
    assert (choice.tuned.kept, choice.tuned.runs, choice.tuned.cost and round(choice.tuned.cost.mean, 6)) == (
        6,
        6,
        7.005,
    )
    # What was held out has no say: there these settings break the promise, and that is told.
    assert (choice.held_out.kept, choice.held_out.runs) == (0, 2)
    assert "On loads that were not tuned on: 7 worker-hours a run, promise kept in 0 of 2." in answer(tuning, found)


def test_each_part_is_scored_by_what_was_chosen_on_the_others(tmp_path: Path) -> None:
    tuning, _ = searched(tmp_path, PLAN + "  folds: 4\n")
    found = found_for(tuning)
    assert sorted(load for fold in tuning.folds for load in fold.held_out) == ["a", "b", "c", "d"]
    for choice in found.choices:
        [scored] = choice.fold.held_out
        assert set(choice.fold.tuned) == {"a", "b", "c", "d"} - {scored}
        assert choice.chosen.text.endswith("drain=1m)" if scored == "d" else "drain=35s)")
    # What is to be pasted is best over all.
    assert found.chosen.text.endswith("drain=35s)")


def test_nothing_on_the_front_is_both_dearer_and_worse_than_another_trial(tmp_path: Path) -> None:
    tuning, _ = searched(tmp_path, PLAN)
    found = found_for(tuning)
    places = {}
    for trial in found.trials:
        score = trial.score(found.basis)
        assert score is not None
        assert score.cost is not None
        assert score.share is not None
        places[trial.text] = (score.cost.mean, -score.share.mean)
    front = {trial.text for trial in found.front}
    for text, (cost, lack) in places.items():
        is_beaten = any(c <= cost and s <= lack and (c, s) != (cost, lack) for c, s in places.values())
        assert (text in front) == (not is_beaten)


def test_what_was_run_before_is_not_run_again_and_gives_the_same(tmp_path: Path) -> None:
    first, backend = searched(tmp_path, PLAN)
    # Five settings and the plan's own, and the policy that is only compared with: four loads, two seeds.
    assert len(backend.ran) == 7 * 4 * 2
    again, idle = searched(tmp_path, PLAN)
    assert idle.ran == []
    assert as_json(again) == as_json(first)


def test_policies_of_which_nothing_is_looked_for_stand_beside_as_they_are(tmp_path: Path) -> None:
    tuning, _ = searched(tmp_path, PLAN)
    assert not found_for(tuning, "fixed(workers=3)").is_searched
    assert len(tuning.policies) == 2


def test_where_no_settings_keep_the_promise_those_that_come_closest_by_a_point_are_chosen(tmp_path: Path) -> None:
    def hopeless(load: str, settings: Mapping[str, Any], seed: int) -> tuple[float, float]:
        drain_s = settings.get("drain_s") or 5.0
        return 10.0 - drain_s / 20, 0.9 - drain_s / 10_000

    tuning, _ = searched(tmp_path, held_out("d"), hopeless)
    # Shares are 89.95 % to 88.9 %: half of them within the point that counts, of which the cheapest wins.
    assert found_for(tuning).chosen.text.endswith("drain=85s)")
    assert "No settings keep it in all runs." in answer(tuning, found_for(tuning))


def test_the_plans_own_settings_stay_where_nothing_beats_them(tmp_path: Path) -> None:
    tuning, _ = searched(tmp_path, PLAN, lambda load, settings, seed: (1.0 + (settings.get("drain_s") or 0.0), 1.0))
    found = found_for(tuning)
    assert paste(found) == "--policy 'lag-proportional(window=30s)'"
    assert "none of 6 settings is better than the plan's own" in answer(tuning, found)[0]


def test_a_run_that_failed_is_no_good_score(tmp_path: Path) -> None:
    def failing(load: str, settings: Mapping[str, Any], seed: int) -> tuple[float, float]:
        return (float("nan"), 1.0) if settings.get("drain_s") == 110.0 else slower_is_cheaper(load, settings, seed)

    class Failing(Computed):
        def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
            for done in super().run(tasks):
                if "110s" in done.task.labels["policy"]:
                    identity = {"experiment": done.task.identity.experiment, "code": done.task.identity.code}
                    row = {**identity, **done.task.labels, "seed": 0, "error": "it broke"}
                    document = {"labels": done.task.labels, "what": done.task.experiment, "code_files": []}
                    write_stored(Path(done.task.place), document, {}, {"summary": make_summary(row)})
                yield done

    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.yaml")
    store = RunStore(tmp_path / "out").open()
    tuning = Tuner(plan, check_plan(multiply(plan)).cases, store, Failing(failing), Nobody()).run()
    store.close()
    found = found_for(tuning)
    scores = {trial.text: trial.score(found.basis) for trial in found.trials}
    [broken] = [score for text, score in scores.items() if "110s" in text]
    assert broken is not None
    assert (broken.failed, broken.kept, broken.cost) == (8, 0, None)
    assert all("110s" not in trial.text for trial in found.front)


def test_loads_of_one_recording_are_never_parted(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("t_seconds,rate\n0,5\n60,9\n", encoding="utf-8")
    loads = {"fast": 'trace("x.csv", scale=5k)', "slow": 'trace("x.csv", scale=1k)', "a": "1k", "b": "2k"}
    assert group_loads({}, loads) == {"x.csv": ["fast", "slow"], "a": ["a"], "b": ["b"]}
    assert group_loads({"town": ["a", "s*"]}, loads)["town"] == ["slow", "a"]
    for seed in range(5):
        text = PLAN + f"  recordings: {{one: [a, d]}}\n  seed: {seed}\n"
        (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
        plan = read_plan(tmp_path / "plan.yaml")
        for fold in deal(plan, dict.fromkeys("abcd", "1k")):
            assert len({"a", "d"} & set(fold.tuned)) in (0, 2)
            assert not set(fold.tuned) & set(fold.held_out)
    assert problem(tmp_path, held_out("a") + "  recordings: {one: [a, d]}\n") == (
        "plan.yaml:15: search.held-out: a and d are of one recording, one; hold out both"
    )


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("drain: 10s..110s", "drian: 10s..110s"),
         "plan.yaml:12: search.settings: policy lag-proportional has no setting 'drian'; did you mean 'drain'?"),
        (("drain: 10s..110s", "drain: 50..10"),
         "plan.yaml:12: search.settings.lag-proportional.drain: found '50..10'; it must be a range such as 10s..120s, "
         "or a list of two values or more"),
        (("headroom: [1, 2]", "headroom: [1, 5s]"),
         "plan.yaml:12: search.settings: policy lag-proportional: headroom: found the duration 5s; it must be a plain "
         "number"),
        (("  lag-proportional: {", "  lag-proportionl: {"),
         "plan.yaml:12: search.settings: how.policy has no 'lag-proportionl'; did you mean 'lag-proportional'?"),
        (("by: grid", "by: girds"), "plan.yaml:13: search.by: there is no 'girds'; did you mean 'grid'?"),
        (("trials: 6", "trails: 6"), "plan.yaml:14: search: there is no 'trails'; did you mean 'trials'?"),
        (("trials: 6", "trials: 6\n  held-out: [x]"),
         "plan.yaml:15: search.held-out: there is no load 'x'; known: a, b, c, d"),
        (("trials: 6", "trials: 6\n  held-out: [a]\n  folds: 2"),
         "plan.yaml:10: search: it has both folds and held-out; one of them says which loads are not tuned on"),
        (("trials: 6", "trials: 6\n  held-out: ['?']"), "plan.yaml:15: search.held-out: nothing is left to tune on"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_search_is_told_with_file_line_and_key(
    tmp_path: Path, change: tuple[str, str], told: str
) -> None:
    text = PLAN.replace("drain: 10s..110s", "headroom: [1, 2]") if "headroom" in change[0] else PLAN
    assert change[0] in text
    assert problem(tmp_path, text.replace(*change)) == told


def test_a_search_is_checked_with_its_plan_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(PLAN, encoding="utf-8")
    assert main(["plan", "check", str(path)]) == 0
    told = capsys.readouterr().out
    assert "search: at most 6 settings each of lag-proportional, by grid\n" in told
    assert "search: part 1 of 2: tuned on 2 loads, scored on 2 loads\n" in told
    path.write_text(PLAN.replace("drain:", "drian:"), encoding="utf-8")
    assert main(["plan", "check", str(path)]) == 2
    assert "plan.yaml:12: search.settings: policy lag-proportional has no setting 'drian'" in capsys.readouterr().err


def test_a_plan_that_looks_for_nothing_says_what_to_write(tmp_path: Path) -> None:
    told = problem(tmp_path, PLAN.partition("search:")[0])
    assert told == "plan.yaml: search: this key is missing; write `search: {settings: {POLICY: {SETTING: 10s..120s}}}`"


def test_a_command_overrides_how_a_plan_searches(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN, encoding="utf-8")
    plan = read_plan(tmp_path / "plan.yaml")
    changed = choose_search(plan, by="random", trials=3)
    assert changed.content["search"] == {
        "settings": {"lag-proportional": {"drain": "10s..110s"}}, "by": "random", "trials": 3
    }  # fmt: skip
    with pytest.raises(BadInput, match="--search gird: it is one of grid, random, optuna; did you mean 'grid'"):
        choose_search(plan, by="gird")


def settings_of(folder: Path, spaces: str, policy: str = "lag-proportional") -> list[SearchedSetting]:
    text = PLAN.replace("lag-proportional(window=30s)", policy).replace("lag-proportional: {drain: 10s..110s}", spaces)
    (folder / "plan.yaml").write_text(text, encoding="utf-8")
    [found] = read_searched(read_plan(folder / "plan.yaml")).values()
    return found


def test_values_are_of_the_type_that_the_policy_declares(tmp_path: Path) -> None:
    [whole] = settings_of(tmp_path, "fixed: {workers: 2..5}")
    assert {whole.pick(step / 50) for step in range(51)} == {"2", "3", "4", "5"}
    [share, choice] = settings_of(tmp_path, "lag-proportional: {headroom: 1.0..1.6, drain: [15s, none]}")
    assert share.pick(0.123456) == "1.07"
    assert choice.list_values(99) == ["15s", "none"]
    assert parse_policy("lag-proportional(drain=none)").settings["drain_s"] is None
    with pytest.raises(PlanProblems, match="has no values between others; list its choices"):
        settings_of(tmp_path, "flink-autoscaler: {block_ineffective: 0..1}", "flink-autoscaler")


def test_a_grid_has_the_ends_and_as_many_points_as_may_be_tried(tmp_path: Path) -> None:
    spaces = settings_of(tmp_path, "lag-proportional: {headroom: 1.0..1.6, drain: 10s..110s, window: [30s, 1m]}")
    points = list(GridSampler(spaces, 30).ask(100))
    assert len(points) == 3 * 3 * 2
    assert {one["headroom"] for one in points} == {"1", "1.3", "1.6"}
    assert {one["drain"] for one in points} == {"10s", "1m", "110s"}
    with pytest.raises(BadInput, match="the smallest grid has 8 points beside the plan's own settings, and 7 may be"):
        GridSampler(spaces, 7)


def test_more_trials_by_chance_leave_those_before_as_they_were(tmp_path: Path) -> None:
    spaces = settings_of(tmp_path, "lag-proportional: {headroom: 1.0..1.6, drain: 10s..110s}")
    few, many = RandomSampler(spaces, 7), RandomSampler(spaces, 7)
    assert list(many.ask(20))[:5] == list(few.ask(5))
    assert RandomSampler(spaces, 8).ask(5) != RandomSampler(spaces, 7).ask(5)


def test_an_optimiser_goes_on_with_what_it_was_told_and_asks_the_same_again(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    spaces = settings_of(tmp_path, "lag-proportional: {headroom: 1.0..1.6, drain: 10s..110s}")

    def search(*, is_told: bool = True) -> list[float]:
        sampler, found = OptunaSampler(spaces, 0), list[float]()
        while len(found) < 40:
            for values in sampler.ask(40 - len(found)):
                badness = abs(float(values["headroom"]) - 1.25)
                sampler.tell(values, badness if is_told else 1.0)
                found.append(badness)
        return found

    found = search()
    assert search() == found
    assert sum(found[20:]) < sum(search(is_told=False)[20:])


def test_what_is_written_is_what_is_run(tmp_path: Path) -> None:
    base = parse_policy("lag-proportional(drain=60s, window=90s)")
    assert write_policy(base, {"drain": "15s", "headroom": "1.2"}) == (
        "lag-proportional(window=90s, drain=15s, headroom=1.2)"
    )
    settings = parse_policy(write_policy(base, {"drain": "15s"})).settings
    assert (settings["drain_s"], settings["window_s"]) == (15.0, 90.0)
    assert write_policy(parse_policy("ds2"), {}) == "ds2"


def test_the_page_has_the_answer_every_trial_and_the_line_to_paste(tmp_path: Path) -> None:
    tuning, _ = searched(tmp_path, "about: <b>which?</b>\n" + PLAN)
    page = make_tuning_page(tuning, tmp_path / "out")
    assert "&lt;b&gt;which?" in page
    assert page.count('<tr id="trial-0-') == 6
    for trial in found_for(tuning).trials:
        assert trial.text in page
    assert "--policy &#x27;lag-proportional(window=30s, drain=35s)&#x27;" in page
