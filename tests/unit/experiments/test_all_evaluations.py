"""All published evaluations in one go: what is run, what is said of the time left, and the page that leads to each."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import experiments.__main__ as everything
from elastream.experiments.replication.account import Account, Chapter
from elastream.experiments.replication.index import IndexEntry, make_index
from elastream.experiments.replication.results import PlanResults
from experiments.__main__ import TimeLeft, find_evaluations, main
from experiments.replication import Evaluation, score

PLAN = """\
about: Which size?
what: {model: pass, workload: constant(1k)}
how: {policy: {fixed: fixed}, duration: 60s}
"""


def tell(results: Mapping[str, PlanResults]) -> Account:
    chapters = [Chapter(title="Sizes", told=[], results=[one], scores=[]) for one in results.values()]
    return Account(document="A paper <of 2020>", about="Again.", command="python -m x", chapters=chapters)


def test_every_folder_with_an_evaluation_is_found() -> None:
    assert {"daedalus", "ds2", "gesscale", "kanis"} <= dict(find_evaluations()).keys()


def test_what_is_left_follows_from_what_the_first_plans_took(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now_s)
    left = TimeLeft([10.0, 30.0, 0.0])
    assert left.begin(0) == ""
    now_s = 1020.0
    assert left.begin(1) == "about 1m left of all"
    assert left.begin(2) == "nothing is left to run"


def test_all_are_run_and_one_page_leads_to_the_page_of_each_and_to_the_report_of_each_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sizes.yaml").write_text(PLAN)
    evaluations = {
        "paper": Evaluation(folder=tmp_path, plans=["sizes"], tell=tell),
        "broken": Evaluation(folder=tmp_path, plans=["nowhere"], tell=tell),
    }
    monkeypatch.setattr(everything, "find_evaluations", lambda: iter(evaluations.items()))
    out = tmp_path / "out"
    assert main(["--out", str(out), "--on", "local"]) == 1
    told = capsys.readouterr()
    assert "== paper: sizes, 1 of 2" in told.err
    assert "Sizes: the document tells nothing to compare with" in told.out
    page = (out / "index.html").read_text()
    for link in ("paper/evaluation.html", "paper/sizes/report.html"):
        assert f'href="{link}"' in page
        assert (out / link).is_file()
    assert "A paper &lt;of 2020&gt;" in page
    assert "Missing: broken: nowhere ended with code 2" in page


def test_a_plan_that_only_older_code_has_run_is_told_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sizes.yaml").write_text(PLAN)
    (tmp_path / "out" / "sizes" / "runs").mkdir(parents=True)
    account = score(Evaluation(folder=tmp_path, plans=["sizes"], tell=tell), tmp_path / "out")
    assert not account.chapters
    assert capsys.readouterr().err.startswith("left out: ")


def test_an_index_names_what_is_missing(tmp_path: Path) -> None:
    entry = IndexEntry(folder="paper", account=tell({}))
    assert "Missing: ds2: it failed" in make_index([entry], "evaluation.html", "report.html", ["ds2: it failed"])
