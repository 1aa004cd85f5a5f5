"""Where a run came from: without that its numbers mean nothing to others."""

from __future__ import annotations

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("elastream", "numpy", "pydantic", "pyarrow", "pyspark", "duckdb", "pandas")


def find_environment() -> dict[str, object]:
    """Versions, commit, machine, and what else it is doing."""
    return {**_find_constant(), "load": list(os.getloadavg())}


@cache
def _find_constant() -> dict[str, object]:
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
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=True
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
