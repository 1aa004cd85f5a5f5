"""The files of an event log, and the events in them that say something: a file, or a folder that Spark rolled.

    APP, APP.zstd                                     one file of JSON lines
    eventlog_v2_APP/events_1_APP.zstd, events_2_...   several, in their order

They were written by others. What is no event is left out; lines and files have a bound.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from elastream.core.errors import BadInput
from elastream.core.extras import MissingExtra
from elastream.core.input_file import open_input

MOST_BYTES = 8 * 2**30
"""Unpacked. Some weeks of a query with a batch every few seconds."""
MOST_LINE = 8 * 2**20
"""Longer lines are plans and stack traces, of which nothing is read."""
_PIECE = 2**20
_BEGINS = b'{"Event":"'
_ROLLED = re.compile(r"events_(\d{1,9})_", re.ASCII)
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
KINDS = frozenset({
    "SparkListenerLogStart", "SparkListenerApplicationStart", "SparkListenerEnvironmentUpdate",
    "SparkListenerExecutorAdded", "SparkListenerExecutorRemoved", "SparkListenerJobStart",
    "SparkListenerStageSubmitted", "SparkListenerTaskEnd", f"{_STREAMING}QueryProgressEvent",
})  # fmt: skip

LogEvent = dict[str, Any]


def find_event_files(path: Path) -> list[Path]:
    """The files of an event log in their order; none where a path is no event log."""
    if path.is_dir():
        rolled = [(int(found[1]), file) for file in path.iterdir() if (found := _ROLLED.match(file.name))]
        return [file for _, file in sorted(rolled)]
    if not path.is_file():
        return []
    try:
        with _open(path) as stream:
            return [path] if stream.read(len(_BEGINS)) == _BEGINS else []
    except OSError:
        return []


class EventReader:
    """Reads the events of some files once."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files = files
        self._left = MOST_BYTES
        self.troubles: list[str] = []
        """What was left out, a sentence each."""

    def events(self) -> Iterator[LogEvent]:
        """Those of which something is read, in their order."""
        for file in self._files:
            try:
                with _open(file) as stream:
                    yield from self._parse(stream, file)
            except (OSError, EOFError) as wrong:
                # The newest file of an application that runs is packed up to its last flush.
                self.troubles.append(f"{file.name}: it ends within what is packed: {wrong}")

    def _parse(self, stream: IO[bytes], file: Path) -> Iterator[LogEvent]:
        for line in self._lines(stream, file):
            if not line.startswith(_BEGINS) or line[len(_BEGINS) : line.find(b'"', len(_BEGINS))].decode() not in KINDS:
                continue
            try:
                event = json.loads(line)
            except (ValueError, RecursionError):
                self._tell(f"{file.name}: a line that is no event was left out")
                continue
            if isinstance(event, dict):
                yield event

    def _lines(self, stream: IO[bytes], file: Path) -> Iterator[bytes]:
        rest, is_long = b"", False
        # Of what is torn, what came before is given at once.
        read = getattr(stream, "read1", stream.read)
        while piece := read(_PIECE):
            self._left -= len(piece)
            if self._left < 0:
                raise BadInput(f"{file}: more than {MOST_BYTES // 2**30} GiB of events; give a part of its files")
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                if not is_long and len(line) <= MOST_LINE:
                    yield line
                is_long = False
            if len(rest) > MOST_LINE:
                rest, is_long = b"", True
        if rest and not is_long:
            yield rest

    def _tell(self, sentence: str) -> None:
        if sentence not in self.troubles:
            self.troubles.append(sentence)


@contextmanager
def _open(file: Path) -> Iterator[IO[bytes]]:
    """What is packed in a file."""
    suffixes = [suffix for suffix in file.suffixes if suffix != ".inprogress"]
    packed = suffixes[-1] if suffixes else ""
    if packed in (".lz4", ".lzf", ".snappy"):
        raise BadInput(f"{file}: packed with {packed[1:]}, which is not read here; unpack it, or have Spark use zstd")
    with open_input(file) as raw:
        if packed == ".gz":
            with gzip.GzipFile(fileobj=raw, mode="rb") as unpacked:
                yield unpacked  # type: ignore[misc]
        elif packed in (".zstd", ".zst"):
            try:
                import pyarrow as pa  # type: ignore[import-untyped]
            except ModuleNotFoundError:
                raise MissingExtra(f"{file.name}: reading what zstd packed", "pyarrow") from None
            with pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd") as stream:
                yield stream
        else:
            yield raw
