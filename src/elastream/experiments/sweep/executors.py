"""Executors of a sweep: what they are sent, and whether they can run it, asked before anything runs."""

from __future__ import annotations

import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.core.errors import CannotRun
from elastream.development.shipping import shipped_by_value
from elastream.experiments.experiment import Experiment
from elastream.experiments.store.folder import PARTIAL
from elastream.experiments.sweep.on_executor import Orders, check_executor
from elastream.experiments.sweep.shipment import pack_code, pack_package, pack_plan

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 20.0
"""Executors of a cluster that has room are there by then."""
LOOKS_PER_SLOT = 2
"""Slots are filled by whoever is free: with a few more looks than slots, each executor has one in all likelihood."""
WRITER = "pyarrow"
"""Writes the tables of a run. It is shipped to executors that lack it."""


def require_executors(
    spark: SparkSession,
    scratch: Path,
    folder: Path,
    experiments: Sequence[Experiment],
    origin: Mapping[str, str | None],
    tell: Callable[[str], None],
) -> Orders:
    """Ship what experiments need and make sure that executors can run them; CannotRun in one line if not.

    `folder` is that of the runs; what is packed into `scratch` must stay there, for executors that come later.
    """
    context = spark.sparkContext
    with _marked(folder) as mark:
        code, plan = pack_code(scratch), pack_plan(scratch, experiments)
        for archive in (code, plan.archive):
            context.addArchive(str(archive))
        orders = Orders((code.name, plan.archive.name), plan.files, dict(origin), str(mark))
        found = _look(spark, orders, tell)
        for one in found:
            require_fit(one, str(context.master), folder)
        lacks = [one for one in found if not one["has_pyarrow"]]
        if lacks:
            _require_alike(lacks)
            tell(f"executors lack {WRITER}, which writes tables: it is shipped to them")
            package = pack_package(scratch, WRITER)
            context.addArchive(str(package))
            orders = orders._replace(archives=(*orders.archives, package.name))
            still = [one for one in _look(spark, orders, tell) if not one["has_pyarrow"]]
            if still:
                raise CannotRun(f"executor on {still[0]['host']}: it lacks {WRITER}, and cannot use what was shipped")
    return orders


def spell_spark_error(error: BaseException) -> str:
    """What Spark says at length, in one line: the first that speaks of Python, or of the cause."""
    text = str(error)
    java = getattr(error, "java_exception", None)
    if java is not None:
        text = str(java.getMessage() or java)
    if "PYTHON_VERSION_MISMATCH" in text:
        versions = re.findall(r"\d+\.\d+", text[text.index("PYTHON_VERSION_MISMATCH") :])[:2]
        theirs, ours = (*versions, "another", "another")[:2]
        return (
            f"its Python is {theirs} and that of this command {ours}; they must be of one version: "
            "set PYSPARK_PYTHON, or send a packed one with --environment"
        )
    if (program := re.search(r'Cannot run program "([^"]+)"', text)) is not None:
        return (
            f"there is no Python {program[1]} on it; set PYSPARK_PYTHON to one that is on all machines, "
            "or send a packed one with --environment"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if re.match(r"(Caused by: |\w+(\.\w+)*(Error|Exception)\b)", line)]
    return (causes or lines or [type(error).__name__])[0]


@contextmanager
def _marked(folder: Path) -> Iterator[Path]:
    """A folder that executors see if they see what this machine sees."""
    with tempfile.TemporaryDirectory(prefix=f"{PARTIAL}seen-", dir=folder) as name:
        yield Path(name).absolute()


def _look(spark: SparkSession, orders: Orders, tell: Callable[[str], None]) -> list[dict[str, Any]]:
    """Ask executors what they are; those that come later are alike."""
    context = spark.sparkContext

    def ask() -> list[dict[str, Any]]:
        looks = LOOKS_PER_SLOT * max(1, context.defaultParallelism)
        with shipped_by_value():
            asked = context.parallelize(range(looks), looks).mapPartitions(partial(check_executor, tuple(orders)))
            found: list[dict[str, Any]] = asked.collect()
        return found

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            try:
                return asking.result(PATIENCE_S)
            except TimeoutError:
                tell(f"{context.master}: waiting for executors; it may have no room for them")
                return asking.result()
        except BaseException as wrong:
            context.cancelAllJobs()
            if not isinstance(wrong, Exception):
                raise
            raise CannotRun(f"executors of {context.master}: {spell_spark_error(wrong)}") from None


def require_fit(found: Mapping[str, Any], master: str, folder: Path) -> None:
    """Raise CannotRun with what an executor lacks."""
    who = f"executor on {found['host']}: "
    if found["lacking"]:
        raise CannotRun(
            f"{who}its Python ({found['python']}) lacks {', '.join(found['lacking'])}; install it there, set "
            "PYSPARK_PYTHON to one that has it, or send a packed one with --environment"
        )
    if found["wrong"] is not None:
        raise CannotRun(f"{who}what was shipped cannot be used by {found['python']}: {found['wrong']}")
    if not found["sees_folder"]:
        raise CannotRun(
            f"{who}it cannot write to {folder.absolute()}; name a folder with --out that all machines of {master} share"
        )


def _require_alike(lacking: Sequence[Mapping[str, Any]]) -> None:
    kind = f"{sys.implementation.cache_tag} {sys.platform} {platform.machine()}"
    for one in lacking:
        if one["kind"] != kind:
            raise CannotRun(
                f"executor on {one['host']}: it lacks {WRITER}, and that of this machine ({kind}) is not for it "
                f"({one['kind']}); install it there"
            )
