"""Spark's own master and workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from elastream.spark.scale.managers.manager import Conf, configured_instances


@dataclass(frozen=True, slots=True)
class Standalone:
    """A master counts an executor from its launch, before it answers, until its process has ended.

    Room is free cores and memory of its workers, within `spark.cores.max`. It places executors by itself.
    """

    starts_at_once: ClassVar[bool] = True
    counts_leaving: ClassVar[bool] = True
    remedy: ClassVar[str] = "add workers to it"
    sees_processes: ClassVar[bool] = True
    takes_places: ClassVar[bool] = False

    def expect_executors(self, conf: Conf) -> int | None:
        """It gives all it may, and does not look at spark.executor.instances."""
        most = conf.get("spark.cores.max", None)
        return int(most) // int(conf.get("spark.executor.cores", "1")) if most else None


@dataclass(frozen=True, slots=True)
class StandaloneInDriver(Standalone):
    """A master and workers inside the driver, for tests: it has the workers of its URL, whatever it may give."""

    def expect_executors(self, conf: Conf) -> int | None:
        """What was asked for."""
        return configured_instances(conf)
