"""Needs and provides: whether a policy can run on a platform, and in which form."""

from collections.abc import Mapping, Sequence
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
        return "has all signals"


def fit(needs: Sequence[Need], provides: AbstractSet[Signal]) -> Fit:
    """Match what is needed with what is provided."""
    served = [(need, need.served_by(provides)) for need in needs]
    return Fit(
        missing=tuple(need for need, by in served if by is None),
        standing_in=tuple((need.signal, by) for need, by in served if by is not None and by is not need.signal),
    )


def find_caution(policy: object, provides: AbstractSet[Signal]) -> str | None:
    """What a policy is to be known for where queries run micro-batches, if it says so of itself (`on_batches`)."""
    told = getattr(policy, "on_batches", None) if Signal.BATCHES in provides else None
    return f"on micro-batches {told}" if told else None


def find_slowness(policy: object, tick_s: float) -> str | None:
    """That a policy decides less often than it would, where the loop looks less often than it decides."""
    interval_s = getattr(policy, "interval_s", tick_s)
    if interval_s >= tick_s:
        return None
    return f"decides every {tick_s:g} s, with each look, and not every {interval_s:g} s"


def require(
    policy: str,
    platform: str,
    needs: Sequence[Need],
    provides: AbstractSet[Signal],
    lacks: Mapping[Signal, str] | None = None,
) -> Fit:
    """The fit, or CannotRun with the reason; `lacks` says why something is not provided just now."""
    found = fit(needs, provides)
    if not found.runs:
        missing = ", ".join(need.signal for need in found.missing)
        why = dict.fromkeys(lacks[need.signal] for need in found.missing if lacks and need.signal in lacks)
        reason = f" ({'; '.join(why)})" if why else ""
        raise CannotRun(
            f"policy {policy} cannot run on {platform}: it needs {missing}, which is not provided there{reason}"
        )
    return found


def find_lack(needs: Sequence[Need], declared: AbstractSet[Signal], lacks: Mapping[Signal, str]) -> str | None:
    """Why a policy cannot decide as of a look, in words: what it needs is provided as a rule and lacks now."""
    if not lacks:
        return None
    lost = [need.signal for need in fit(needs, declared - lacks.keys()).missing if need.served_by(declared)]
    if not lost:
        return None
    reasons = dict.fromkeys(lacks[signal] for signal in lost if signal in lacks)
    return f"the policy needs {', '.join(lost)}, which cannot be told now: {'; '.join(reasons)}"


def find_stand_in(needs: Sequence[Need], declared: AbstractSet[Signal], lacks: Mapping[Signal, str]) -> str | None:
    """What stands in for a signal that lacks as of a look, in words; None where nothing has to."""
    if not lacks:
        return None
    usual = dict(fit(needs, declared).standing_in)
    others = [
        (signal, other)
        for signal, other in fit(needs, declared - lacks.keys()).standing_in
        if usual.get(signal, signal) is not other
    ]
    if not others:
        return None
    reasons = dict.fromkeys(lacks[signal] for signal, _ in others if signal in lacks)
    told = ", ".join(f"{other} stands in for {signal}" for signal, other in others)
    return f"{told}: {'; '.join(reasons)}"
