"""The comparison itself: a proof is worth what its measure is worth."""

import json
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]

from tests.spark.exactly_once.comparing import Difference, difference
from tests.spark.exactly_once.computed import Rows
from tests.spark.exactly_once.found import committed_files, found

EXPECTED = np.array([[1, 10], [2, 20], [2, 20], [3, 30]])


def compared(rows: Rows) -> Difference:
    return difference("sums", ("key", "sum"), EXPECTED, rows)


def test_the_same_rows_in_another_order_differ_in_nothing() -> None:
    assert not compared(EXPECTED[::-1])


def test_one_row_that_is_missing_is_noticed_and_named() -> None:
    assert str(compared(EXPECTED[:-1])) == ("sums: 3 rows for 4: 1 missing, 0 too many\n  missing: key=3, sum=30")


def test_one_row_that_is_there_twice_is_noticed_and_named() -> None:
    doubled = compared(np.concatenate([EXPECTED, EXPECTED[:1]]))
    assert str(doubled) == "sums: 5 rows for 4: 0 missing, 1 too many\n  too many: key=1, sum=10"


def test_a_row_that_should_be_there_twice_and_is_there_once_is_missing() -> None:
    assert compared(EXPECTED[1:2].repeat(1, axis=0)).lost == 3
    assert compared(np.delete(EXPECTED, 1, axis=0)).lost == 1


def test_one_value_that_is_wrong_is_one_row_missing_and_one_too_many() -> None:
    wrong = EXPECTED.copy()
    wrong[0, 1] += 1
    difference = compared(wrong)
    assert (difference.lost, difference.doubled) == (1, 1)


def test_of_many_differences_the_first_few_are_shown() -> None:
    shown = str(compared(np.arange(200).reshape(-1, 2)))
    assert shown.count("\n") == 3 + 6
    assert shown.endswith("too many: and 95 others")


def write_parquet(file: Path, key: int) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"offset": [key], "key": [key], "value": [key]}).to_parquet(file)
    return json.dumps({"path": file.as_uri(), "size": 1, "action": "add"})


def test_of_a_file_sink_only_the_files_in_its_log_count(tmp_path: Path) -> None:
    output = tmp_path / "long" / "output"
    lines = [write_parquet(output / f"part {number}.parquet", number) for number in range(5)]
    log = output / "_spark_metadata"
    log.mkdir()
    # Batches 0 and 1 stand in the compacted file too; the file of part 4 is of an attempt that failed.
    (log / "0").write_text(f"v1\n{lines[0]}")
    (log / "1.compact").write_text(f"v1\n{lines[0]}\n{lines[1]}")
    (log / "2").write_text(f"v1\n{lines[2]}")
    (log / "3").write_text(f"v1\n{lines[3]}")
    (log / ".3.crc").write_text("")
    assert [file.name for file in committed_files(output)] == [f"part {number}.parquet" for number in range(4)]
    assert sorted(found("long", tmp_path)[:, 0].tolist()) == [0, 1, 2, 3]


def test_of_updates_the_last_one_per_key_counts(tmp_path: Path) -> None:
    for batch, events in ((0, 1), (2, 5), (10, 7)):
        folder = tmp_path / "processor" / "output" / f"batch={batch}" / "all"
        folder.mkdir(parents=True)
        pd.DataFrame({"key": [1], "events": [events], "value": [0]}).to_parquet(folder / "part.parquet")
    assert found("processor", tmp_path).tolist() == [[1, 7, 0]]
