"""The arithmetic of Flink's autoscaler on plain numbers: capacity wanted, the band of utilisation, new parallelism.

Names follow its documentation, so that a reader of either finds the other.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

Alignment = Literal["balanced", "evenly_spread", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a vertex must be able to do besides its rate: catch up with a lag, and with what a restart adds to it."""

    catch_up_s: float
    """0 turns both terms off."""
    restart_s: float


class Wanted(NamedTuple):
    """The rate a vertex should take, and the rate by which it should work off the lag."""

    target_rps: float
    catch_up_rps: float = 0.0


class Band(NamedTuple):
    """A true processing rate below the first asks for growth, one above the second for shrinking."""

    up_rps: float
    down_rps: float

    def is_left_by(self, true_rps: float) -> bool:
        """Whether a rate is outside."""
        return true_rps < self.up_rps or true_rps > self.down_rps


def capacity(wanted: Wanted, utilisation: float, terms: Terms, *, with_restart: bool) -> float:
    """The rate a vertex must be capable of, so that it is busy for that share of its time; in whole records."""
    share = min(1.0, max(0.0, utilisation))
    if share == 0:
        return math.inf
    restart = wanted.target_rps * terms.restart_s / terms.catch_up_s if with_restart and terms.catch_up_s > 0 else 0.0
    return math.floor(wanted.catch_up_rps + restart + wanted.target_rps / share + 0.5)


def band(wanted: Wanted, low: float, high: float, terms: Terms) -> Band:
    """Rates within which a vertex is left as it is, for a utilisation between low and high."""
    return Band(
        up_rps=capacity(wanted, high, terms, with_restart=False),
        down_rps=capacity(wanted, low, terms, with_restart=True),
    )


def scale_factor(wanted_rps: float, true_rps: float, max_down: float, max_up: float) -> float:
    """By how much to scale at once. A vertex without input can do anything, and shrinks as far as it may."""
    factor = wanted_rps / true_rps if true_rps < math.inf else 0.0
    return min(1.0 + max_up, max(1.0 - max_down, factor))


def scaled(current: int, factor: float, least: int, most: int) -> int:
    """The parallelism for a factor; a vertex beyond its limits is not forced back into them."""
    # What was measured is never exact: 4.000000001 are four.
    wanted = math.ceil(current * factor - 1e-9)
    return max(min(current, least), min(wanted, max(current, most)))


def aligned(target: int, current: int, partitions: int | None, most: int, mode: Alignment) -> int:
    """The next parallelism from the target on at which partitions, or key groups, are spread better; else the target.

    With 128 key groups, 24 instances have five or six each; 26 have at most five, and 32 have four each.
    """
    if partitions is None or mode == "off" or target == current:
        return target
    last = min(partitions, most) if target > current else current
    for parallelism in range(target, last + 1):
        if partitions % parallelism == 0:
            return parallelism
        if mode == "balanced" and partitions // parallelism < partitions // target:
            return parallelism
    # What has no partition has nothing to do.
    return min(target, max(1, partitions))


def gained(before_rps: float, now_rps: float, expected_rps: float) -> float:
    """Share of the expected gain that a growth has brought."""
    return (now_rps - before_rps) / (expected_rps - before_rps) if expected_rps > before_rps else 1.0
