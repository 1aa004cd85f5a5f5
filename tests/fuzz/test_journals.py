"""Journals that are broken, or that somebody made: read, planned again, told, drawn, gone on from."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from elastream.journal.reader import read
from elastream.journal.replay import replay
from elastream.journal.resume import last_size, resume
from elastream.journal.story import sentences
from elastream.journal.writer import journal_files
from elastream.render.page.page import page
from tests.fuzz.absurd import bend, shuffle_lines, tear
from tests.fuzz.harness import fuzz, outcome, sizes
from tests.unit.journal_samples import ByArrival, observation, planner, record

OLD = Path(__file__).parent.parent / "unit" / "journals" / "schema-2"
NEXT = observation(500.0, 1e6)


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> list[list[list[bytes]]]:
    """Journals as the lines of their files: of today with a policy that no registry knows, of today, and an old one."""
    folder = tmp_path_factory.mktemp("journal")
    record(folder, [100.0, 900.0, None, 400.0] * 8, max_bytes=8192, keep=3)
    return [[file.read_bytes().splitlines(keepends=True) for file in journal_files(at)] for at in (folder, OLD)]


def damage(draw: random.Random, files: list[list[bytes]]) -> list[bytes]:
    """The files with something wrong in one or two of them."""
    files = [list(lines) for lines in files]
    for _ in range(draw.randrange(1, 3)):
        number = draw.randrange(len(files))
        lines = files[number]
        if not lines:
            continue
        # The top of a file is where most of its meaning is.
        at = draw.randrange(len(lines)) if draw.random() < 0.5 else min(draw.randrange(3), len(lines) - 1)
        kind = draw.randrange(4)
        if kind <= 1:
            try:
                bent = bend(draw, json.loads(lines[at]), draw.randrange(1, 3))
                lines[at] = json.dumps(bent).encode() + b"\n"
            except (ValueError, RecursionError):
                lines[at] = tear(draw, lines[at])
        elif kind == 2:
            lines[at] = tear(draw, lines[at])
        else:
            files[number] = shuffle_lines(draw, lines)
    return [b"".join(lines) for lines in files]


def attempt(journals: list[list[list[bytes]]], folder: Path, use: Callable[[Path], object]) -> Callable[..., str]:
    def once(draw: random.Random) -> str:
        for old in journal_files(folder):
            old.unlink()
        for number, text in enumerate(damage(draw, draw.choice(journals)), 1):
            (folder / f"journal-{number:06d}.jsonl").write_bytes(text)
        return outcome(lambda: use(folder))

    return once


def go_on(folder: Path) -> None:
    """What `attach` does, which must not raise, whatever is there."""
    one = planner()
    told = resume(one, folder, NEXT)
    size = last_size(folder)
    assert told.startswith(("starts anew: ", "goes on from ")), told
    assert "\n" not in told
    assert size is None or size >= 0
    # Whatever it took over, it decides, and can be recorded.
    plan = one.plan(NEXT)
    assert plan.troubles == (), plan.troubles
    json.dumps(one.snapshot())


@sizes(150, 6000)
def test_a_damaged_journal_is_planned_again_or_refused(
    cases: int, journals: list[list[list[bytes]]], tmp_path: Path
) -> None:
    def plan_again(folder: Path) -> None:
        recording = read(folder)
        known = {part.header.policy for part in recording.parts} & {"lag-proportional"}
        assert replay(recording, policy=None if known else ByArrival()).sentence()

    fuzz("journals replayed", cases, attempt(journals, tmp_path, plan_again))


@sizes(150, 6000)
def test_a_damaged_journal_is_told_or_refused(cases: int, journals: list[list[list[bytes]]], tmp_path: Path) -> None:
    def tell(folder: Path) -> None:
        for line in sentences(read(folder)):
            assert line.text()

    fuzz("journals told", cases, attempt(journals, tmp_path, tell))


@sizes(80, 3000)
def test_a_damaged_journal_is_drawn_or_refused(cases: int, journals: list[list[list[bytes]]], tmp_path: Path) -> None:
    fuzz("journals drawn", cases, attempt(journals, tmp_path, lambda folder: page(read(folder))))


@sizes(150, 6000)
def test_from_a_damaged_journal_a_run_goes_on_or_starts_anew_and_never_fails(
    cases: int, journals: list[list[list[bytes]]], tmp_path: Path
) -> None:
    found = fuzz("journals gone on from", cases, attempt(journals, tmp_path, go_on))
    assert set(found) == {"read"}
