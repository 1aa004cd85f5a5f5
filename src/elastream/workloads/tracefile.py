"""Recorded rates from CSV and Parquet files, checked row by row."""

import csv
import io
import math
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import numpy as np

from elastream.core.errors import BadInput, suggestion
from elastream.core.input_file import open_input
from elastream.workloads.series import FloatArray

SHIPPED = Path(__file__).parent / "traces"

RATE_COLUMNS = ("rate", "rate_per_second", "rps")
# Thirty thousand years, and as much as a workload may bring: beyond, a slip of the unit ends in infinity.
LAST_S, HIGHEST = 1e12, 1e15
# Of Parquet, a few kilobytes of which can stand for billions: four months of every second.
MOST_ROWS = 10_000_000
SECONDS_OF = {"t_seconds": 1.0, "seconds": 1.0, "t": 1.0, "minute": 60.0, "minutes": 60.0}
"""Columns that hold the time, and how many seconds one of their units has."""


class RecordedRates(NamedTuple):
    """Rates and the times from which they hold, relative to the first one."""

    times_s: FloatArray
    rates: FloatArray

    @property
    def length_s(self) -> float:
        """Until the end of the last value, which lasts as long as the one before it."""
        last = self.times_s[-1] - self.times_s[-2] if len(self.times_s) > 1 else 0.0
        return float(self.times_s[-1] + last)


def shipped_traces() -> tuple[str, ...]:
    """Names that need no path."""
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.csv")))


def find_file(file: str) -> Path:
    """Where a shipped trace lies, or the path that was given."""
    return SHIPPED / f"{file}.csv" if file in shipped_traces() else Path(file)


def is_recording(file: str) -> bool:
    """Whether there is a shipped trace of that name, or such a file."""
    try:
        return find_file(file).is_file()
    except (OSError, ValueError):
        return False


def read_recording(file: str, *, column: str | None = None, time_column: str | None = None) -> RecordedRates:
    """A shipped trace by its name, or a CSV or Parquet file by its path."""
    path = find_file(file)
    try:
        state = path.stat()
    except (OSError, ValueError):
        near = suggestion(file, shipped_traces())
        raise BadInput(f"trace {file!r}: there is no such file, and no shipped trace of that name{near}") from None
    return _read(path, file, column, time_column, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=32)
def _read(
    path: Path, file: str, column: str | None, time_column: str | None, _changed: int, _size: int
) -> RecordedRates:
    """The last two arguments only tell the cache that a file is another one now."""
    read = _read_parquet if path.suffix.lower() in (".parquet", ".pq") else _read_csv
    try:
        return read(path, file, column, time_column)
    except (OSError, UnicodeDecodeError, csv.Error) as wrong:
        raise BadInput(f"trace {file!r} cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None


def _read_csv(path: Path, file: str, column: str | None, time_column: str | None) -> RecordedRates:
    with open_input(path) as content, io.TextIOWrapper(content, encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(lines)
        header = [name.strip() for name in next(rows, [])]
        time, rate = _choose(header, file, column, time_column)
        t, r = header.index(time), header.index(rate)
        body = [(rows.line_num, row) for row in rows if row]
    short = next((line for line, row in body if len(row) <= max(t, r)), None)
    if short is not None:
        raise BadInput(f"{file}:{short}: the line has fewer columns than the header")
    numbers = [line for line, _ in body]
    times, rates = [row[t] for _, row in body], [row[r] for _, row in body]
    return _checked(times, rates, SECONDS_OF.get(time, 1.0), lambda i: f"{file}:{numbers[i]}", file)


def _read_parquet(path: Path, file: str, column: str | None, time_column: str | None) -> RecordedRates:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise BadInput(f"trace {file!r}: Parquet files need pyarrow; install elastream[lab], or use CSV") from None
    try:
        with open_input(path) as content:
            recorded = parquet.ParquetFile(content)
            time, rate = _choose(recorded.schema_arrow.names, file, column, time_column)
            if recorded.metadata.num_rows > MOST_ROWS:
                raise BadInput(
                    f"trace {file!r} has {recorded.metadata.num_rows:,} rows; at most {MOST_ROWS:,} are read"
                )
            table = recorded.read(columns=[time, rate])
    except arrow.ArrowException as wrong:
        raise BadInput(f"trace {file!r} cannot be read: {str(wrong).splitlines()[0]}") from None
    times, rates = table[time].to_pylist(), table[rate].to_pylist()
    return _checked(times, rates, SECONDS_OF.get(time, 1.0), lambda i: f"{file}: row {i + 1}", file)


def _choose(header: Sequence[str], file: str, column: str | None, time_column: str | None) -> tuple[str, str]:
    time = _column(header, [time_column] if time_column else SECONDS_OF, "time-column", file)
    return time, _column(header, [column] if column else RATE_COLUMNS, "column", file)


def _column(header: Sequence[str], candidates: Iterable[str], setting: str, file: str) -> str:
    found = next((name for name in candidates if name in header), None)
    if not header:
        raise BadInput(f"{file}: the file is empty; a trace has a header and at least one row")
    if found is None:
        wanted = " or ".join(repr(name) for name in candidates)
        raise BadInput(f"{file}: no column is called {wanted}, only {', '.join(header)}; name it with {setting}=")
    return found


def _checked(
    times: Sequence[object], rates: Sequence[object], unit_s: float, where: Callable[[int], str], file: str
) -> RecordedRates:
    if not times:
        raise BadInput(f"{file}: there are no rates in it")
    seconds = np.array(_numbers(times, "time", LAST_S / unit_s, where)) * unit_s
    values = np.array(_numbers(rates, "rate", HIGHEST, where))
    negative = np.flatnonzero(values < 0)
    if negative.size:
        i = int(negative[0])
        raise BadInput(f"{where(i)}: the rate is {values[i]:g}; it must be zero or more")
    unsorted = np.flatnonzero(np.diff(seconds) <= 0)
    if unsorted.size:
        i = int(unsorted[0]) + 1
        raise BadInput(f"{where(i)}: the time {times[i]} does not come after {times[i - 1]}")
    return RecordedRates(seconds - seconds[0], values)


def _numbers(values: Sequence[object], what: str, most: float, where: Callable[[int], str]) -> list[float]:
    found = []
    for i, value in enumerate(values):
        try:
            number = float(value)  # type: ignore[arg-type]  # what is not a number raises, and is told
        except (TypeError, ValueError):
            text = "absent" if value in (None, "") else repr(value)
            raise BadInput(f"{where(i)}: the {what} is {text}; it must be a number") from None
        if not math.isfinite(number):
            raise BadInput(f"{where(i)}: the {what} is {value}; it must be a finite number")
        if abs(number) > most:
            raise BadInput(f"{where(i)}: the {what} is {value}; it must be at most {most:g}")
        found.append(number)
    return found
