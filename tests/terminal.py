"""A terminal of a given size for tests: runs a program on a pseudo-terminal and keeps what a person would see."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import NamedTuple

ESCAPE = re.compile(r"\x1b(?:\[([?\d;]*)([A-Za-z])|\][^\x07]*\x07|[=>])")
# What a shell sets, and a person may have set, and what would make a program disregard the terminal.
HIDDEN = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE")

PATIENCE_S = 30.0


class Cell(NamedTuple):
    """One place of the screen."""

    character: str = " "
    is_red: bool = False


@dataclass
class Screen:
    """Understands the few sequences that programs here write; any other is an error, not a guess."""

    columns: int
    lines: list[list[Cell]] = field(default_factory=lambda: [[]])
    wrapped: list[str] = field(default_factory=list)
    """Lines that did not fit, as far as they did."""
    frames: list[str] = field(default_factory=list)
    """What was on the screen each time before it was drawn anew."""
    _row: int = 0
    _column: int = 0
    _is_red: bool = False
    _is_new: bool = False

    def feed(self, text: str) -> None:
        """Show what a program has written."""
        at = 0
        while at < len(text):
            found = ESCAPE.match(text, at)
            if found is not None:
                self._obey(found[1] or "", found[2] or "")
                at = found.end()
                continue
            self._put(text[at])
            at += 1

    @property
    def text(self) -> str:
        """Everything that is on it, and what has scrolled off its top."""
        return "\n".join("".join(cell.character for cell in line).rstrip() for line in self.lines)

    def red(self) -> str:
        """What is written in red."""
        return "".join(cell.character for line in self.lines for cell in line if cell.is_red)

    def _put(self, character: str) -> None:
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._row += 1
            self._grow()
        else:
            assert character.isprintable(), f"{character!r} does not belong on a screen"
            if self._column == self.columns:
                self.wrapped.append("".join(cell.character for cell in self.lines[self._row]))
                self._row, self._column = self._row + 1, 0
            self._grow()
            line = self.lines[self._row]
            line.extend(Cell() for _ in range(self._column + 1 - len(line)))
            line[self._column] = Cell(character, self._is_red)
            self._is_new = True
            self._column += 1

    def _grow(self) -> None:
        self.lines.extend([] for _ in range(self._row + 1 - len(self.lines)))

    def _obey(self, given: str, what: str) -> None:
        number = int(given) if given.isdecimal() else 1
        if what == "m":
            for code in (given or "0").split(";"):
                self._is_red = code in ("31", "91") or (self._is_red and code not in ("0", "39"))
        elif what == "A":
            self._row = max(0, self._row - number)
        elif what == "K":
            if given == "2":
                if self._is_new:
                    self.frames.append(self.text)
                self._is_new = False
                self.lines[self._row] = []
            else:
                del self.lines[self._row][self._column :]
        elif what not in ("h", "l", ""):
            raise AssertionError(f"a sequence that this screen does not know: {given}{what}")


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a program left on the screen, what it wrote to get there, and its exit code."""

    screen: Screen
    written: str
    code: int

    @property
    def text(self) -> str:
        return self.screen.text


def run_on_terminal(*arguments: str, columns: int, rows: int = 40, folder: Path | None = None) -> Seen:
    """Run Python with arguments on a terminal of its own until it ends."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in HIDDEN} | {"TERM": "xterm-256color"}
    program = subprocess.Popen(
        [sys.executable, *arguments], stdin=slave, stdout=slave, stderr=slave, env=environment, cwd=folder
    )
    os.close(slave)
    # What hangs is ended, so that the test says what it had shown until then.
    end = Timer(PATIENCE_S, program.kill)
    end.start()
    written = bytearray()
    try:
        while piece := _read(master):
            written += piece
        code = program.wait()
    finally:
        end.cancel()
        os.close(master)
    screen = Screen(columns)
    screen.feed(written.decode())
    return Seen(screen=screen, written=written.decode(), code=code)


def _read(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:
        # Linux says so when the last program on the terminal has ended.
        return b""
