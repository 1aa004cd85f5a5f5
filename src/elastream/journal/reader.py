"""A recorded run, read back."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

from elastream.core.errors import JournalError
from elastream.core.input_file import open_input
from elastream.core.tick import Tick
from elastream.journal.format import (
    Dropped,
    Header,
    Line,
    parse_dropped,
    parse_header,
    parse_tick,
    sanitize_line,
    upgraded,
)
from elastream.journal.validation import believe, believe_header, is_deep
from elastream.journal.writer import journal_files


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file: it can be replayed without the others."""

    name: str
    header: Header
    snapshot: dict[str, Any] | None
    """What the planner remembered before the first tick; None if it had seen nothing, or as the header tells."""
    dropped: Dropped | None = None
    """What the writer had dropped by then to stay within its bytes."""
    ticks: Iterable[Tick]
    """Can be gone through more than once; those of a file are read while one goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Files in the order they were written. A folder may hold several runs: the header says which is which."""

    parts: tuple[Part, ...]
    warnings: tuple[str, ...] = ()

    @property
    def header(self) -> Header:
        """Of the newest file."""
        return self.parts[-1].header

    @property
    def snapshot(self) -> dict[str, Any] | None:
        """What was remembered before the first tick of all."""
        return self.parts[0].snapshot

    @property
    def ticks(self) -> Iterator[Tick]:
        """All ticks, oldest first."""
        return chain.from_iterable(part.ticks for part in self.parts)


def read(path: Path) -> Recording:
    """A journal: its folder, or one of its files. A torn last line is left out, with a warning."""
    if not path.exists():
        raise JournalError(f"{path}: there is no such journal")
    files = journal_files(path) if path.is_dir() else [path]
    if not files:
        raise JournalError(f"{path}: no journal in this folder; its files are called journal-000001.jsonl and so on")
    parts, warnings = [], []
    for file in files:
        lines, torn = _complete_lines(file)
        if torn:
            warnings.append(f"{file}: line {lines + 1} is torn and was left out: the writer was stopped within it")
        if lines:
            parts.append(_part(file, lines))
    if not parts:
        raise JournalError(f"{path}: not one complete line; nothing was recorded")
    dropped = next((part.dropped for part in reversed(parts) if part.dropped is not None), None)
    if dropped is not None and path.is_dir():
        warnings.insert(
            0,
            f"{path}: the beginning is not there: {dropped.files} files up to {dropped.last} "
            f"({dropped.bytes:,} bytes) were dropped to stay within the bytes allowed",
        )
    return Recording(parts=tuple(parts), warnings=tuple(warnings))


@dataclass(frozen=True, slots=True)
class _FileTicks:
    """The ticks of a file, read anew each time; lines written since it was opened are not among them."""

    path: Path
    schema: int
    max_age_s: float
    first: int
    lines: int

    def __iter__(self) -> Iterator[Tick]:
        for number, line in _lines(self.path, self.first, self.lines):
            where = f"{self.path}: line {number}"
            yield believe(parse_tick(upgraded(line, self.schema, where), where), self.max_age_s, where)


def read_header(line: Line, where: str) -> tuple[int, Header]:
    """The schema of a file and its header, from its first line."""
    schema = line.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise JournalError(f"{where}: no header; this is no journal, or its beginning is lost")
    return schema, believe_header(parse_header(upgraded(line, schema, where), where), where)


def _part(path: Path, lines: int) -> Part:
    top = [line for _, line in _lines(path, 1, min(3, lines))]
    where = f"{path}: line 1"
    schema, header = read_header(top[0], where)
    rest = [upgraded(line, schema, f"{path}: line {number}") for number, line in enumerate(top[1:], 2)]
    dropped = parse_dropped(rest[0], f"{path}: line 2") if rest else None
    if dropped is not None:
        rest = rest[1:]
    snapshot = rest[0].get("snapshot") if rest else None
    if snapshot is not None and (not isinstance(snapshot, dict) or is_deep(snapshot)):
        raise JournalError(f"{path}: a snapshot that cannot be read: no writer has made it")
    first = 2 + (dropped is not None) + (snapshot is not None)
    ticks = _FileTicks(path, schema, header.max_age_s, first, lines)
    return Part(name=path.name, header=header, snapshot=snapshot, dropped=dropped, ticks=ticks)


def _complete_lines(path: Path) -> tuple[int, bool]:
    """How many lines there are, and whether one more was begun."""
    lines, last = 0, b""
    try:
        with open_input(path) as file:
            for raw in file:
                lines, last = lines + 1, raw
    except OSError as wrong:
        raise JournalError(f"{path}: cannot be read: {wrong.strerror}") from None
    # After a power loss the end of a file may also be a block of zeros, with or without a line end.
    torn = lines > 0 and _parsed(last) is None
    return lines - torn, torn


def _lines(path: Path, first: int, last: int) -> Iterator[tuple[int, Line]]:
    with open_input(path) as file:
        for number, raw in enumerate(islice(file, first - 1, last), first):
            line = _parsed(raw)
            if line is None:
                raise JournalError(f"{path}: line {number} is not JSON; the file is damaged, replay the others alone")
            yield number, line


def _parsed(raw: bytes) -> Line | None:
    try:
        line = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    # Others may have written it, or a version of ours that hid less.
    return sanitize_line(line) if isinstance(line, dict) else None
