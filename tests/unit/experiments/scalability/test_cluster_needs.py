"""What a cluster that exists must have for the largest layout."""

import json
from dataclasses import replace

import pytest

from elastream.experiments.scalability.cluster_needs import ClusterAnswer, find_lack, read_answer
from elastream.experiments.scalability.layout import Layout

FINE = ClusterAnswer(executors=4, spark="4.2.0", python="3.11.9", seen=(("3.11.2", "4.2.0"),), problem=None)
LAYOUT = Layout(4, 2)


def test_a_cluster_that_has_all_of_it_lacks_nothing() -> None:
    assert find_lack(FINE, LAYOUT, "2g") is None


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ({"executors": 3}, "4x2 needs 4 executors of 2 cores and a heap of 2765 MiB, and 3 came within 60 s; add"),
        ({"problem": "Cannot run program python3"}, "cannot run Python 3.11 as the driver does: Cannot run program"),
        ({"seen": (("3.11.2", "4.2.0"), ("3.12.1", "4.2.0"))}, "executors have Python 3.12.1, the driver 3.11.9"),
        ({"seen": (("3.11.2", "4.0.5"),)}, "executors have Spark 4.0.5, the driver 4.2.0"),
    ],
)
def test_what_is_lacking_is_told_in_one_line(found: dict[str, object], told: str) -> None:
    lack = find_lack(replace(FINE, **found), LAYOUT, "2g")  # type: ignore[arg-type]
    assert lack is not None
    assert told in lack
    assert "\n" not in lack


def test_the_answer_is_found_among_whatever_else_is_printed() -> None:
    told = {"executors": 1, "spark": "4.2.0", "python": "3.11.9", "seen": [["3.11.9", "4.2.0"]], "problem": None}
    answer = read_answer(f"hello\nelastream-cluster: {json.dumps(told)}\nbye\n")
    assert answer == replace(FINE, executors=1, seen=(("3.11.9", "4.2.0"),))
    assert read_answer("hello\n") is None
