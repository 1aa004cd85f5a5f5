import time
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pytest

pytest.importorskip("pyspark", reason="needs pyspark, though no Java")

from elastream.core.errors import BadInput
from elastream.development.emulated_capacity import NOWHERE, EmulatedCapacity, Executor, slowed, this_executor
from elastream.development.time_scale import TimeScale
from tests.unit.this_thread import only_here


def old(executor_id: str) -> Executor:
    return Executor(executor_id, float("-inf"))


def new(executor_id: str) -> Executor:
    return Executor(executor_id, time.clock_gettime(time.CLOCK_BOOTTIME))


def test_a_batch_takes_as_long_as_its_rows_need() -> None:
    assert EmulatedCapacity(rows_per_s=2_000).cost(500, 0, NOWHERE) == 0.25


def test_rows_of_the_hot_key_cost_more() -> None:
    capacity = EmulatedCapacity(rows_per_s=1_000, hot_key=0, hot_cost=5.0)
    assert capacity.cost(100, 0, NOWHERE) == 0.1
    assert capacity.cost(100, 50, NOWHERE) == pytest.approx(0.3)


def test_a_new_executor_and_a_slow_one_take_longer() -> None:
    capacity = EmulatedCapacity(rows_per_s=1_000, warm_up_s=60, warm_up_cost=3.0, slow_executor="2", slow_cost=2.0)
    assert capacity.cost(1_000, 0, old("1")) == 1.0
    assert capacity.cost(1_000, 0, new("1")) == 3.0
    assert capacity.cost(1_000, 0, old("2")) == 2.0
    assert capacity.cost(1_000, 0, new("2")) == 6.0


def test_a_task_sleeps_for_the_rest_of_the_time_and_leaves_the_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", only_here(sleep, time.sleep))
    batches = [pa.RecordBatch.from_pydict({"key": keys}) for keys in ([1, 2, 3], [0, 0, 4], [])]

    def made_in_half_a_second() -> object:
        for batch in batches:
            now[0] += 0.5
            yield batch

    capacity = EmulatedCapacity(rows_per_s=1.0, hot_key=0, hot_cost=3.0)
    assert list(slowed(capacity)(made_in_half_a_second())) == batches  # type: ignore[arg-type]
    assert slept == [2.5, 6.5, 0.0]


def test_an_executor_is_known_by_the_command_line_of_its_jvm(tmp_path: Path) -> None:
    def process(name: str, parent: int, *words: str, started: int = 0) -> None:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "cmdline").write_bytes(b"\0".join(word.encode() for word in words) + b"\0")
        (folder / "stat").write_text(f"{name} (a) b c) S {parent} " + "0 " * 17 + f"{started} 0 0\n")

    process("self", 20, "python", "-m", "pyspark.daemon")
    process("20", 10, "python", "-m", "pyspark.daemon", started=7)
    process("10", 1, "java", "CoarseGrainedExecutorBackend", "--executor-id", "17", "--cores", "1", started=4_200)
    process("1", 0, "init")
    assert this_executor(tmp_path) == Executor("17", 42.0)
    assert this_executor(tmp_path, "1") == NOWHERE


def test_this_test_runs_on_no_executor() -> None:
    assert this_executor() == NOWHERE


def test_the_note_says_all_that_is_emulated() -> None:
    scale = TimeScale(factor=10)
    assert EmulatedCapacity(scale=scale).note() == "capacity emulated: 2,000 rows/s per slot, time x10"
    more = EmulatedCapacity(hot_key=0, hot_cost=5, warm_up_s=20, slow_executor="3", slow_cost=1.5)
    assert more.note() == (
        "capacity emulated: 2,000 rows/s per slot, rows of key 0 x5, x2 in an executor's first 20 s, "
        "executor 3 x1.5, time x1"
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows_per_s": 0.0}, "capacity: rows_per_s: found 0; it must be more than 0"),
        ({"hot_cost": -1.0}, "capacity: hot_cost: found -1; it must be more than 0"),
        ({"slow_cost": float("nan")}, "capacity: slow_cost: found nan; it must be more than 0"),
        ({"warm_up_s": -1.0}, "capacity: warm_up_s: found -1; it must be 0 or more"),
    ],
)
def test_capacities_that_make_no_sense_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(BadInput) as wrong:
        EmulatedCapacity(**settings)  # type: ignore[arg-type]
    assert str(wrong.value) == message


def test_compressed_times_are_shorter_on_the_wall() -> None:
    scale = TimeScale(factor=10)
    assert scale.wall_s(600) == 60
    assert scale.workload_s(5) == 50


@pytest.mark.parametrize("factor", [0.5, 0.0, -1.0, float("nan"), float("inf")])
def test_time_is_not_stretched(factor: float) -> None:
    with pytest.raises(BadInput, match="it must be 1 or more"):
        TimeScale(factor=factor)


def test_a_factor_that_leaves_room_for_what_does_not_compress_is_accepted() -> None:
    TimeScale(factor=10).require(tick_s=15, interval_s=60, trigger_s=30)
    TimeScale(factor=10).require(tick_s=15, interval_s=60)
    # What is not compressed is as it is, however fast.
    TimeScale().require(tick_s=0.1, interval_s=0.1, trigger_s=0.1)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ({"trigger_s": 10.0}, "makes the trigger of 10 s 0.5 s, less than 1.25 s: a batch costs 0.25 s without work"),
        ({"tick_s": 15.0}, "makes the tick of 15 s 0.75 s, less than 1 s: what a look sees does not change faster"),
        ({"interval_s": 60.0}, "makes the policy's interval of 60 s 3 s, less than 5 s: an executor would still be"),
        ({"interval_s": 60.0}, "; take a factor up to 12"),
        ({"tick_s": 0.5}, "; do not compress"),
    ],
)
def test_a_factor_that_would_distort_the_loop_is_refused_with_the_reason(times: dict[str, float], message: str) -> None:
    fine = {"trigger_s": 60.0, "tick_s": 30.0, "interval_s": 300.0}
    with pytest.raises(BadInput) as wrong:
        TimeScale(factor=20).require(**{**fine, **times})
    assert str(wrong.value).startswith("time scale: x20 makes the ")
    assert message in str(wrong.value)


def test_what_compresses_and_what_does_not_is_said() -> None:
    compressed, rest = TimeScale(factor=10).lines()
    assert compressed.startswith("time x10: the workload, triggers, ticks")
    assert "starting an executor (about 5 s, here 50 s of the workload)" in rest
    assert TimeScale().lines() == ("time is not compressed",)
