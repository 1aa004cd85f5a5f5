"""What a report says of a folder of runs."""

import csv
import html
import math
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.experiments.comparison import COST, KEPT
from elastream.experiments.report.checklist import check_items
from elastream.experiments.report.choice import MOST_RUNS, choose_runs
from elastream.experiments.report.contents import read_contents
from elastream.experiments.report.delays import draw_delays
from elastream.experiments.report.drawn_run import draw_multiple, draw_strips, read_drawn
from elastream.experiments.report.formats import make_csv, make_markdown
from elastream.experiments.report.front import place_share
from elastream.experiments.report.heat import draw_heat, heat_step
from elastream.experiments.report.report import make_report
from elastream.experiments.report.sensitivity import draw_sensitivity, find_sensitivities
from elastream.experiments.report.standing import Overview, answer, find_front, stand
from elastream.experiments.report.tables import query_means, query_situations
from elastream.experiments.store.folder import RUNS
from tests.unit.experiments.report_samples import sample, store_plan, store_run


def overview_of(folder: Path) -> Overview:
    return stand(read_contents(folder).comparison.contests)


def test_the_cheapest_that_keeps_the_promise_is_the_answer(tmp_path: Path) -> None:
    told = answer(overview_of(sample(tmp_path)))

    # Means over both loads and both seeds: 5, 7, 5.1 and 7.1.
    assert told == "ds2 kept the promise in all its runs and cost 6.05 worker-hours a run, the least of the 2 that did."


def test_a_difference_that_may_be_chance_is_called_none(tmp_path: Path) -> None:
    for seed, cost in enumerate([5.0, 9.0, 4.0]):
        store_run(tmp_path, "ds2", "wave", seed, cost=6.2)
        store_run(tmp_path, "threshold", "wave", seed, cost=cost)

    told = answer(overview_of(tmp_path))

    assert "no difference is shown: ds2 costs +0.2 [" in told


def test_one_repetition_names_no_winner(tmp_path: Path) -> None:
    store_run(tmp_path, "ds2", "wave", 0, cost=5)
    store_run(tmp_path, "threshold", "wave", 0, cost=9)

    assert answer(overview_of(tmp_path)).endswith("but no difference is shown: one repetition has no interval.")


def test_where_nothing_was_promised_it_is_told_how_late_the_cheapest_is(tmp_path: Path) -> None:
    for seed in range(4):
        store_run(tmp_path, "ds2", "wave", seed, cost=6.2, kept=None)
        store_run(tmp_path, "threshold", "wave", seed, cost=9.0, kept=None)
    assert answer(overview_of(tmp_path)) == (
        "ds2 cost 6.2 worker-hours a run, the least of 2. "
        "Nothing was promised: its p95 delay is 62 s, the shortest too."
    )
    for seed in range(4):
        store_run(tmp_path, "dhalion", "wave", seed, cost=5.0, kept=None, slow=3.0)
    assert answer(overview_of(tmp_path)).endswith(
        "Nothing was promised: its p95 delay is 150 s, and the shortest that of ds2, 62 s for 6.2 worker-hours."
    )


def test_where_nobody_keeps_the_promise_the_closest_is_named(tmp_path: Path) -> None:
    for policy, kept in (("ds2", 0.9), ("threshold", 0.97)):
        store_run(tmp_path, policy, "wave", 0, cost=5, kept=kept)

    told = answer(overview_of(tmp_path))

    assert told.startswith("No policy that decides kept the promise in all its runs. Closest came threshold: 97.00% of")
    store_run(tmp_path, "fixed(workers=9)", "wave", 0, cost=8.0)
    assert answer(overview_of(tmp_path)).endswith("kept it. fixed(workers=9) did, for 8 worker-hours a run.")


def test_means_are_over_what_all_policies_ran(tmp_path: Path) -> None:
    for policy, cost in (("ds2", 5.0), ("threshold", 9.0)):
        store_run(tmp_path, policy, "wave", 0, cost=cost)
    store_run(tmp_path, "ds2", "calm", 0, cost=1.0)

    found = overview_of(tmp_path)

    assert [(one.policy, one.mean(COST)) for one in found.standings] == [("ds2", 5.0), ("threshold", 9.0)]
    assert (len(found.shared), found.situations) == (1, 2)


