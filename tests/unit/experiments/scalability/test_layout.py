"""Layouts, and what follows from them."""

import pytest

from elastream.core.errors import BadInput
from elastream.experiments.scalability.layout import (
    Layout,
    default_layouts,
    find_curves,
    order_layouts,
    parse_layouts,
    why_unfit,
)


def test_layouts_are_both_directions_of_the_document_and_the_smallest_comes_first() -> None:
    names = [one.name for one in order_layouts(default_layouts())]
    assert names == ["1x1", "1x2", "2x1", "1x4", "4x1", "1x6", "6x1"]


def test_settings_follow_the_layout_as_published() -> None:
    layout = Layout(6, 4)
    settings = layout.settings("5g")
    # The document has 20 GB for a worker of four cores, and (20 - 1) x 0.9 of it for the heap.
    assert settings["spark.executor.memory"] == f"{round(19 * 1024 * 0.9)}m"
    assert settings["spark.sql.shuffle.partitions"] == settings["spark.default.parallelism"] == "24"
    assert settings["spark.cores.max"] == "24"
    assert settings["spark.executor.cores"] == "4"
    for option in ("-XX:+UseG1GC", "ParallelGCThreads=4", "ConcGCThreads=2", "InitiatingHeapOccupancyPercent=35"):
        assert option in settings["spark.executor.extraJavaOptions"]


def test_a_curve_has_layouts_that_differ_in_one_thing() -> None:
    curves = find_curves([Layout(1, 1), Layout(2, 1), Layout(1, 2), Layout(3, 3)], "real")
    assert [(one.title, [each.name for each in one.layouts]) for one in curves] == [
        ("horizontal, 1 core each", ["1x1", "2x1"]),
        ("vertical, 1 worker", ["1x1", "1x2"]),
    ]


def test_slots_that_sleep_say_nothing_about_cores() -> None:
    curves = find_curves(default_layouts(), "emulated")
    assert [one.direction for one in curves] == ["horizontal"]


def test_a_layout_that_a_machine_cannot_have_is_told_with_the_reason() -> None:
    def why(layout: Layout, work: str = "real", memory: str = "2g") -> str | None:
        return why_unfit(layout, per_core=memory, cores=2, memory_mib=8 * 1024, work=work)  # type: ignore[arg-type]

    assert why(Layout(2, 1)) is None
    assert why(Layout(4, 1)) == "4x1: needs 4 cores, and there are 2"
    assert why(Layout(4, 1), "emulated") is None
    assert why(Layout(6, 1), "emulated") == "6x1: needs 12.0 GiB of memory, and there are 8.0"
    assert why(Layout(1, 1), memory="1g") == "1x1: a heap of 0 MiB is too small to start; give more --memory"


@pytest.mark.parametrize("text", ["", "1", "1x", "0x1", "1x1,1x1", "1x1;2x1", "9999x1", "-1x1"])
def test_layouts_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(BadInput, match="--layouts"):
        parse_layouts(text)
