"""What the comparison of a job's output notices."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.jobs.catalogue import jobs, parse_job
from elastream.jobs.job import Result
from elastream.jobs.judging import TIMES, Circumstances, Verdict, answered, inputs_of, judge, judge_rows
from elastream.jobs.output import written
from elastream.jobs.passing import Pass

OPTIONS = {"workload": "constant(100)", "rows": "500"}
JOB = Pass()


@pytest.fixture
def right() -> pa.Table:
    """All rows, in another order."""
    rows = answered(JOB, inputs_of(JOB, OPTIONS)).drop_columns(["first_time", "last_time"])
    return rows.sort_by([("value", "descending")])


def verdict(found: pa.Table | None) -> Verdict:
    return judge(JOB, inputs_of(JOB, OPTIONS), found)


def test_the_right_rows_are_right_in_any_order(right: pa.Table) -> None:
    assert verdict(right) == (
        True,
        "all 500 result rows of 500 events are right, compared one by one with an independent computation",
    )


def test_one_row_that_is_missing_is_noticed(right: pa.Table) -> None:
    assert verdict(right.slice(1)) == (
        False,
        "the output is wrong: 500 events read, 500 result rows expected, 499 written, 1 missing, 0 that should not be"
        " there",
    )


def test_one_row_that_is_there_twice_is_noticed(right: pa.Table) -> None:
    is_right, sentence = verdict(pa.concat_tables([right, right.slice(7, 1)]))
    assert not is_right
    assert "501 written, 0 missing, 1 that should not be there" in sentence


def test_one_value_that_is_wrong_is_noticed(right: pa.Table) -> None:
    values = right["value"].to_pylist()
    values[3] += 1
    wrong = right.set_column(right.schema.get_field_index("value"), "value", pa.array(values))
    is_right, sentence = verdict(wrong)
    assert not is_right
    assert "1 missing, 1 that should not be there" in sentence


def test_no_output_at_all_is_wrong_unless_none_was_expected() -> None:
    assert verdict(None) == (False, "nothing was written, 500 rows were expected of 500 events")
    nothing = {"workload": "constant(100)", "rows": "0"}
    assert judge(JOB, inputs_of(JOB, nothing), None).right


def test_copies_are_right_only_where_a_task_has_run_again(right: pa.Table) -> None:
    doubled = pa.concat_tables([right, right.slice(7, 2)])
    again = Circumstances(may_repeat=True)
    found = judge(JOB, inputs_of(JOB, OPTIONS), doubled, again)
    assert found.right
    assert found.sentence.endswith("; 2 are there again, as Kafka's sink may write them when a task runs again")
    assert not verdict(doubled).right
    values = right["value"].to_pylist()
    values[3] += 1
    strange = right.set_column(right.schema.get_field_index("value"), "value", pa.array(values))
    assert judge(JOB, inputs_of(JOB, OPTIONS), pa.concat_tables([right, strange.slice(3, 1)]), again).right is False
    assert judge(JOB, inputs_of(JOB, OPTIONS), right.slice(1), again).right is False


WINDOWS = parse_job("yahoo(campaigns=3)")
VIEWS = inputs_of(WINDOWS, {"workload": "constant(20)", "rows": "900"})
"""Forty-five seconds of them."""


def out_by(watermark: datetime) -> pa.Table:
    rows = answered(WINDOWS, VIEWS).drop_columns(list(TIMES))
    return rows.filter(pc.less_equal(rows["window_end"], pa.scalar(watermark, pa.timestamp("us", "UTC"))))


def at(second: int) -> Circumstances:
    return Circumstances(goes_on=True, watermark=datetime(2020, 1, 1, 0, 0, second, tzinfo=UTC))


def test_of_an_input_that_goes_on_only_what_the_watermark_has_passed_must_be_there() -> None:
    watermark = at(30).watermark
    assert watermark is not None
    found = judge(WINDOWS, VIEWS, out_by(watermark), at(30))
    assert found.right
    assert found.sentence.startswith("all 9 result rows of 900 events are right, ")
    assert found.sentence.endswith("; 6 more wait for the watermark")
    assert judge(WINDOWS, VIEWS, out_by(watermark), at(40)).right is False, "three are missing"
    assert judge(WINDOWS, VIEWS, out_by(watermark), at(29)).right is False, "three came too early"
    assert judge(WINDOWS, VIEWS, out_by(watermark)).right is False, "an input that has ended lets all out"
    assert judge(WINDOWS, VIEWS, out_by(watermark).slice(1), at(30)).right is False


def test_without_a_watermark_nothing_is_due() -> None:
    nothing = out_by(datetime(2019, 1, 1, tzinfo=UTC))
    assert judge(WINDOWS, VIEWS, nothing, Circumstances(goes_on=True)).right
    assert not judge(
        WINDOWS, VIEWS, out_by(datetime(2020, 1, 1, 0, 0, 10, tzinfo=UTC)), Circumstances(goes_on=True)
    ).right


def test_rows_that_were_dropped_behind_the_watermark_leave_it_open_what_is_missing() -> None:
    found = out_by(datetime(2020, 1, 1, 0, 0, 30, tzinfo=UTC))
    told = judge(WINDOWS, VIEWS, found.slice(1), replace(at(30), dropped=4))
    assert told.right is None
    assert told.sentence.startswith(
        "the output cannot be compared with an independent computation: 4 rows came behind the watermark and were"
        " dropped, as they must be; 900 events read, 9 result rows expected, 8 written, 1 missing, 0 that should not"
    )
    assert judge(WINDOWS, VIEWS, found, replace(at(30), dropped=4)).right, "they changed nothing"


def test_a_job_that_does_not_say_when_its_rows_are_final_is_believed_in_what_it_gives_out() -> None:
    silent = Result(is_final=True, closes_at="over")
    answer, rows = answered(WINDOWS, VIEWS), out_by(datetime(2020, 1, 1, 0, 0, 30, tzinfo=UTC))
    told = judge_rows(silent, answer, 900, rows, at(30))
    assert told.right is None
    assert "(Result.closes_at)" in told.sentence
    assert judge_rows(silent, answer, 900, pa.concat_tables([rows, rows.slice(0, 1)]), at(30)).right is False


@pytest.mark.parametrize("name", [name for name in jobs.names() if jobs.build(name).result.is_final])
def test_every_job_with_final_rows_says_until_when_they_wait(name: str) -> None:
    job = jobs.build(name)
    tables = inputs_of(job, {"workload": "constant(50)", "rows": "900"})
    nothing = answered(job, tables).drop_columns(list(TIMES)).slice(0, 0)
    verdict = judge(job, tables, nothing, Circumstances(goes_on=True))
    assert verdict.right
    assert verdict.sentence.endswith("more wait for the watermark")


def test_output_of_which_every_file_is_empty_is_no_row_in_either_mode(tmp_path: Path) -> None:
    nothing = pa.table({"word": pa.array([], pa.string()), "count": pa.array([], pa.int64())})
    (tmp_path / "out" / "batch=0").mkdir(parents=True)
    pq.write_table(nothing, tmp_path / "out" / "batch=0" / "part-0.parquet")
    (tmp_path / "checkpoint" / "commits").mkdir(parents=True)
    (tmp_path / "checkpoint" / "commits" / "0").touch()
    for key in (("word",), ("word", "count")):
        found = written(Result(mode="update", key=key), tmp_path)
        assert found is not None
        assert found.equals(nothing)
    assert written(Result(), tmp_path) is None
    log = tmp_path / "out" / "_spark_metadata"
    log.mkdir()
    file = tmp_path / "out" / "batch=0" / "part-0.parquet"
    (log / "0").write_text(f'v1\n{{"path": "file://{file}", "action": "add"}}\n')
    found = written(Result(), tmp_path)
    assert found is not None
    assert found.equals(nothing)
