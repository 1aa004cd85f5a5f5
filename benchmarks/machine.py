"""Where a figure came from: without that it means nothing."""

import os
import platform
import time
from collections.abc import Callable
from statistics import median


def machine() -> str:
    """Processor, cores, Python."""
    return f"{_processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"


def cpu_seconds(work: Callable[[], object], *, runs: int = 5) -> tuple[float, float, float]:
    """Least, median and greatest processor time of some runs, after one to warm up.

    Processor time, because the machine may be shared: what others do then costs others.
    """
    work()
    times = []
    for _ in range(runs):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times), median(times), max(times)


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:  # noqa: PTH123 - a device file, not a path of ours
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
