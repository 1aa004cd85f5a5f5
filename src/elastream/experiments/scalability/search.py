"""The highest rate that a layout sustains, looked for in as few probes as can be.

Doubling from a first guess until a rate fails (or halving until one passes), then bisection until both are as near to
each other as was asked; then the one that passed is repeated, for it counts only if all its runs pass. What is next
follows from the probes so far and nothing else, so that a search goes on where it was interrupted.

A list of rates is searched as the document did: every rate of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from elastream.core.errors import BadInput
from elastream.core.quantity import spell_number
from elastream.experiments.scalability.probe import ProbeState

_INVALID_RETRIES = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSearch:
    """How to look."""

    start_rps: float
    least_rps: float = 10.0
    """A job that does not sustain this sustains nothing."""
    most_rps: float = math.inf
    factor: float = 2.0
    precision: float = 0.1
    """The lowest rate that failed is at most so much above the one that is told, as a share of it."""
    repeat: int = 3
    rates: tuple[float, ...] = ()
    """A list to try instead."""

    def __post_init__(self) -> None:
        _require(0 < self.least_rps <= self.most_rps, "least", f"{self.least_rps:g} is not from 0 to {self.most_rps:g}")
        _require(self.factor > 1, "factor", f"{self.factor:g} is not above 1")
        _require(self.precision >= 0.01, "precision", f"{self.precision:g} is not at least 0.01")
        _require(self.repeat >= 1, "repeat", f"{self.repeat} is not at least 1")
        _require(all(rate > 0 for rate in self.rates), "rates", "not all are above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbedRate:
    """A probe as the search sees it."""

    rate_rps: float
    state: ProbeState


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRate:
    """What a search came to."""

    rate_rps: float | None
    """None: nothing is sustained, not even the lowest rate."""
    below_rps: float | None
    """The lowest rate that failed; None: none did, and the true one may be far higher."""
    runs: int = 0
    """That passed at this rate."""
    unmeasured_rps: float | None = None
    """The lowest rate that could not be measured here, if that is what ended the search."""
    passed_above: tuple[float, ...] = ()
    """Rates above one that failed, at which all runs passed: the answer is not monotonic."""

    def sentence(self) -> str:
        """In words."""
        if self.rate_rps is None:
            told = "sustains nothing that was tried"
            if self.below_rps is not None:
                told = f"does not sustain {spell_rate(self.below_rps)}, the lowest rate that was tried"
        else:
            runs = f"{self.runs} runs" if self.runs != 1 else "1 run"
            told = f"sustains {spell_rate(self.rate_rps)} in {runs}"
            if self.below_rps is not None:
                told += f", not {spell_rate(self.below_rps)}"
        if self.unmeasured_rps is not None:
            told += f"; {spell_rate(self.unmeasured_rps)} cannot be measured here, so it may be more"
        elif self.rate_rps is not None and self.below_rps is None:
            told += ", the highest rate that was tried: it may be more"
        if self.passed_above:
            above = " and ".join(spell_rate(rate) for rate in self.passed_above)
            told += f"; not monotonic: {above} passed, above a rate that failed"
        return told


def find_next(probes: Sequence[ProbedRate], search: RateSearch) -> float | FoundRate:
    """The rate to probe next, or what was found. Probes that broke are as if they had not been."""
    known = _Known(probes, search)
    return _next_of_list(known, search) if search.rates else _next_by_halves(known, search)


class _Known:
    """Rates by what is known of them."""

    def __init__(self, probes: Sequence[ProbedRate], search: RateSearch) -> None:
        self._states: dict[float, list[ProbeState]] = {}
        for probe in probes:
            self._states.setdefault(probe.rate_rps, []).append(probe.state)
        self.failed = sorted(rate for rate, states in self._states.items() if "unsustained" in states)
        self.passed = sorted(
            rate for rate, states in self._states.items() if "sustained" in states and "unsustained" not in states
        )
        self.unmeasured = sorted(
            rate
            for rate, states in self._states.items()
            if rate not in self.failed and states.count("invalid") > _INVALID_RETRIES and not self.is_done(rate, search)
        )

    def passes(self, rate: float) -> int:
        return self._states.get(rate, []).count("sustained")

    def is_done(self, rate: float, search: RateSearch) -> bool:
        return rate in self.failed or self.passes(rate) >= search.repeat

    @property
    def ends(self) -> list[float]:
        """Rates above which nothing is looked for."""
        return sorted({*self.failed, *self.unmeasured})

    def find(self, rate: float | None, search: RateSearch) -> FoundRate:
        below = [one for one in self.failed if rate is None or one > rate]
        unmeasured = [one for one in self.unmeasured if (rate is None or one > rate) and (not below or one < below[0])]
        above = [one for one in self.passed if self.failed and one > self.failed[0] and self.is_done(one, search)]
        return FoundRate(
            rate_rps=rate,
            below_rps=min(below, default=None),
            runs=0 if rate is None else self.passes(rate),
            unmeasured_rps=min(unmeasured, default=None),
            passed_above=tuple(above),
        )


def _next_of_list(known: _Known, search: RateSearch) -> float | FoundRate:
    rates = sorted(search.rates)
    for rate in rates:
        if not known.is_done(rate, search) and rate not in known.unmeasured:
            return rate
    ends = known.ends
    passed = [rate for rate in rates if known.passes(rate) >= search.repeat and rate not in known.failed]
    return known.find(max((rate for rate in passed if not ends or rate < ends[0]), default=None), search)


def _next_by_halves(known: _Known, search: RateSearch) -> float | FoundRate:
    if not known.ends and not known.passed:
        return min(max(search.start_rps, search.least_rps), search.most_rps)
    end = min(known.ends, default=math.inf)
    low = max((rate for rate in known.passed if rate < end), default=None)
    if low is None:
        if end <= search.least_rps:
            return known.find(None, search)
        return max(_round(end / search.factor), search.least_rps)
    if math.isinf(end):
        if low < search.most_rps:
            return min(_round(low * search.factor), search.most_rps)
    elif end > low * (1 + search.precision) and low < (middle := _round(math.sqrt(low * end))) < end:
        return middle
    return low if known.passes(low) < search.repeat else known.find(low, search)


def _round(rate: float) -> float:
    """To three digits: a rate is read by people, and is the same after it was written down."""
    return float(f"{rate:.3g}")


def spell_rate(rate_rps: float) -> str:
    """A rate as it would be given on the command line."""
    return f"{spell_number(float(f'{rate_rps:.4g}'))}/s"


def _require(holds: bool, name: str, found: str) -> None:
    if not holds:
        raise BadInput(f"search: {name}: {found}")
