"""What the queries gave, read from their sinks by pyarrow. Spark has no part in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from tests.spark.exactly_once.computed import Rows

COLUMNS = {
    "stateless": ("offset", "mixed", "time"),
    "windowed": ("start", "key", "events", "value"),
    "joined": ("left", "right", "key", "value"),
    "sessions": ("start", "end", "key", "events", "value"),
    "processor": ("key", "events", "value"),
    "each_batch": ("offset", "key", "value"),
    "large": ("key", "events", "value"),
    "long": ("offset", "key", "value"),
}
KEYS = {"windowed": 2, "processor": 1, "large": 1}
"""How many of the first columns name what a row of an update is about; its last row counts."""


def found(name: str, folder: Path) -> Rows:
    """The output of a query under its folder."""
    output = folder / name / "output"
    if (output / "_spark_metadata").exists():
        return _read(list(committed_files(output)), COLUMNS[name])
    batches = sorted(output.glob("batch=*"), key=lambda batch: int(batch.name.removeprefix("batch=")))
    tables = [_read(sorted(batch.glob("*/*.parquet")), COLUMNS[name]) for batch in batches]
    rows = np.concatenate(tables)
    return last_of_each(rows, KEYS[name]) if name in KEYS else rows


def committed_files(output: Path) -> Iterator[Path]:
    """Files that the sink's log names. Others may lie there too, of tasks and batches that were done again."""
    log = output / "_spark_metadata"
    numbers = {int(entry.name.partition(".")[0]) for entry in log.iterdir() if not entry.name.startswith(".")}
    compact = max((n for n in numbers if (log / f"{n}.compact").exists()), default=None)
    parts = [] if compact is None else [log / f"{compact}.compact"]
    parts += [log / str(n) for n in sorted(numbers) if compact is None or n > compact]
    for part in parts:
        version, *lines = part.read_text().splitlines()
        assert version == "v1", f"{part}: version {version}"
        for line in lines:
            entry = json.loads(line)
            assert entry["action"] == "add", f"{part}: {entry['action']}"
            yield Path(unquote(urlparse(entry["path"]).path))


def last_of_each(rows: Rows, keys: int) -> Rows:
    """Of the rows that agree in their first columns, the last one."""
    return np.asarray(pd.DataFrame(rows).drop_duplicates(list(range(keys)), keep="last").to_numpy())


def _read(files: list[Path], columns: tuple[str, ...]) -> Rows:
    tables = [pq.ParquetFile(file).read(columns=list(columns)) for file in files]
    empty = np.empty((0, len(columns)), dtype=np.int64)
    return np.concatenate([empty, *(np.column_stack([t[c].to_numpy() for c in columns]) for t in tables)])
