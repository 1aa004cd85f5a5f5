"""What a Spark session needs so that executors can come and go under running queries, and what rules it out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from elastream.core.bounds import parse_bounds
from elastream.core.errors import CannotRun
from elastream.spark.scale.managers import Conf, find_manager

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class SessionSetting:
    """One Spark setting and why it is set."""

    key: str
    value: str
    reason: str


def session_settings(executors: tuple[int, int] | str = (1, 12), cores: int = 1) -> tuple[SessionSetting, ...]:
    """Everything `configure` sets, with its reason."""
    slots = parse_bounds(executors, "executors")[1] * cores
    return (
        SessionSetting(
            "spark.dynamicAllocation.enabled", "false", "two who set the number of executors undo each other's work"
        ),
        SessionSetting("spark.executor.cores", str(cores), "one worker is so many slots"),
        SessionSetting(
            "spark.cores.max", str(slots), "a standalone cluster gives an application no more; it is the upper bound"
        ),
        SessionSetting(
            "spark.decommission.enabled", "true", "an executor that leaves finishes its tasks instead of losing them"
        ),
        SessionSetting(
            "spark.storage.decommission.enabled", "true", "its shuffle and cached blocks move to those that stay"
        ),
        SessionSetting("spark.storage.decommission.shuffleBlocks.enabled", "true", "part of the same"),
        SessionSetting("spark.storage.decommission.rddBlocks.enabled", "true", "part of the same"),
        SessionSetting(
            "spark.storage.decommission.replicationReattemptInterval",
            "5s",
            "a leaving executor looks again for blocks after this time; with the default of 30 s it stays that long",
        ),
        SessionSetting(
            "spark.stage.ignoreDecommissionFetchFailure",
            "true",
            "a block lost with an executor that left on purpose is no failed attempt of a stage",
        ),
        SessionSetting(
            "spark.scheduler.maxRetainedRemovedDecommissionExecutors",
            "100",
            "the setting before has no effect while this is 0, its default",
        ),
        SessionSetting(
            "spark.locality.wait",
            "100ms",
            "tasks wait so long for the executor that holds their state; with 3 s, the default, new ones get little:"
            " from one to three of them a batch took x0.65, with 100 ms x0.47, without waiting x0.49",
        ),
        SessionSetting(
            "spark.sql.shuffle.partitions",
            str(slots),
            "partitions are the ceiling of useful slots, and the first batch freezes them in the checkpoint; more cost"
            " more: on two slots 8 had x0.57 the throughput of 2, and 200, the default, x0.05",
        ),
    )


def configure(builder: Any, executors: tuple[int, int] | str = (1, 12), cores: int | None = None) -> Any:
    """Set what an elastic session needs on a `SparkSession.builder`; what the user has set stays.

    `executors` are both bounds: `(1, 12)` or `"1..12"`. `cores` are those of one executor; without them, what the
    builder says, or 1. `elastream.session_settings()` lists every setting with its reason.
    """
    given = getattr(builder, "_options", {})
    if cores is None:
        cores = int(given.get("spark.executor.cores", "1"))
    for setting in session_settings(executors, cores):
        if setting.key not in given:
            builder = builder.config(setting.key, setting.value)
    return builder


def check(spark: SparkSession, *, shrink_by: str = "decommission") -> None:
    """Raise CannotRun, with the reason and the remedy, where executors cannot be changed while queries run."""
    context = getattr(spark, "_sc", None)
    if context is None or not hasattr(spark, "_jsparkSession"):
        raise CannotRun(
            "Spark Connect has no driver to attach to: attach inside the application that runs the server, "
            "or start the job with a classic session"
        )
    master = str(context.master)
    if master.startswith("local") and not master.startswith("local-cluster"):
        raise CannotRun(
            f"master {master} has no executors that could come and go; use a cluster: `elastream cluster up` starts one"
        )
    conf = context.getConf()
    if _is_on(conf.get("spark.dynamicAllocation.enabled", "false")):
        raise CannotRun(
            "spark.dynamicAllocation.enabled is true: Spark would undo every change; set it to false, "
            "or let elastream.configure(builder) do so"
        )
    if shrink_by == "decommission" and not _is_on(conf.get("spark.decommission.enabled", "false")):
        raise CannotRun(
            "spark.decommission.enabled is false: executors could only be killed, which repeats their tasks; set it to "
            "true, or choose that with shrink_by='kill'"
        )


BEGINNING_S = 60.0
"""By then an application has the executors that it was started with, or will not get them."""


class Context(Protocol):
    """As much of a SparkContext as tells how its application was started."""

    @property
    def master(self) -> str | None: ...

    @property
    def startTime(self) -> int: ...  # noqa: N802 (Spark's name)

    def getConf(self) -> Conf: ...  # noqa: N802 (Spark's name)


def expected_executors(context: Context, utc_s: float) -> int | None:
    """How many executors an application that has just begun will have, or None if its settings do not say.

    One that has run for a while has those that are there: somebody may have let the others go.
    """
    if utc_s - context.startTime / 1_000 > BEGINNING_S:
        return None
    return find_manager(str(context.master)).expect_executors(context.getConf())


def memory_bytes(text: str) -> float:
    """Spark's sizes: 512m, 2g; a bare number is MiB."""
    units = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
    lowered = text.strip().lower().removesuffix("b")
    if lowered[-1:] in units:
        return float(lowered[:-1]) * units[lowered[-1]]
    return float(lowered) * 2**20


def _is_on(value: str | None) -> bool:
    return str(value).strip().lower() == "true"
