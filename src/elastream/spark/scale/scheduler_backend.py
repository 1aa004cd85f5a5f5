"""Spark's scheduler, asked through one small class inside the driver's JVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from elastream.core.errors import ApplyFailed
from elastream.spark.jvm.compiler import made
from elastream.spark.scale.managers import find_manager
from elastream.spark.scale.roster import Registered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class JavaBackend(Protocol):
    """`Backend.java`, as far as it is called."""

    def state(self) -> str: ...

    def request(self, total: int) -> bool: ...

    def decommission(self, ids: str, reason: str) -> str: ...

    def kill(self, name: str) -> bool: ...


class SparkBackend:
    """The executors of one application. Implements executors.Backend."""

    def __init__(self, spark: SparkSession) -> None:
        context: Any = spark.sparkContext
        self._java: JavaBackend = made(spark, "Backend", context._jsc.sc())
        self.manager = find_manager(str(context.master))

    def state(self) -> Registered:
        """Who is there."""
        ids, leaving = (_names(line) for line in str(self._java.state()).split("\n"))
        return Registered(ids, leaving)

    def request(self, total: int) -> None:
        """Have so many in all."""
        if not self._java.request(total):
            raise ApplyFailed(f"the cluster manager did not accept a total of {total} executors")

    def decommission(self, ids: Sequence[str]) -> None:
        """Let these finish and go."""
        self._java.decommission(",".join(ids), "elastream: fewer executors are needed")

    def kill(self, name: str) -> None:
        """End this one at once."""
        self._java.kill(name)


def _names(line: str) -> tuple[str, ...]:
    return tuple(name for name in line.split(",") if name)
