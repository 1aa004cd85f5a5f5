"""The start of a session from a command: no page of what Spark has to say over it, and one line if it is not let in."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.spark.admission import require_admission

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start_driver(builder: SparkSession.Builder, folder: Path) -> SparkSession:
    """The session of a builder; CannotRun if its cluster does not want it."""
    # A JVM tells of its modules before it has read where to log.
    with _stderr_to(folder / "driver-stderr.log"):
        _require_admission(builder._options)
        return builder.getOrCreate()


def _require_admission(settings: Mapping[str, str]) -> None:
    """A cluster that is not ours may not want us, which Spark would say late and at length."""
    from pyspark import SparkConf, SparkContext

    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    SparkContext._ensure_initialized(conf=conf)
    jvm: Any = SparkContext._jvm
    known = jvm.org.apache.spark.SparkConf(True)
    for key, value in settings.items():
        known.set(key, value)
    require_admission(jvm, known)


@contextmanager
def _stderr_to(file: Path) -> Iterator[None]:
    """Processes that are started meanwhile write there for as long as they live, and not over a picture."""
    kept = os.dup(2)
    to = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(to, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(to)
