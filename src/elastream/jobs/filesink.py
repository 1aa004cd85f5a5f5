"""What a streaming query has committed to a folder of Parquet files, read without Spark.

A file sink is exactly-once for those who read it through its log: files of attempts that failed lie in the same folder
and are in no log.
"""

import json
from pathlib import Path
from urllib.parse import unquote, urlparse

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

LOG = "_spark_metadata"


def committed_files(folder: Path) -> list[Path]:
    """Files that belong to committed batches."""
    log = folder / LOG
    if not log.is_dir():
        return []
    found: dict[str, bool] = {}
    for file in sorted(log.iterdir(), key=_number):
        if _number(file) < 0:
            continue
        # The first line is the version; a compacted file repeats what came before it.
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            entry = json.loads(line)
            found[entry["path"]] = entry["action"] == "add"
    return [_path(text) for text, added in found.items() if added]


def committed(folder: Path, columns: list[str] | None = None) -> pa.Table | None:
    """All committed rows, or None if there are none."""
    tables = [pq.read_table(file, columns=columns) for file in committed_files(folder)]
    return pa.concat_tables(tables) if tables else None


def _number(file: Path) -> int:
    name = file.name.removesuffix(".compact")
    return int(name) if name.isdecimal() else -1


def _path(text: str) -> Path:
    return Path(unquote(urlparse(text).path))
