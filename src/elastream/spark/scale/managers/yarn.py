"""Hadoop's resource manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from elastream.spark.scale.managers.manager import Conf, configured_instances


@dataclass(frozen=True, slots=True)
class Yarn:
    """It notes the total, starts containers when it gets to it, and takes back what a lower total does not ask for.

    By its source, not tried. Room is what the application's queue is allowed. A request may name hosts, which we do not
    do. The driver may share a node with executors.
    """

    starts_at_once: ClassVar[bool] = False
    counts_leaving: ClassVar[bool] = True
    remedy: ClassVar[str] = "add nodes to it, or raise the limit of the application's queue"
    sees_processes: ClassVar[bool] = True
    takes_places: ClassVar[bool] = False

    def expect_executors(self, conf: Conf) -> int | None:
        """What was asked for."""
        return configured_instances(conf)
