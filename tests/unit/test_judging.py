"""What the comparison of a job's output notices."""

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.jobs.judging import answered, inputs_of, judge
from elastream.jobs.passing import Pass

OPTIONS = {"workload": "constant(100)", "rows": "500"}
JOB = Pass()


@pytest.fixture
def right() -> pa.Table:
    """All rows, in another order."""
    rows = answered(JOB, inputs_of(JOB, OPTIONS)).drop_columns(["first_time", "last_time"])
    return rows.sort_by([("value", "descending")])


def verdict(found: pa.Table | None) -> tuple[bool, str]:
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
