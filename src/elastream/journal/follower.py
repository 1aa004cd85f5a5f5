"""A journal while it is being written: what has come since it was last asked."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from elastream.core.errors import JournalError
from elastream.core.tick import Tick
from elastream.journal.format import Header, Line, parse_tick, sanitize_line, upgraded
from elastream.journal.reader import read_header
from elastream.journal.validation import believe
from elastream.journal.writer import journal_files, number_of

_PIECE = 1 << 20


class JournalFollower:
    """Reads complete lines only: what is torn is either not written yet, or was given up for a newer file.

    Files that were dropped before they were read are left out, and so are lines that make no sense, with a trouble.
    """

    def __init__(self, folder: Path, *, newest: int | None = None) -> None:
        self.folder = folder
        self.troubles: list[str] = []
        """What was left out since somebody asked last, a sentence each."""
        self._file: Path | None = None
        self._after = 0
        self._offset = 0
        self._line = 0
        self._schema = 0
        self._max_age_s = 0.0
        if newest is not None:
            before = journal_files(folder)[:-newest]
            self._after = number_of(before[-1]) if before else 0

    def read(self) -> Iterator[Header | Tick]:
        """Everything since the last time, in its order; the header of a file ahead of its ticks."""
        while True:
            if self._file is None and not self._open_next():
                return
            yield from self._read_lines()
            # What was begun behind it says that no more comes to this one.
            if not any(number_of(path) > self._after for path in journal_files(self.folder)):
                return
            yield from self._read_lines()
            self._file = None

    def _open_next(self) -> bool:
        following = [path for path in journal_files(self.folder) if number_of(path) > self._after]
        if not following:
            return False
        self._file = following[0]
        self._after, self._offset, self._line, self._schema = number_of(following[0]), 0, 0, 0
        return True

    def _read_lines(self) -> Iterator[Header | Tick]:
        assert self._file is not None
        try:
            with self._file.open("rb") as file:
                file.seek(self._offset)
                # One line after the other: a file may be as large as its owner likes.
                while (raw := file.readline(64 * _PIECE)).endswith(b"\n"):
                    self._offset += len(raw)
                    self._line += 1
                    found = self._parse(raw)
                    if found is not None:
                        yield found
        except OSError as wrong:
            if not isinstance(wrong, FileNotFoundError):
                self.troubles.append(f"{self._file}: cannot be read: {wrong.strerror}")

    def _parse(self, raw: bytes) -> Header | Tick | None:
        where = f"{self._file}: line {self._line}"
        try:
            line = json.loads(raw)
            if not isinstance(line, dict):
                raise JournalError(f"{where} is no line of a journal")
            return self._understand(sanitize_line(line), where)
        except (ValueError, RecursionError):
            self.troubles.append(f"{where} is not JSON and was left out")
        except JournalError as wrong:
            self.troubles.append(str(wrong))
        return None

    def _understand(self, line: Line, where: str) -> Header | Tick | None:
        if self._line == 1:
            schema, header = read_header(line, where)
            self._schema, self._max_age_s = schema, header.max_age_s
            return header
        # Behind a header that could not be read, nothing else can be.
        if "dropped" in line or "snapshot" in line or not self._schema:
            return None
        return believe(parse_tick(upgraded(line, self._schema, where), where), self._max_age_s, where)
