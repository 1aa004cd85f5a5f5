"""What a cluster that exists must have, asked once before anything is measured: a search lasts hours.

An application of the largest layout is started as a probe would be. So it is seen whether the driver is let in, whether
its executors come with so many cores and so much memory, and whether they have a Python and a Spark like the driver's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elastream.core.errors import BadInput
from elastream.experiments.scalability import cluster_script
from elastream.experiments.scalability.layout import Layout

# Executors of a cluster that has room come within seconds; a machine that is busy takes longer.
_EXECUTORS_S = 60.0
_START_S = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswer:
    """What an application found there."""

    executors: int
    spark: str
    """Of the driver, as is the next."""
    python: str
    seen: tuple[tuple[str, str], ...]
    """Python and Spark on executors."""
    problem: str | None
    """Why Python could not be run there."""


def check_cluster(master: str, layout: Layout, memory: str) -> None:
    """BadInput, in one line, if the cluster cannot have that layout."""
    command = [
        sys.executable, "-m", "elastream", "run", "--quiet", "--master", master,
        "--executors", f"{layout.workers}..{layout.workers}", "--policy", "fixed",
        *(word for key, value in layout.settings(memory).items() for word in ("--conf", f"{key}={value}")),
        str(Path(cluster_script.__file__)), str(layout.workers), str(layout.cores), f"{_EXECUTORS_S:g}",
    ]  # fmt: skip
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_START_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"--master {master}: no application began there within {_START_S:.0f} s; is it the right address, and does "
            "the master let this driver in?"
        ) from None
    answer = read_answer(done.stdout)
    if answer is None:
        raise BadInput(f"--master {master}: no application can be started there: {_find_last(done.stderr)}")
    lack = find_lack(answer, layout, memory)
    if lack is not None:
        raise BadInput(f"--master {master}: {lack}")


def read_answer(text: str) -> ClusterAnswer | None:
    """From what the script printed; None if it printed no answer."""
    line = next((line for line in text.splitlines() if line.startswith(cluster_script.MARK)), None)
    if line is None:
        return None
    told: dict[str, Any] = json.loads(line.removeprefix(cluster_script.MARK))
    seen = tuple((str(python), str(spark)) for python, spark in told["seen"])
    return ClusterAnswer(
        executors=told["executors"], spark=told["spark"], python=told["python"], seen=seen, problem=told["problem"]
    )


def find_lack(answer: ClusterAnswer, layout: Layout, memory: str) -> str | None:
    """What the cluster lacks for a layout; None: nothing."""
    if answer.executors < layout.workers:
        return (
            f"{layout.name} needs {layout.workers} executors of {layout.cores} cores and a heap of "
            f"{layout.heap_mib(memory)} MiB, and {answer.executors} came within {_EXECUTORS_S:.0f} s; add workers, or "
            "leave that layout out (--layouts, --memory)"
        )
    if answer.problem is not None:
        return (
            f"executors cannot run Python {_short(answer.python)} as the driver does: {answer.problem}; install it "
            "there, or name it (spark.pyspark.python)"
        )
    for python, spark in answer.seen:
        if _short(python) != _short(answer.python):
            return f"executors have Python {python}, the driver {answer.python}; both must be of one minor version"
        if spark != answer.spark:
            return f"executors have Spark {spark}, the driver {answer.spark}; install that version for the driver"
    return None


def _short(version: str) -> str:
    """Without what may differ."""
    return ".".join(version.split(".")[:2])


def _find_last(text: str) -> str:
    """The line that tells an error, or the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    ours = f"elastream: {Path(cluster_script.__file__).name}: "
    return lines[-1].removeprefix(ours)[:300] if lines else "it said nothing"
