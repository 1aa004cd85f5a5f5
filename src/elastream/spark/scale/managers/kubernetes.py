"""Pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from elastream.spark.scale.managers.manager import Conf, configured_instances


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """It notes the total, makes pods by and by, and deletes pending ones that a lower total does not ask for.

    By Spark's source, not tried. Room is what nodes have free and the namespace's quota allows. Where a pod goes is
    said in its template. A pod has processes of its own, which the driver does not see.
    """

    starts_at_once: ClassVar[bool] = False
    counts_leaving: ClassVar[bool] = True
    remedy: ClassVar[str] = "add nodes to it, or raise the namespace's quota"
    sees_processes: ClassVar[bool] = False
    takes_places: ClassVar[bool] = False

    def expect_executors(self, conf: Conf) -> int | None:
        """What was asked for."""
        return configured_instances(conf)
