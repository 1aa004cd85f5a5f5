"""What a stage costs, from what it was busy with between one batch and another: least squares, nothing below zero.

Busy time is work per record, a fixed part per batch, and what first tasks on new workers take longer. Where workers
share the cores of one machine, work takes as many times longer as tasks run on each core; what only waits does not. How
many cores there are is found by which number fits best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from elastream.estimators.least_squares import nonnegative

# Below this, the records of batches are too much alike to tell work per record from what a batch costs anyway.
_LEAST_SPREAD = 0.1
_LEAST_GAIN = 0.3
"""By so much of what is left over must sharing cores explain more, to be believed: it is one more thing to fit."""

_LEAST_WARM = 5
"""Steps without a new worker; fewer are too few to fit."""

_TO_DEVIATION = 1.4826
"""The standard deviation of a normal distribution over its median distance to the median."""

Floats = npt.NDArray[np.float64]
Stage = tuple[str, str]
"""A query, and a stage of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSteps:
    """What a stage did between one batch and another, a value for each such step."""

    records: Sequence[float]
    batches: Sequence[float]
    busy_s: Sequence[float]
    running: Sequence[float] = ()
    """Of its tasks, how many could run side by side; not known where it is empty."""
    new_workers: Sequence[float] = ()
    """Workers that ran their first task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostFit:
    """Busy time as work per record, a fixed part per batch, and what is new on a worker."""

    per_record_s: float
    per_batch_s: float
    noise: float
    """Standard deviation of the logarithm of a batch's time over what the fit says."""
    waiting_share: float = 0.0
    """Of the work per record, what needs no core."""
    first_task_s: float = 0.0
    left_over: float = field(default=0.0, repr=False, compare=False)
    """Squares that the fit leaves."""


def fit_stages(stages: Mapping[Stage, StageSteps], most_cores: int) -> tuple[int | None, dict[Stage, CostFit]]:
    """The cores that all workers share, None if it seems that each slot has its own, and the costs of each stage."""
    alone = {name: fit_stage(steps) for name, steps in stages.items()}
    best: tuple[int | None, dict[Stage, CostFit]] = None, alone
    least = (1 - _LEAST_GAIN) * sum(fit.left_over for fit in alone.values())
    for cores in range(1, most_cores):
        shared = {name: fit_stage(steps, cores=cores) for name, steps in stages.items()}
        left_over = sum(fit.left_over for fit in shared.values())
        if left_over < least:
            best, least = (cores, shared), left_over
    return best


def fit_stage(steps: StageSteps, *, cores: int | None = None) -> CostFit:
    """The costs of one stage. Batches that are all alike have their whole time put on the records.

    Work is measured where no worker was new, if there are steps enough; what the others took longer is what is new.
    """
    taken, ran, spent = (np.asarray(values, dtype=float) for values in (steps.records, steps.batches, steps.busy_s))
    new = np.asarray(steps.new_workers, dtype=float) if steps.new_workers else np.zeros(len(taken))
    warm = _find_warm(new, taken)
    running = np.asarray(steps.running, dtype=float) if steps.running else np.ones(len(taken))
    crowd = _crowd(running, cores)
    per_batch = (taken / np.maximum(ran, 1.0))[warm]
    is_moving = per_batch.std() >= _LEAST_SPREAD * per_batch.mean()
    none = np.zeros(len(taken))
    columns = np.stack(
        [crowd * taken, taken if cores is not None else none, crowd * ran if is_moving else none], axis=1
    )
    found = nonnegative(columns[warm], spent[warm])
    said = columns @ found.coefficients
    working_s, waiting_s, per_batch_s = map(float, found.coefficients)
    per_record_s = working_s + waiting_s
    longer_s = float((spent - said)[~warm].sum())
    return CostFit(
        per_record_s=per_record_s,
        per_batch_s=per_batch_s,
        noise=_noise(said[warm], spent[warm], ran[warm]),
        waiting_share=waiting_s / per_record_s if per_record_s else 0.0,
        first_task_s=max(longer_s / float((new * _crowd(new, cores)).sum()), 0.0) if (~warm).any() else 0.0,
        left_over=found.left_over,
    )


def _find_warm(new: Floats, taken: Floats) -> npt.NDArray[np.bool_]:
    """Steps in which no worker was new, nor in the one before: it may have run its first task of a stage only then."""
    warm: npt.NDArray[np.bool_] = (new == 0) & (np.concatenate(([0.0], new[:-1])) == 0)
    return warm if warm.sum() >= _LEAST_WARM and taken[warm].sum() > 0 else np.ones(len(new), dtype=bool)


def _crowd(tasks: Floats, cores: int | None) -> Floats:
    """How many tasks there are for each core; never less than one."""
    return np.maximum(1.0, tasks / cores) if cores is not None else np.ones(len(tasks))


def _noise(said: Floats, spent: Floats, ran: Floats) -> float:
    """By the median distance to the median: looks in the middle of a batch are far off, and no noise of the batch."""
    known = (spent > 0) & (said > 0)
    if known.sum() <= 2:
        return 0.0
    # Noise of several batches together is smaller by the root of their number.
    off = np.log(spent[known] / said[known]) * np.sqrt(ran[known])
    return float(_TO_DEVIATION * np.median(np.abs(off - np.median(off))))
