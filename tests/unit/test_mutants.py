"""Every mutant finds the text that it changes and the test that must notice."""

from functools import cache
from pathlib import Path

import pytest

from tools.mutants import MUTANTS, ROOT, Mutant


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.fault)
def test_a_mutant_finds_its_text_and_its_test(mutant: Mutant) -> None:
    assert read(ROOT / mutant.file).count(mutant.before) == 1
    file, _, name = mutant.test.partition("::")
    text = read(ROOT / file)
    assert not name or f"def {name.partition('[')[0].rpartition('::')[2]}(" in text
