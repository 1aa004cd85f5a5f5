"""Throw absurd input at something and see that it answers, or refuses in one line.

A case is made from a number, its seed, and nothing else. The seeds of cases that failed are kept in `.fuzz`, tried
first the next time, and named in the failure: `FUZZ_SEED=17 pytest tests/fuzz/test_journals.py` tries one alone.
"""

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from elastream.core.errors import ElastreamError

SEEDS = Path(".fuzz")
ONE_SEED = "FUZZ_SEED"

# Most cases take milliseconds. Of processor time, so that a busy machine is no failure.
LONGEST_S = 20.0

COUNTS: dict[str, Counter[str]] = {}
"""What was fuzzed -> how often each answer came, for the end of the run."""


def fuzz(name: str, cases: int, attempt: Callable[[random.Random], str]) -> Counter[str]:
    """Try so many cases, each of which answers with a word; how often each came. A crash fails, with its seed."""
    answers = COUNTS.setdefault(name, Counter())
    for seed in _seeds(name, cases):
        began_s = time.process_time()
        try:
            answer = attempt(random.Random(f"{name} {seed}"))
            took_s = time.process_time() - began_s
            assert took_s < LONGEST_S, f"one case took {took_s:.0f} s"
        except Exception as crash:
            _keep(name, seed)
            pytest.fail(
                f"{name}, seed {seed} ({ONE_SEED}={seed}): {type(crash).__name__}: {crash!s:.500}", pytrace=True
            )
        answers[answer] += 1
    return answers


def outcome(call: Callable[[], object]) -> str:
    """`read`, or `refused` if it says why in one line; whatever else it raises is a crash."""
    try:
        call()
    except ElastreamError as wrong:
        check_line(str(wrong))
        return "refused"
    return "read"


def check_line(text: str) -> None:
    assert text.strip(), "an empty message"
    assert "\n" not in text, f"more than one line: {text!r}"
    assert len(text) < 3000, f"{len(text)} characters: {text[:200]!r}"


def sizes(short: int, full: int) -> pytest.MarkDecorator:
    """A few cases in every run, many in the long one."""
    return pytest.mark.parametrize(
        "cases", [pytest.param(short, id="short"), pytest.param(full, id="long", marks=pytest.mark.full)]
    )


def _seeds(name: str, cases: int) -> list[int]:
    if ONE_SEED in os.environ:
        return [int(os.environ[ONE_SEED])]
    kept = SEEDS / name
    before = [int(line) for line in kept.read_text().split()] if kept.exists() else []
    return [*dict.fromkeys([*before, *range(cases)])]


def _keep(name: str, seed: int) -> None:
    SEEDS.mkdir(exist_ok=True)
    kept = SEEDS / name
    before = kept.read_text().split() if kept.exists() else []
    kept.write_text("\n".join(dict.fromkeys([str(seed), *before])) + "\n")
