"""When the size of a run comes to rest while its load stays as it is."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq  # type: ignore[import-untyped]

from elastream.experiments.store.folder import StoredRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """Of a stretch of a run."""

    minutes: float | None
    """Until the last change; None if nothing says that it was the last."""
    actions: int
    """Changes in it."""


def find_rest(run: StoredRun, begin_s: float, end_s: float, calm_s: float) -> Rest:
    """From the first moment on, before the last; who changes within `calm_s` of the end has not come to rest."""
    ticks = pq.read_table(run.folder / "ticks.parquet", columns=["t_s", "actions"]).to_pylist()
    return tell_rest([(row["t_s"], row["actions"]) for row in ticks], begin_s, end_s, calm_s)


def tell_rest(actions: list[tuple[float, int]], begin_s: float, end_s: float, calm_s: float) -> Rest:
    """The same of how many changes there were by each moment."""
    before, last_s, number = 0, begin_s, 0
    for at_s, total in actions:
        if begin_s <= at_s < end_s and total > before:
            last_s, number = at_s, number + total - before
        before = total
    return Rest(minutes=(last_s - begin_s) / 60 if last_s <= end_s - calm_s else None, actions=number)
