"""What a streaming query has committed to a folder of Parquet files, read without Spark.

A file sink is exactly-once for those who read it through its log: files of attempts that failed lie in the same folder
and are in no log.
"""

import json
from pathlib import Path
from urllib.parse import unquote, urlparse

LOG = "_spark_metadata"


def committed_files(folder: Path) -> dict[Path, int]:
    """Files that belong to committed batches, and the batch of each."""
    log = folder / LOG
    if not log.is_dir():
        return {}
    found: dict[str, int] = {}
    for file in sorted(log.iterdir(), key=_number):
        if _number(file) < 0:
            continue
        # The first line is the version; a compacted file repeats what came before it.
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            entry = json.loads(line)
            if entry["action"] == "add":
                found.setdefault(entry["path"], _number(file))
            else:
                found.pop(entry["path"], None)
    return {_path(text): batch for text, batch in found.items()}


def _number(file: Path) -> int:
    name = file.name.removesuffix(".compact")
    return int(name) if name.isdecimal() else -1


def _path(text: str) -> Path:
    return Path(unquote(urlparse(text).path))
