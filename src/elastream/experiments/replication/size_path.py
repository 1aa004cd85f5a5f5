"""Which sizes were decided on in a run, one after the other: what a document tells of how a policy came to rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.store.folder import StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeStep:
    """Sizes of all pools, and since when they are wanted."""

    at_s: float
    pools: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SizePath:
    """The sizes that a run begins with, and each that was decided on after that."""

    steps: tuple[SizeStep, ...]

    @property
    def changes(self) -> tuple[SizeStep, ...]:
        """All but the first."""
        return self.steps[1:]

    @property
    def last_change_s(self) -> float:
        """When the size changed last; when it began, if it never did."""
        return self.steps[-1].at_s

    def of(self, pool: str) -> tuple[int, ...]:
        """The sizes of one pool, each told once."""
        return tuple(fold_repeated(step.pools[pool] for step in self.steps))


def read_path(run: StoredRun) -> SizePath:
    """From the decisions that were kept of a run."""
    return make_path(pq.read_table(run.folder / "decisions.parquet", columns=["t_s", "pools"]).to_pylist())


def make_path(decisions: Iterable[Mapping[str, Any]]) -> SizePath:
    """The same from rows; one that only restates the sizes is no step."""
    steps: list[SizeStep] = []
    for row in decisions:
        pools = {one["pool"]: one["workers"] for one in row["pools"]}
        if not steps or steps[-1].pools != pools:
            steps.append(SizeStep(at_s=row["t_s"], pools=pools))
    return SizePath(steps=tuple(steps))


def fold_repeated(sizes: Iterable[int]) -> list[int]:
    """Without those that are the same as the one before."""
    found: list[int] = []
    for size in sizes:
        if not found or found[-1] != size:
            found.append(size)
    return found
