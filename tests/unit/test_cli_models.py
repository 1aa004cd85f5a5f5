"""Model files, and what they may get wrong."""

from pathlib import Path

import pytest

from elastream.cli import main
from elastream.core.errors import BadInput
from elastream.core.observation import Trigger
from elastream.core.slo import Slo
from elastream.simulator.microbatch.model import ApplicationModel
from elastream.simulator.model_file import read_model

GOOD = """
name: clicks
pool: {min_workers: 1, max_workers: 8, slots_per_worker: 2, start: 5s}
queries:
  - name: count
    trigger: 5s
    slo: 30s
    commit_s: 100ms
    state: {bytes_per_record: 2}
    sources: [{name: clicks, partitions: 16}]
    stages:
      - {name: parse, after: clicks, partitions: 16, slot_s_per_record: 50e-6}
      - {name: count, after: [parse], partitions: 16, slot_s_per_record: 0.00004, stateful: true, pool: executors}
"""


def test_a_file_describes_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(GOOD)
    model = read_model(path)
    assert isinstance(model, ApplicationModel)
    query = model.queries[0]
    assert (model.name, model.pool.slots_per_worker, model.pool.start_s) == ("clicks", 2, 5.0)
    assert (query.trigger, query.slo, query.commit_s) == (Trigger(interval_s=5.0), Slo(delay_s=30.0), 0.1)
    assert query.slot_s_per_record() == pytest.approx(90e-6)
    assert main(["simulate", "--model", str(path), "--duration", "5m"]) == 0
    assert "clicks, a batch every 5s" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "partitions: 16, slot_s",
            "partitons: 16, slot_s",
            "query count: stage parse has no setting 'partitons'; did you mean 'partitions'?",
        ),
        ("trigger: 5s", "triger: 5s", "query count has no setting 'triger'; did you mean 'trigger'?"),
        ("queries:", "querys:", "no setting 'querys'; did you mean 'queries'?"),
        ("after: clicks", "after: count", "query count: topology: a cycle through parse -> count -> parse"),
        ("after: clicks", "after: clik", "stage parse comes after 'clik', which does not exist"),
        (
            "pool: executors}",
            "pool: gpus}",
            "query count: stage count is in no pool: 'gpus' does not exist; known: executors",
        ),
        ("max_workers: 8, ", "", "pool has no max_workers; a pool needs both bounds, min_workers and max_workers"),
        ("min_workers: 1, ", "", "pool has no min_workers; a pool needs both bounds, min_workers and max_workers"),
        ("min_workers: 1", "min_workers: 9", "model clicks: pool: bounds 9..8; they must be 1 <= min <= max"),
        ("min_workers: 1", "min_workers: 0", "model clicks: pool: bounds 0..8; they must be 1 <= min <= max"),
        ("start: 5s", "initial_workers: 0", "model clicks: pool: starts with 0 workers; at least 1 is needed"),
        ("pool: {min", "pol: {min", "has no setting 'pol'; did you mean 'pool'?"),
        ("slot_s_per_record: 50e-6", "slot_s_per_record: .nan", "stage parse: slot_s_per_record: found nan"),
        (
            "slot_s_per_record: 50e-6",
            "slot_s_per_record: -1",
            "stage parse: slot_s_per_record is -1.0; it must be a number of at least 0",
        ),
        (", slot_s_per_record: 50e-6", "", "query count: stage parse needs the setting 'slot_s_per_record'"),
        (
            "[{name: clicks, partitions: 16}]",
            "[]",
            "query count: found nothing; a list of at least one source is needed",
        ),
        (
            "trigger: 5s",
            "trigger: often",
            "query count: trigger: found 'often'; it must be an interval such as 10s, or asap",
        ),
    ],
)
def test_a_wrong_file_is_one_line_that_says_where(before: str, after: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    assert before in GOOD
    path.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(BadInput) as wrong:
        read_model(path)
    assert str(wrong.value).startswith(str(path))
    assert message in str(wrong.value)
    assert "\n" not in str(wrong.value)


def test_broken_yaml_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("name: clicks\npool: {min_workers: 1\nqueries: []\n")
    with pytest.raises(BadInput, match=r"job\.yaml:3: "):
        read_model(path)


@pytest.mark.parametrize("content", ["", "- a\n- b\n", "just text"])
def test_what_is_no_mapping_is_no_model(content: str, tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(content)
    with pytest.raises(BadInput, match="a model is written as 'name: value'"):
        read_model(path)


def test_a_file_that_does_not_exist_starts_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "none.yaml", tmp_path / "runs"
    assert main(["simulate", "--model", str(path), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"elastream: {path}: cannot be read: No such file or directory\n"
    assert not out.exists()
