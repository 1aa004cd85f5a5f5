"""Layouts of a cluster, the settings that follow a layout, and which of them make a curve.

As published: an executor per worker, as many shuffle partitions and slots as there are cores, memory in proportion to
the cores, of which the heap has nine tenths but for a gigabyte, and G1 with as many threads as the worker has cores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from elastream.core.errors import BadInput
from elastream.core.quantity import mebibytes

Work = Literal["real", "emulated", "simulated"]
"""Real: cores do the job's work. Emulated: slots that sleep. Simulated: a model of the job, and no Spark."""
WORK: dict[Work, str] = {
    "real": "real work on real cores",
    "emulated": "rate-limited slots: waves, barriers, fixed cost and partitions only, no processors",
    "simulated": "simulated: a model of the job, and no Spark",
}
STEPS = (1, 2, 4, 6)
"""As published: workers of a horizontal curve, cores of a vertical one."""
MEMORY_PER_CORE = "2g"
PUBLISHED = {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.locality.wait": "100ms",
    "spark.sql.streaming.minBatchesToRetain": "2",
}
"""Settings of the document's jobs that are the same on all layouts."""
_MOST = 512
# The JVM itself and Python workers have the rest.
_HEAP_SHARE, _HEAP_LEFT_MIB = 0.9, 1024


@dataclass(frozen=True, slots=True, order=True)
class Layout:
    """Workers, and the cores of each."""

    workers: int
    cores: int

    @property
    def name(self) -> str:
        """As it is written: workers x cores."""
        return f"{self.workers}x{self.cores}"

    @property
    def slots(self) -> int:
        """Cores of all workers."""
        return self.workers * self.cores

    def memory_mib(self, per_core: str) -> int:
        """Of a worker."""
        return self.cores * mebibytes(per_core)

    def heap_mib(self, per_core: str) -> int:
        """Of an executor."""
        return round((self.memory_mib(per_core) - _HEAP_LEFT_MIB) * _HEAP_SHARE)

    def settings(self, per_core: str) -> dict[str, str]:
        """Spark's properties that follow the layout."""
        collectors = max(1, self.cores // 2)
        java = (
            f"-XX:-UseSerialGC -XX:+UseG1GC -XX:ActiveProcessorCount={self.cores} -XX:ParallelGCThreads={self.cores} "
            f"-XX:ConcGCThreads={collectors} -XX:InitiatingHeapOccupancyPercent=35 -XX:MaxGCPauseMillis=200"
        )
        return {
            "spark.executor.cores": str(self.cores),
            "spark.cores.max": str(self.slots),
            "spark.executor.memory": f"{self.heap_mib(per_core)}m",
            "spark.executor.extraJavaOptions": java,
            "spark.default.parallelism": str(self.slots),
            "spark.sql.shuffle.partitions": str(self.slots),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutCurve:
    """Layouts that differ in one thing."""

    direction: Literal["horizontal", "vertical"]
    fixed: int
    """Cores of each worker, or workers."""
    layouts: tuple[Layout, ...]

    @property
    def counted(self) -> str:
        """What grows along it."""
        return "workers" if self.direction == "horizontal" else "cores of a worker"

    @property
    def title(self) -> str:
        """In words."""
        held = (f"{self.fixed} core{'s' * (self.fixed != 1)} each" if self.direction == "horizontal"
                else f"{self.fixed} worker{'s' * (self.fixed != 1)}")  # fmt: skip
        return f"{self.direction}, {held}"

    def number(self, layout: Layout) -> int:
        """Of what grows."""
        return layout.workers if self.direction == "horizontal" else layout.cores


def default_layouts() -> tuple[Layout, ...]:
    """Both directions, from a single core."""
    return tuple(dict.fromkeys([*(Layout(n, 1) for n in STEPS), *(Layout(1, n) for n in STEPS)]))


def parse_layouts(text: str, option: str = "--layouts") -> tuple[Layout, ...]:
    """`1x1,2x1,1x2`: workers x cores of each."""
    found = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*[xX]\s*(\d{1,6})\s*", part)
        if match is None or not all(1 <= int(number) <= _MOST for number in match.groups()):
            raise BadInput(f"{option}: found {part.strip()!r}; write layouts as WORKERSxCORES, such as 1x1,2x1,1x2")
        found.append(Layout(int(match[1]), int(match[2])))
    if len(set(found)) < len(found):
        raise BadInput(f"{option}: found {text!r}; each layout may stand once")
    return tuple(found)


def order_layouts(layouts: Sequence[Layout]) -> tuple[Layout, ...]:
    """The smallest first: each search begins with what the one before has found."""
    return tuple(sorted(layouts, key=lambda one: (one.slots, one.workers)))


def find_curves(layouts: Sequence[Layout], work: Work) -> list[LayoutCurve]:
    """All layouts that differ in one thing, two at least. Of slots that sleep nothing is said about cores."""
    curves = []
    for cores in sorted({one.cores for one in layouts}):
        same = tuple(sorted(one for one in layouts if one.cores == cores))
        if len(same) > 1:
            curves.append(LayoutCurve(direction="horizontal", fixed=cores, layouts=same))
    for workers in sorted({one.workers for one in layouts}) if work != "emulated" else ():
        same = tuple(sorted(one for one in layouts if one.workers == workers))
        if len(same) > 1:
            curves.append(LayoutCurve(direction="vertical", fixed=workers, layouts=same))
    return curves


def why_unfit(layout: Layout, *, per_core: str, cores: int, memory_mib: int, work: Work) -> str | None:
    """Why a machine cannot have a layout; None: it can."""
    if layout.heap_mib(per_core) < 256:
        return f"{layout.name}: a heap of {layout.heap_mib(per_core)} MiB is too small to start; give more --memory"
    needed = layout.workers * layout.memory_mib(per_core)
    if needed > memory_mib:
        return f"{layout.name}: needs {needed / 1024:.1f} GiB of memory, and there are {memory_mib / 1024:.1f}"
    if work == "real" and layout.slots > cores:
        return f"{layout.name}: needs {layout.slots} cores, and there are {cores}"
    return None
