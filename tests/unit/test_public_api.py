"""What is public: its names, that each can be imported again and again, and its signatures."""

import pkgutil
import subprocess
import sys
from pathlib import Path

import elastream
from tools.public_api import render

PINNED = Path(__file__).with_name("public_api.txt")


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(elastream) == sorted(elastream.__all__)


def test_no_public_name_is_that_of_a_module() -> None:
    modules = {module.name for module in pkgutil.iter_modules(elastream.__path__)}
    assert modules & set(elastream.__all__) == set()


def test_each_name_is_the_same_whatever_was_imported_before_it() -> None:
    # In a process of its own, in which nothing of it was imported.
    text = """
import importlib, pkgutil, elastream
first = {}
for name in elastream.__all__:
    exec(f"from elastream import {name} as found", scope := {})
    first[name] = scope["found"]
for module in pkgutil.iter_modules(elastream.__path__):
    if module.name not in ("__main__", "launch", "cli"):
        importlib.import_module(f"elastream.{module.name}")
for name in elastream.__all__:
    exec(f"from elastream import {name} as found", scope := {})
    assert scope["found"] is first[name] or name == "__version__", name
from elastream import policies, workloads
assert policies is importlib.import_module("elastream.policies")
assert workloads is importlib.import_module("elastream.workloads")
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_signatures_change_on_purpose_only() -> None:
    found = render()
    assert found == PINNED.read_text(encoding="utf-8"), (
        "the public API has changed; if that is meant: python -m tools.public_api > tests/unit/public_api.txt, and say "
        "it in CHANGELOG.md"
    )
