"""What a cluster gives an application: `python cluster_script.py EXECUTORS CORES SECONDS` prints one line of JSON."""

from __future__ import annotations

import json
import platform
import sys
import time
from typing import Any

MARK = "elastream-cluster: "
"""Before the line that answers."""


def main(executors: int, cores: int, wait_s: float) -> None:
    """Wait for executors, and let every slot of them run Python."""
    from pyspark.sql import SparkSession

    # By value: executors cannot import this file.
    def see(_: int) -> tuple[str, str]:
        import pyspark

        return platform.python_version(), pyspark.__version__

    builder: SparkSession.Builder = SparkSession.builder
    spark = builder.appName("elastream-scalability-check").getOrCreate()
    context: Any = spark.sparkContext
    until_s = time.monotonic() + wait_s
    # One of them is the driver.
    while (there := len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1) < executors:
        if time.monotonic() > until_s:
            break
        time.sleep(0.5)
    told: dict[str, Any] = {
        "executors": there, "spark": context.version, "python": platform.python_version(), "seen": [], "problem": None,
    }  # fmt: skip
    if there:
        try:
            told["seen"] = sorted(set(context.parallelize(range(there * cores), there * cores).map(see).collect()))
        except Exception as problem:  # Spark has many, and whatever it is keeps Python from running there.
            told["problem"] = _find_cause(str(problem))
    print(MARK + json.dumps(told), flush=True)  # noqa: T201 (who has started this reads it)
    spark.stop()


def _find_cause(text: str) -> str:
    """The line that says what is wrong, of some hundred."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for word in ("PYTHON_VERSION_MISMATCH", "Cannot run program", "No module named", "Caused by"):
        found = next((line for line in lines if word in line), None)
        if found is not None:
            return found[:300]
    return lines[0][:300] if lines else "nothing was said"


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]))
