"""Published tables beside runs: order, errors and verdicts by hand-made cases; the plans of published evaluations."""

import re
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.page import make_page
from elastream.experiments.replication.published import PublishedNumber, read_published, read_value
from elastream.experiments.replication.rest import Rest, tell_rest
from elastream.experiments.replication.results import PlanResults, read_results
from elastream.experiments.replication.scoring import Claim, TableScore, add_up, find_kendall, find_spearman
from elastream.experiments.replication.size_path import make_path
from elastream.experiments.replication.text import make_text
from elastream.experiments.runner.runner import Here, find_status, run_cases
from elastream.experiments.statistics import ConfidenceInterval, Estimate
from elastream.experiments.store.folder import RunStore

ROOT = Path(__file__).parents[3]
FILES = sorted((ROOT / "experiments").glob("*/*.yaml"))


def is_part(file: Path) -> bool:
    """Whether it is what plans beside it share, and none of its own."""
    others = [one.read_text(encoding="utf-8") for one in FILES if one.parent == file.parent and one != file]
    is_named = any(re.search(rf"\b{re.escape(file.name)}", text) for text in others)
    return is_named and not re.search("^about:", file.read_text(encoding="utf-8"), re.MULTILINE)


PLANS = [file for file in FILES if not is_part(file)]
LATENCY = PublishedNumber(title="latency, s", tolerance=0.25, floor=5.0)


def once(value: float) -> Estimate:
    return Estimate(mean=value, repetitions=1, interval=None, variation=None)


def claim(row: str, told: float | None, found: float | None, *, doubt: str = "", reason: str = "") -> Claim:
    return Claim(row=row, told=told, found=None if found is None else once(found), doubt=doubt, reason=reason)


def score(*claims: Claim) -> TableScore:
    return TableScore(table="Table 1", quantity=LATENCY, claims=claims)


SCORE = score(
    claim("a", 100.0, 110.0),
    claim("b", 10.0, 16.0, reason="no warm start"),
    claim("c", 2.0, 6.0),
    claim("d", 200.0, 90.0),
    claim("e", 1.0, 1000.0, doubt="printed twice"),
    claim("f", 5.0, None),
    claim("g", None, 7.0),
)


def test_a_cell_agrees_within_a_share_of_what_was_told_or_below_what_can_be_told_apart() -> None:
    assert [SCORE.agrees(one) for one in SCORE.claims] == [True, False, True, False, False, None, None]
    assert (SCORE.agreeing, len(SCORE.counted)) == (2, 4)


def test_doubtful_cells_and_those_that_nobody_ran_count_for_nothing() -> None:
    assert [one.row for one in SCORE.counted] == ["a", "b", "c", "d"]
    assert SCORE.median_error == pytest.approx((0.55 + 0.6) / 2)


def test_pairs_that_the_document_tells_apart_are_in_the_same_order_or_not() -> None:
    # Told c < b < a < d; found c < b < d < a: only a and d have changed places.
    assert SCORE.pairs == (5, 6)
    tied = score(claim("a", 1.0, 3.0), claim("b", 1.0, 4.0), claim("c", 2.0, 3.0))
    assert tied.pairs == (0, 2)


def test_rank_correlations_are_those_of_the_textbook() -> None:
    # Squared distances of ranks 0, 0, 1, 1: 1 - 6 * 2 / (4 * 15); 5 pairs for and 1 against.
    assert SCORE.spearman == pytest.approx(0.8)
    assert SCORE.kendall == pytest.approx(4 / 6)
    # With ties: ranks 1.5, 1.5, 3 and 1, 2, 3; of 3 pairs, one is tied on one side.
    ties = [(1.0, 1.0), (1.0, 2.0), (2.0, 3.0)]
    assert find_spearman(ties) == pytest.approx(1.5 / (1.5 * 2.0) ** 0.5)
    assert find_kendall(ties) == pytest.approx(2 / (2 * 3) ** 0.5)


def test_two_rows_or_values_that_are_all_alike_have_no_rank_correlation() -> None:
    assert find_spearman([(1.0, 2.0), (2.0, 3.0)]) is None
    assert find_kendall([(1.0, 2.0), (1.0, 3.0), (1.0, 4.0)]) is None


def test_tables_add_up_without_comparing_rows_of_one_with_those_of_another() -> None:
    total = add_up([SCORE, score(claim("a", 1.0, 2.0), claim("b", 20.0, 50.0))])
    assert (total.tables, total.cells, total.agreeing, total.pairs) == (2, 6, 3, (6, 7))
    assert total.spearman == pytest.approx(0.8)