def test_the_front_has_those_that_none_is_cheaper_and_better_than(tmp_path: Path) -> None:
    front = find_front([one for one in overview_of(sample(tmp_path)).standings if not one.is_fixed])

    assert [one.policy for one in front] == ["dhalion", "ds2", "threshold"]
    store_run(tmp_path, "ds2", "wave", 0, cost=50)
    dear = find_front([one for one in overview_of(tmp_path).standings if not one.is_fixed])
    assert [one.policy for one in dear] == ["dhalion", "threshold"]


@pytest.mark.parametrize(("share", "place"), [(0.0, 0.0), (0.9, 0.25), (0.99, 0.5), (0.9999, 1.0), (1.0, 1.0)])
def test_shares_are_placed_by_what_is_missing(share: float, place: float) -> None:
    assert place_share(share) == pytest.approx(place)


def rows_of(query: str) -> list[tuple[Any, ...]]:
    found = duckdb.sql(query)
    assert found is not None
    return found.fetchall()


def test_the_query_of_a_figure_makes_its_rows_with_another_tool(tmp_path: Path) -> None:
    sample(tmp_path)
    # Neither an error, nor older code, nor a seed that one policy lacks may count.
    store_run(tmp_path, "ds2", "night", 0, cost=0.0, error="it broke")
    store_run(tmp_path, "ds2", "wave", 0, cost=90.0, code="0" * 12)
    store_run(tmp_path, "ds2", "wave", 2, cost=80.0)
    contents = read_contents(tmp_path)
    overview = stand(contents.comparison.contests)

    means = {policy: (runs, cost, kept) for policy, runs, cost, kept in rows_of(query_means(contents, overview))}

    assert len(means) == 5
    for one in overview.standings:
        assert means[one.policy] == (one.runs, pytest.approx(one.mean(COST)), pytest.approx(one.mean(KEPT)))
    assert len(rows_of(query_situations(contents))) == 10


@pytest.mark.parametrize(
    ("share", "step"), [(0.0, 0), (0.4999, 0), (0.5, 1), (0.9, 2), (0.99, 3), (0.9999, 5), (1.0, 5)]
)
def test_a_cell_is_coloured_by_its_share(share: float, step: int) -> None:
    assert heat_step(share) == step


def test_every_policy_has_a_cell_in_every_situation_empty_where_it_did_not_run(tmp_path: Path) -> None:
    sample(tmp_path)
    store_run(tmp_path, "ds2", "night", 0, cost=5.0, kept=0.42)

    drawn = draw_heat(read_contents(tmp_path).comparison.contests, {"ds2": "A"})

    rows = re.findall("<tr>(<th scope=.row.*?)</tr>", drawn)
    assert [len(re.findall("<td", row)) for row in rows] == [5, 5, 5]
    [night] = [row for row in rows if "night" in row]
    assert night.count("<td></td>") == 4
    assert '<td class="heat-0"><b>42.0%</b><small>5 h</small></td>' in night


def test_the_load_that_tells_policies_apart_is_drawn_through_all_of_them(tmp_path: Path) -> None:
    sample(tmp_path)
    for policy, kept in (("ds2", 1.0), ("threshold", 0.1)):
        store_run(tmp_path, policy, "storm", 7, cost=5.0, kept=kept)
    contents = read_contents(tmp_path)

    chosen = choose_runs(contents)

    told = [(run.document["labels"]["policy"], run.document["labels"]["workload"]) for run in chosen]
    assert told == [("ds2", "storm"), ("threshold", "storm")]


def test_a_named_run_is_drawn_first_among_its_rivals(tmp_path: Path) -> None:
    name = store_run(sample(tmp_path), "threshold", "wave", 1, cost=9.0)

    chosen = choose_runs(read_contents(tmp_path), str(name)[:8])

    assert (chosen[0].identity, len(chosen)) == (name, 5)
    assert {run.document["what"]["seed"] for run in chosen} == {1}
    with pytest.raises(BadInput, match="--run xyz: no run that counts is called so"):
        choose_runs(read_contents(tmp_path), "xyz")


