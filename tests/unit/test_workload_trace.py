import sys
from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.workloads import RateSeries, Trace, shipped_traces


@pytest.fixture
def recording(tmp_path: Path) -> str:
    path = tmp_path / "load.csv"
    path.write_text("t_seconds,rate\n0,10\n10,30\n20,20\n")
    return str(path)


def drawn(trace: Trace, *, duration_s: float = 100.0) -> RateSeries:
    return trace.series(duration_s=duration_s, seed=1)


def test_a_recording_is_replayed_as_it_is_and_its_last_rate_held(recording: str) -> None:
    series = drawn(Trace(file=recording))
    assert series.times_s.tolist() == [0, 10, 20]
    assert [series.rate(t) for t in (0, 15, 25, 90)] == [10, 30, 20, 20]


def test_stretching_moves_times_and_scaling_moves_rates(recording: str) -> None:
    series = drawn(Trace(file=recording, stretch=2, scale=3))
    assert series.times_s.tolist() == [0, 20, 40]
    assert series.rates.tolist() == [30, 90, 60]


def test_after_its_end_a_recording_may_stop_or_start_again(recording: str) -> None:
    assert [drawn(Trace(file=recording, then="stop")).rate(t) for t in (29, 30, 90)] == [20, 0, 0]
    again = drawn(Trace(file=recording, then="repeat"))
    assert [again.rate(t) for t in (29, 30, 40, 50, 60, 99)] == [20, 10, 30, 20, 10, 10]


def test_the_largest_rate_can_be_set_after_a_baseline_is_taken_off(recording: str) -> None:
    assert drawn(Trace(file=recording, baseline_rps=15, peak_rps=300)).rates.tolist() == [0, 300, 100]


def test_a_replay_may_start_inside_the_recording(recording: str) -> None:
    series = drawn(Trace(file=recording, start_s=5))
    assert series.times_s.tolist() == [0, 5, 15]
    assert series.rates.tolist() == [10, 30, 20]
    with pytest.raises(BadInput, match="start 30 s is after its 30 s"):
        drawn(Trace(file=recording, start_s=30))


def test_what_lies_after_the_run_is_left_out(recording: str) -> None:
    assert drawn(Trace(file=recording), duration_s=10).times_s.tolist() == [0]


def test_scale_and_peak_exclude_each_other(recording: str) -> None:
    with pytest.raises(BadInput, match="both scale and peak"):
        Trace(file=recording, scale=2, peak_rps=5)


def test_minutes_other_columns_and_a_byte_order_mark_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "minutes.csv"
    path.write_text("\ufeffminute,rate_per_second\r\n3,1\r\n4,2\r\n\r\n", encoding="utf-8")
    assert drawn(Trace(file=str(path))).times_s.tolist() == [0, 60]
    path.write_text("when,a,b\n0,1,7\n1,2,8\n")
    assert drawn(Trace(file=str(path), column="b", time_column="when")).rates.tolist() == [7, 8]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t_seconds,rate\n0,1\n1,\n", "bad.csv:3: the rate is absent; it must be a number"),
        ("t_seconds,rate\n0,x\n", "bad.csv:2: the rate is 'x'; it must be a number"),
        ("t_seconds,rate\n0,-1\n", "bad.csv:2: the rate is -1; it must be zero or more"),
        ("t_seconds,rate\n0,nan\n", "bad.csv:2: the rate is nan; it must be a finite number"),
        ("t_seconds,rate\n0,1\n\n0,1\n", "bad.csv:4: the time 0 does not come after 0"),
        ("t_seconds,rate\n0,1\n1\n", "bad.csv:3: the line has fewer columns than the header"),
        ("t_seconds,rate\n", "bad.csv: there are no rates in it"),
        ("t_seconds,load\n0,1\n", "bad.csv: no column is called 'rate' or 'rate_per_second' or 'rps', only t_seconds"),
        ("", "bad.csv: the file is empty"),
    ],
)
def test_a_bad_file_is_told_with_the_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.csv").write_text(text)
    with pytest.raises(BadInput) as caught:
        drawn(Trace(file="bad.csv"))
    assert str(caught.value).startswith(message)


def test_a_file_that_is_not_text_is_told(tmp_path: Path) -> None:
    path = tmp_path / "bytes.csv"
    path.write_bytes(b"t_seconds,rate\n\xff\xfe,1\n")
    with pytest.raises(BadInput, match="cannot be read"):
        drawn(Trace(file=str(path)))
    with pytest.raises(BadInput, match="cannot be read"):
        drawn(Trace(file=str(tmp_path)))


def test_a_file_that_changed_is_read_again(recording: str) -> None:
    drawn(Trace(file=recording))
    Path(recording).write_text("t_seconds,rate\n0,77\n")
    assert drawn(Trace(file=recording)).rates.tolist() == [77]


def test_an_unknown_trace_is_answered_with_the_nearest_shipped_one() -> None:
    with pytest.raises(BadInput, match="did you mean 'dsp_taxi_300s'"):
        drawn(Trace(file="dsp_taxi_30s"))


@pytest.mark.parametrize("name", shipped_traces())
def test_a_shipped_trace_is_used_by_its_bare_name_and_is_documented(name: str) -> None:
    series = drawn(Trace(file=name, peak_rps=1000, then="repeat"), duration_s=86_400)
    assert series.max_rps <= 1000
    assert series.mean_rps > 0
    readme = Path(sys.modules[Trace.__module__].__file__ or "").parent / "traces" / "README.md"
    assert f"| {name} |" in readme.read_text()


def test_parquet_is_read_like_csv(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "load.parquet"
    parquet.write_table(arrow.table({"t_seconds": [0, 10], "rate": [1.0, 2.0]}), path)
    assert drawn(Trace(file=str(path))).rates.tolist() == [1, 2]
    parquet.write_table(arrow.table({"t_seconds": [0, 10], "rate": [1.0, None]}), path)
    with pytest.raises(BadInput, match=r"load\.parquet: row 2: the rate is absent"):
        drawn(Trace(file=str(path)))
    path.write_bytes(b"not parquet at all")
    with pytest.raises(BadInput, match="cannot be read"):
        drawn(Trace(file=str(path)))


def test_without_pyarrow_a_parquet_file_is_refused_kindly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = tmp_path / "load.parquet"
    path.touch()
    with pytest.raises(BadInput, match=r"Parquet files need pyarrow; install elastream\[lab\], or use CSV"):
        drawn(Trace(file=str(path)))
