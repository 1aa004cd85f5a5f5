"""Needs and provides: whether a policy can run on a platform, and in which form."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from elastream.core.errors import CannotRun
from elastream.core.signals import Signal


@dataclass(frozen=True, slots=True)
class Need:
    """A signal a policy cannot do without, and what may stand in for it, best first."""

    signal: Signal
    stand_ins: tuple[Signal, ...] = ()

    def served_by(self, provides: AbstractSet[Signal]) -> Signal | None:
        """The signal that serves this need on a platform, or None."""
        return next((signal for signal in (self.signal, *self.stand_ins) if signal in provides), None)


@dataclass(frozen=True, slots=True)
class Fit:
    """How a policy fits a platform: what is missing and what stands in."""

    missing: tuple[Need, ...]
    standing_in: tuple[tuple[Signal, Signal], ...]

    @property
    def runs(self) -> bool:
        """Whether the policy can run there at all."""
        return not self.missing

    def sentence(self) -> str:
        """One line for a person."""
        if self.missing:
            return "cannot run: no " + ", ".join(need.signal for need in self.missing)
        if self.standing_in:
            return "runs with " + ", ".join(f"{other} for {signal}" for signal, other in self.standing_in)
        return "runs as published"


def fit(needs: Sequence[Need], provides: AbstractSet[Signal]) -> Fit:
    """Match what is needed with what is provided."""
    served = [(need, need.served_by(provides)) for need in needs]
    return Fit(
        missing=tuple(need for need, by in served if by is None),
        standing_in=tuple((need.signal, by) for need, by in served if by is not None and by is not need.signal),
    )


def require(policy: str, platform: str, needs: Sequence[Need], provides: AbstractSet[Signal]) -> Fit:
    """The fit, or CannotRun with the reason."""
    found = fit(needs, provides)
    if not found.runs:
        missing = ", ".join(need.signal for need in found.missing)
        raise CannotRun(f"policy {policy} cannot run on {platform}: it needs {missing}, which is not provided there")
    return found