def test_of_many_policies_the_best_are_drawn_so_that_the_file_opens_fast(tmp_path: Path) -> None:
    for workers in range(1, 15):
        store_run(tmp_path, f"fixed(workers={workers})", "wave", 0, cost=float(workers))
    store_run(tmp_path, "ds2", "wave", 0, cost=99.0)

    chosen = choose_runs(read_contents(tmp_path))

    # Those that decide come first, then the cheapest.
    assert [run.numbers[COST] for run in chosen] == [99.0, *map(float, range(1, MOST_RUNS))]


def test_too_few_and_too_many_are_what_demand_and_supply_have_over_both(tmp_path: Path) -> None:
    [run] = [run for run in choose_runs(read_contents(sample(tmp_path))) if run.document["labels"]["policy"] == "ds2"]

    drawn = draw_multiple(read_drawn(0, "A", run), 6.0)

    # 5 are there. 4 are needed until the 8th of 20 looks, 6 until the 14th, then 3; the scale ends at 6.
    shapes = {name: path for path, name in re.findall(r'<path d="([^"]+)" class="(\w+) step-area">', drawn)}
    places = {name: {int(y) for y in re.findall(r"(?:M\d+ 1000L\d+ |V)(\d+)", path)} for name, path in shapes.items()}
    four, five, six, three = 333, 167, 0, 500
    assert places["under"] - {1000} == {four, six, three}
    assert places["over"] - {1000} == {five}
    assert places["both"] - {1000} == {four, five, three}


def test_a_damaged_table_of_a_run_is_named_with_the_remedy(tmp_path: Path) -> None:
    name = store_run(tmp_path, "ds2", "wave", 0, cost=5)
    file = tmp_path / "runs" / str(name) / "ticks.parquet"
    whole = file.read_bytes()
    # Its end, which says what is in it, is sound.
    file.write_bytes(whole[:4] + bytes(400) + whole[404:])

    with pytest.raises(BadInput, match=r"ticks\.parquet is damaged; remove the run's folder"):
        make_report(read_contents(tmp_path))


def test_what_never_waited_has_a_peak_of_nothing(tmp_path: Path) -> None:
    store_run(tmp_path, "ds2", "wave", 0, cost=5, ready=6)

    drawn = draw_strips(read_drawn(0, "A", choose_runs(read_contents(tmp_path))[0]), is_open=True)

    assert re.findall('class="peak">([^<]+)<', drawn) == ["max 600/s", "max 0", "max 2 s", "max 6"]


def test_the_checklist_tells_seeds_repetitions_and_what_was_left_out(tmp_path: Path) -> None:
    sample(tmp_path)
    store_run(tmp_path, "ds2", "night", 0, cost=0.0, error="it broke")
    contents = read_contents(tmp_path)

    items = dict(check_items(contents, stand(contents.comparison.contests)))

    assert items["Seeds"][0].startswith("0, 1; ")
    assert items["Repetitions"] == ["2; intervals hold 19 times out of 20"]
    assert "by the plan: policy hpa, workload night: it has no processor use" in items["Left out"]
    assert "1 ended with: it broke" in items["Left out"]


def test_where_nobody_knows_what_was_needed_no_worker_is_too_many(tmp_path: Path) -> None:
    store_plan(tmp_path)
    store_run(tmp_path, "ds2", "wave", 0, cost=5.0, needs=False)
    drawn = draw_multiple(read_drawn(0, "A", choose_runs(read_contents(tmp_path))[0]), 6.0)
    assert "too many" not in drawn
    assert "too few" not in drawn


def test_one_setting_is_told_apart_from_all_others_of_its_policy(tmp_path: Path) -> None:
    for seed in (0, 1):
        for settings, cost in (("target=0.8", 3.0), ("target=0.5", 6.0), ("target=0.8, tolerance=0.3", 2.0)):
            store_run(tmp_path, f"hpa({settings})", "wave", seed, cost=cost + seed)
        store_run(tmp_path, "ds2", "wave", seed, cost=5.0)
    contents = read_contents(tmp_path)

    found = find_sensitivities(contents, stand(contents.comparison.contests))

    told = {(one.policy, one.setting): [(at, standing.mean(COST)) for at, standing in one.points] for one in found}
    assert told == {
        ("hpa", "target"): [(0.5, 6.5), (0.8, 3.5)],
        ("hpa", "tolerance"): [(0.1, 3.5), (0.3, 2.5)],
    }
    assert any("target 0.8: 3.5 [0, " in draw_sensitivity(one) for one in found)


