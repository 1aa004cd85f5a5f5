"""How far queries have come, read from their checkpoints: it needs no driver that answers."""

import json
from pathlib import Path


def committed(folder: Path, name: str) -> int:
    """The last batch that is finished for good; -1 before the first."""
    return _last(folder / name / "checkpoint" / "commits")


def planned_rows(folder: Path, name: str) -> int:
    """How many rows of its source the query has read or is reading."""
    offsets = folder / name / "checkpoint" / "offsets"
    last = _last(offsets)
    if last < 0:
        return 0
    _, _, *sources = (offsets / str(last)).read_text().splitlines()
    return max(int(json.loads(source)["offset"]) for source in sources)


def _last(log: Path) -> int:
    if not log.exists():
        return -1
    return max((int(entry.name) for entry in log.iterdir() if entry.name.isdecimal()), default=-1)
