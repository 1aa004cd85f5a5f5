"""The correction of DS2: where the equations want nothing to grow and yet the sources fall short of their rate.

As published, the ratio of the rates multiplies what the equations propose. A proposal may be smaller than the present
size, and its multiple too: then nothing changes, or shrinks, while the query falls behind. From the present size, the
ratio says how much faster the present slots would have to be.
"""

from collections.abc import Mapping
from typing import NamedTuple

from elastream.core.observation import Observation, Pool
from elastream.policies.ds2.equations import corrected
from elastream.policies.ds2.load import Load
from elastream.policies.ds2.sizing import Sizing


class Corrected(NamedTuple):
    """Sizes after the correction, and what to say of it."""

    sizes: Mapping[str, int]
    sentence: str = ""
    is_for_lag: bool = False
    """Whether it is for lag alone, and not because a query falls behind."""


def from_proposal(
    sizes: Mapping[str, int], sizing: Sizing, load: Load, now: Observation, threshold: float
) -> Corrected:
    """As published: the ratio multiplies what the equations propose."""
    found = corrected(sizes, now.wanted(), load.ratio, threshold, sizing.unknown)
    if found == sizes:
        return Corrected(sizes)
    return Corrected(found, f"; times {load.ratio:.2f}, for the sources fall short of their rate by that")


def from_present(
    sizes: Mapping[str, int], sizing: Sizing, load: Load, now: Observation, threshold: float, most_ratio: float
) -> Corrected:
    """The ratio multiplies what the present slots do, so far as more of them make a batch shorter."""
    wanted, ratio = now.wanted(), load.ratio
    # Slots that have not come yet are no shortfall, and neither is what nobody has seen.
    if sizing.unknown or ratio is None or not load.is_seen or any(pool.in_flux for pool in now.pools):
        return Corrected(sizes)
    if ratio <= threshold or any(size > wanted[name] for name, size in sizes.items()):
        return Corrected(sizes)
    ratio = min(ratio, most_ratio)
    found = {pool.name: _faster(pool, sizing, ratio) for pool in now.pools if pool.name in sizes}
    falls_behind = load.arrival_ratio is None or load.arrival_ratio > threshold
    short = "the sources fall short of their rate" if falls_behind else "lag is to be gone in time"
    if found.items() <= wanted.items():
        return Corrected(found, f"; more slots do not help, though {short}")
    return Corrected(found, f"; {ratio:.2f} times as fast as now, for {short}", not falls_behind)


def _faster(pool: Pool, sizing: Sizing, ratio: float) -> int:
    """Workers on which batches are that much faster; the present ones where none are."""
    batches = sizing.batches.get(pool.name, [])
    # Where several queries take turns, one fills the waves that another leaves half empty.
    slots = batches[0].faster(pool.slots, ratio) if len(batches) == 1 else ratio * pool.slots
    return pool.wanted if slots is None else max(pool.wanted, pool.workers_for(slots))