def test_delays_stand_by_powers_of_ten_from_the_median_to_the_longest(tmp_path: Path) -> None:
    store_run(tmp_path, "ds2", "wave", 0, cost=4.0, kept=None)
    contents = read_contents(tmp_path)

    found = draw_delays(contents, stand(contents.comparison.contests))

    assert found is not None
    picture, over, _ = found
    assert over == "records"
    assert "ds2: p50 2 s, p95 40 s, p99 48 s, max 80 s" in picture
    # The axis goes from 0.1 below the least power to 0.1 above the most.
    low, high = math.log10(2) - 0.1, math.log10(80) + 0.1
    [thick] = re.findall(r'x1="([\d.]+)%" x2="([\d.]+)%" y1="50%" y2="50%" class="thick"', picture)
    places = [(math.log10(value) - low) / (high - low) * 100 for value in (2, 40)]
    assert [float(one) for one in thick] == pytest.approx(places, abs=0.01)


def test_csv_has_every_number_with_its_interval_and_nothing_for_what_is_unknown(tmp_path: Path) -> None:
    sample(tmp_path)
    store_run(tmp_path, "ds2", "night", 0, cost=4.0, kept=None)

    written = csv.DictReader(make_csv(read_contents(tmp_path)).splitlines())
    rows = {(row["policy"], row["workload"]): row for row in written}

    assert len(rows) == 11
    wave, night = rows["ds2", "wave"], rows["ds2", "night"]
    # Two runs of 5 and 5.1: Student's t for one degree of freedom is 12.7, the standard error 0.05.
    assert float(wave[COST]) == pytest.approx(5.05)
    assert float(wave[f"{COST}_high"]) == pytest.approx(5.05 + 12.706 * 0.05, abs=0.02)
    assert (night[f"{COST}_low"], night[KEPT]) == ("", "")


def test_markdown_has_the_answer_and_its_tables_and_no_markup_of_others(tmp_path: Path) -> None:
    store_plan(tmp_path, about="<b>Which</b> one?")
    for policy, cost in (("ds2", 4.0), ("threshold", 5.0)):
        store_run(tmp_path, policy, "a|b", 0, cost=cost)

    written = make_markdown(read_contents(tmp_path))

    assert "ds2 kept the promise in all its runs and cost 4 worker-hours a run" in written
    assert "| A | ds2 | 1 | 4 |" in written
    assert "&lt;b>Which" in written
    tables = [line for line in written.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in tables[:4]} == {tables[0].count("|")}


def test_another_format_is_refused_with_those_that_there_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path), "--format", "pdf"]) == 2
    assert "--format pdf: it is one of html, md, csv" in capsys.readouterr().err
    assert main(["report", str(tmp_path), "--format", "md", "--run", "3f"]) == 2
    assert "--run 3f: only a page draws runs" in capsys.readouterr().err


def test_the_file_asks_for_nothing_and_has_no_style_that_its_policy_forbids(tmp_path: Path) -> None:
    page = make_report(read_contents(sample(tmp_path)))

    assert "default-src 'none'" in html.unescape(page)
    assert re.findall(r"\s(?:src|style|on\w+)=", page) == []
    assert {found for found in re.findall(r'href="([^"]+)"', page) if not found.startswith("#")} == set()


def test_what_a_plan_calls_things_is_text_and_no_markup(tmp_path: Path) -> None:
    store_plan(tmp_path, about="<img src=x>")
    store_run(tmp_path, "ds2", "</script><u>wave", 0, cost=5)

    page = make_report(read_contents(tmp_path))

    assert "<img" not in page
    assert "<u>" not in page


def test_a_folder_without_runs_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadInput, match="there are no runs"):
        read_contents(tmp_path)
    assert main(["report", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_the_command_writes_the_report_into_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(sample(tmp_path))]) == 0

    assert capsys.readouterr().out.strip() == str(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_damaged_run_makes_no_difference_between_the_others_in_the_list(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sample(tmp_path)
    damaged = min((tmp_path / RUNS).iterdir())
    (damaged / "experiment.json").write_text("{", encoding="utf-8")
    assert main(["experiment", "list", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert f"{damaged / 'experiment.json'} is damaged" in told
    assert "spike, ds2, seed 0" in told
    # All are of one model, which is therefore not told.
    assert "enrich" not in told
