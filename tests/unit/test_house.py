"""What holds of all our code, wherever it stands."""

import ast
from collections import Counter
from pathlib import Path

import elastream

MODULES = sorted(Path(elastream.__file__).parent.rglob("*.py"))


def test_no_two_classes_have_one_name() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in MODULES]
    names = Counter(node.name for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    assert len(names) > 500
    assert [name for name, times in names.items() if times > 1] == []


def test_no_file_is_longer_than_400_lines() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    assert [f"{name}: {lines} lines" for name, lines in lengths.items() if lines > 400] == []