def test_text_and_page_name_every_cell_with_its_verdict_and_what_is_left_out_and_why(tmp_path: Path) -> None:
    results = PlanResults(
        name="plan", about="Why?", folder=tmp_path, runs=[], missing=2, lacks=["Q8: it crashes <there>"]
    )
    wide = Claim(
        row="h",
        told=1.0,
        found=Estimate(mean=50.0, repetitions=3, interval=ConfidenceInterval(40.0, 60.0), variation=0.1),
    )
    scores = [score(*SCORE.claims, wide)]
    chapter = Chapter(title="Tables", told=["Once each."], results=[results], scores=scores)
    account = Account(document="A thesis", about="Again.", command="python -m x", chapters=[chapter])
    text, page = make_text(account), make_page(account)
    for told in ("2 of 5 cells agree", "not scored: printed twice", "differs: no warm start", "50 [40, 60]",
                 "not run by the document", "nothing to compare"):  # fmt: skip
        assert told in text
        assert told in page
    assert "2 are missing" in text
    assert "it crashes <there>" in text
    assert "it crashes &lt;there&gt;" in page


def test_a_size_is_at_rest_when_nothing_changes_for_long_enough_before_the_end() -> None:
    # Changes at 0, 60, 180 and 600 s; the one at 180 s is two.
    actions = [(0.0, 1), (60.0, 2), (120.0, 2), (180.0, 4), (300.0, 4), (600.0, 5)]
    assert tell_rest(actions, 60.0, 600.0, 300.0) == Rest(minutes=2.0, actions=3)
    assert tell_rest(actions, 60.0, 600.0, 450.0) == Rest(minutes=None, actions=3)
    assert tell_rest(actions, 240.0, 600.0, 300.0) == Rest(minutes=0.0, actions=0)


def test_the_path_of_a_run_has_each_size_once_and_a_change_of_several_pools_is_one() -> None:
    def row(at_s: float, flatmap: int, count: int) -> dict[str, object]:
        return {"t_s": at_s, "pools": [{"pool": "flatmap", "workers": flatmap}, {"pool": "count", "workers": count}]}

    path = make_path([row(0, 10, 5), row(30, 10, 5), row(40, 14, 7), row(50, 14, 7), row(60, 14, 8)])
    assert [step.at_s for step in path.changes] == [40, 60]
    assert path.last_change_s == 60
    assert (path.of("flatmap"), path.of("count")) == ((10, 14), (5, 7, 8))
    assert make_path([row(0, 10, 5)]).changes == ()


def test_a_published_table_is_read_without_its_remarks_and_one_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("# from page 3\nrow,latency\na,1.5\nb,\n", encoding="utf-8")
    rows = read_published(file)
    assert [read_value(row, "latency") for row in rows] == [1.5, None]
    with pytest.raises(BadInput, match="no column 'delay'"):
        read_value(rows[0], "delay")
    with pytest.raises(BadInput, match="'a' is no number"):
        read_value(rows[0], "row")
    file.write_text("row,latency\na\n", encoding="utf-8")
    with pytest.raises(BadInput, match="row 2 has not as many cells"):
        read_published(file)


def test_results_are_found_by_the_labels_of_the_plan_and_averaged_over_repetitions(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "what: {model: windowed-count, workload: {wave: 'cosine(10k..40k, period=10m)'}}\n"
        "how: {policy: {small: 'fixed(workers=3)', large: 'fixed(workers=5)'}, executors: 1..12, start: 3,"
        " duration: 5m, repetitions: 2}\n",
        encoding="utf-8",
    )
    cases = check_plan(multiply(read_plan(plan))).cases
    store = RunStore(tmp_path / "out").open()
    run_cases(store, find_status(store, cases[:3]), Here(), plan="plan")
    store.close()
    results = read_results(plan, tmp_path / "out")
    assert (len(results.runs), results.missing) == (3, 1)
    small = results.estimate("mean_wanted", policy="small")
    assert small is not None
    assert (small.mean, small.repetitions) == (3.0, 2)
    assert results.estimate(lambda run: run.numbers["mean_wanted"], policy="large") == once(5.0)
    assert results.estimate("mean_wanted", policy="tiny") is None


def test_shares_are_drawn_between_none_and_all_and_what_is_below_none_left_of_it() -> None:
    shares = PublishedNumber(title="share", most=1.0)
    claims = (claim("a", None, 1.0), claim("b", None, 0.5), claim("c", None, 0.0), claim("d", None, -0.3))
    scores = [TableScore(table="Table 1", quantity=shares, claims=claims)]
    chapters = [Chapter(title="Shares", told=[], results=[], scores=scores)]
    page = make_page(Account(document="A", about="B", command="C", chapters=chapters))
    all_of_it, half, none, less = (float(found) for found in re.findall(r'<circle cx="([\d.]+)%"', page))
    assert 0 < less < none < half < all_of_it < 100
    assert all_of_it - half == pytest.approx(half - none, abs=0.02)
    assert [f">{label}<" in page for label in ("0", "0.25", "0.5", "0.75", "1")] == [True] * 5


@pytest.mark.parametrize("file", PLANS, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_a_plan_of_a_published_evaluation_can_be_run_as_it_is(file: Path) -> None:
    plan = read_plan(file)
    if plan.document.how.platform == "spark":
        pytest.importorskip("pyspark")
    found = check_plan(multiply(plan))
    assert found.cases
    assert found.matrix.plan.document.about
