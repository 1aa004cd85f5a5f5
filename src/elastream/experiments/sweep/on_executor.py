"""What runs on executors. It travels by value, inside Spark's tasks, to machines that do not have Elastream.

So it begins with nothing but Python's own library, and imports everything else where it needs it, once what was
shipped can be imported.
"""

from __future__ import annotations

import gc
import importlib
import os
import platform
import socket
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Orders(NamedTuple):
    """What all tasks of a sweep have in common: plain values only."""

    archives: tuple[str, ...]
    """Names under which Spark unpacked what was shipped: Elastream, what a plan needs of its user, other packages."""
    files: dict[str, str]
    """Path of a file as experiments name it -> where it lies in the second archive."""
    origin: dict[str, str | None]
    """Of the code: version and commit."""
    mark: str
    """A folder among the runs, which executors must see and may write to."""


NEEDED = {"numpy": (1, 26), "pydantic": (2, 7)}
"""What executors must have, and since which version."""


def check_executor(orders: tuple[Any, ...], _: Iterable[object]) -> Iterator[dict[str, Any]]:
    """Tell what this executor's Python is and lacks."""
    archives, _files, _origin, mark = orders
    roots = add_to_path(archives)
    lacking = [lack for name, least in NEEDED.items() if (lack := find_lack(name, least)) is not None]
    wrong = None
    if not lacking:
        try:
            found = importlib.import_module("elastream.experiments.experiment").__file__
            # Whatever is installed there, what decides results is the code that named them.
            wrong = None if str(found).startswith(roots[0]) else f"it would run the code of {found}"
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
    yield {
        "host": socket.gethostname(),
        "python": sys.executable,
        "version": platform.python_version(),
        "kind": f"{sys.implementation.cache_tag} {sys.platform} {platform.machine()}",
        "lacking": lacking,
        "has_pyarrow": find_lack("pyarrow", (18,)) is None,
        "wrong": wrong,
        "sees_folder": Path(mark).is_dir() and os.access(mark, os.W_OK),
    }


def run_rows(orders: tuple[Any, ...], rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """Run and store the experiments of a partition."""
    roots = add_to_path(orders[0])
    rowwise = importlib.import_module("elastream.experiments.sweep.row")
    for row in rows:
        yield rowwise.run_row(orders, roots[1], row)
    if not gc.get_freeze_count():
        # Spark's Python collects garbage after each task: what was imported stays, and is not looked at again.
        # The first experiment imports much of it.
        rowwise.collect_seldom()
        gc.collect()
        gc.freeze()


def add_to_path(archives: Iterable[str]) -> list[str]:
    """Make what was shipped importable: Elastream before everything, the rest behind it."""
    from pyspark import SparkFiles

    roots = [str(SparkFiles.get(name)) for name in archives]
    before = [path for path in sys.path if Path(path).name.startswith("plan-") and path not in roots]
    if before:
        # A Python outlives a sweep: classes of another plan may have the same names.
        sys.path[:] = [path for path in sys.path if path not in before]
        for name, module in list(sys.modules.items()):
            if str(Path(getattr(module, "__file__", None) or "/").parent).startswith(tuple(before)):
                del sys.modules[name]
    for number, root in enumerate(roots):
        if root not in sys.path:
            sys.path.insert(0 if number == 0 else len(sys.path), root)
    return roots


def find_lack(name: str, least: tuple[int, ...]) -> str | None:
    """What is wrong with a package: not there, not to be imported, or too old."""
    wanted = ".".join(map(str, least))
    try:
        version = str(importlib.import_module(name).__version__)
    except Exception as error:
        return f"{name} ({wanted} or newer; {type(error).__name__}: {error})"
    numbers = tuple(int(part) for part in version.split(".")[: len(least)] if part.isdigit())
    return f"{name} {wanted} or newer (it has {version})" if numbers < least else None
