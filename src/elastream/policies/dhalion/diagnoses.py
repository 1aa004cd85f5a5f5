"""Dhalion's second step: from symptoms to what is wrong.

The bottleneck is the first operator downstream that is not back-pressured itself while what feeds it is. Without any
back-pressure, every operator with an empty queue is over-provisioned.
"""

from dataclasses import dataclass
from typing import Literal

from elastream.policies.dhalion.symptoms import Measured, Measurements, Symptom, below_back_pressure

DiagnosisKind = Literal["under-provisioned", "over-provisioned", "data skew", "slow instance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What is wrong with one operator, and the number that says so."""

    kind: DiagnosisKind
    operator: str
    pressure: float = 0.0
    """Largest back-pressure among what feeds it."""
    in_rps: float = 0.0

    def words(self) -> str:
        """For a person."""
        return {"data skew": "skewed", "slow instance": "held back by a slow instance"}.get(self.kind, self.kind)


def diagnose(measured: Measurements, symptoms: tuple[Symptom, ...], *, several: bool) -> tuple[Diagnosis, ...]:
    """What explains the symptoms: one bottleneck or several, or all that is larger than it must be."""
    at = {kind: {s.at for s in symptoms if s.kind == kind} for kind in ("back-pressure", "empty queue")}
    skews: set[tuple[str, str]] = {(symptom.kind, symptom.at) for symptom in symptoms}
    if not at["back-pressure"]:
        return tuple(
            Diagnosis(kind="over-provisioned", operator=one.name, in_rps=one.in_rps)
            for one in measured.operators
            if one.name in at["empty queue"]
        )
    found_at = below_back_pressure({one.name: one.above for one in measured.operators}, at["back-pressure"])
    found = [
        Diagnosis(
            kind=_kind(one, skews),
            operator=one.name,
            pressure=max(measured.held_up()[name] for name in one.above),
            in_rps=one.in_rps,
        )
        for one in measured.operators
        if one.name in found_at
    ]
    return tuple(found if several else found[:1])


def _kind(one: Measured, skews: set[tuple[str, str]]) -> DiagnosisKind:
    """Both skews: hot keys. Longer queues at the same rates: a slow instance. Queues of instances are not always known;
    then uneven rates alone are taken for hot keys."""
    rates, queues = ("rate skew", one.name) in skews, ("queue skew", one.name) in skews
    if rates and (queues or one.queue_spread is None):
        return "data skew"
    return "slow instance" if queues else "under-provisioned"
