"""Where a run came from: without that its numbers mean nothing to others."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("elastream", "numpy", "pydantic", "pyarrow", "pyspark", "duckdb", "pandas")


def find_environment(origin: Mapping[str, str | None] | None = None) -> dict[str, object]:
    """Versions, commit, machine, and what else it is doing; `origin` is that of code that was shipped here."""
    found = {**_find_constant(), "load": list(os.getloadavg())}
    if origin is not None:
        found |= {"commit": origin["commit"], "versions": {**found["versions"], "elastream": origin["version"]}}
    return found


def find_origin() -> dict[str, str | None]:
    """Of the code that runs here, for those that it is shipped to."""
    found = _find_constant()
    return {"version": found["versions"].get("elastream"), "commit": found["commit"]}


@cache
def _find_constant() -> dict[str, Any]:
    return {
        "versions": {"python": platform.python_version(), **_versions()},
        "commit": _commit(),
        "machine": {
            "system": f"{platform.system()} {platform.release()}",
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        },
    }


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _commit() -> str | None:
    """Of the checkout that the code runs from; None where it was installed. A mark says that it was changed since."""
    here = Path(__file__).parent
    told = [_git(here, "rev-parse", "HEAD"), _git(here, "status", "--porcelain", "--untracked-files=no")]
    if told[0] is None:
        return None
    return f"{told[0]}{'+changes' if told[1] else ''}"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())
