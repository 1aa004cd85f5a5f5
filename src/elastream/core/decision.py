"""How many workers each pool should have, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from elastream.core.observation import Observation

# Not recursive: before Python 3.12 an alias that pydantic can follow to itself needs another package.
Json: TypeAlias = None | bool | int | float | str | list[Any] | dict[str, Any]

Kind = Literal["set", "keep", "hold"]
"""set: this is the size to have. keep: the present target is right. hold: something needed is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustment:
    """What one guard changed, and its reason."""

    guard: str
    pool: str
    before: int
    after: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A whole target, stated again on every tick: an action that was lost repairs itself."""

    allocation: Mapping[str, int]
    """Pool -> workers."""
    reason: str
    """A sentence with numbers, for a person."""
    kind: Kind = "set"
    evidence: Mapping[str, Json] = field(default_factory=dict)
    """The same for a machine: an explanation, from which nobody learns."""
    note: Mapping[str, Json] = field(default_factory=dict)
    """What the policy tells its own `learn` on the next look, plain and never shown; empty if nothing."""
    adjustments: tuple[Adjustment, ...] = ()
    made_s: float | None = None
    """When the policy made it; it is restated until the next one. None if the policy was not asked."""
    leave_first: tuple[str, ...] = ()
    """Workers that should leave before others."""
    add_on: tuple[str, ...] = ()
    """Nodes on which a worker should be added first."""
    slots: Mapping[str, float] = field(default_factory=dict)
    """Query -> slots that the policy finds it needs; empty where a policy does not tell queries apart."""

    @classmethod
    def hold(cls, now: Observation, reason: str, evidence: Mapping[str, Json] | None = None) -> Decision:
        """Stay at the size last decided because something is unknown. There is nothing to learn from it."""
        return cls(allocation=now.wanted(), reason=reason, kind="hold", evidence=evidence or {})

    @classmethod
    def keep(
        cls,
        now: Observation,
        reason: str,
        evidence: Mapping[str, Json] | None = None,
        note: Mapping[str, Json] | None = None,
    ) -> Decision:
        """Stay at the size last decided because it is right."""
        return cls(allocation=now.wanted(), reason=reason, kind="keep", evidence=evidence or {}, note=note or {})

    def restated(self, now: Observation) -> Decision:
        """The same decision at a later tick: what stays, stays at what is wanted by then."""
        return self if self.kind == "set" else replace(self, allocation=now.wanted())

    def adjusted(self, guard: str, allocation: Mapping[str, int], reason: str) -> Decision:
        """The decision with another allocation, and a note of who changed it and why."""
        notes = tuple(
            Adjustment(guard=guard, pool=pool, before=self.allocation[pool], after=workers, reason=reason)
            for pool, workers in allocation.items()
            if workers != self.allocation[pool]
        )
        if not notes:
            return self
        return replace(self, allocation=dict(allocation), adjustments=self.adjustments + notes)

    def proposed(self) -> dict[str, int]:
        """What the policy asked for, before any guard."""
        first: dict[str, int] = {}
        for note in self.adjustments:
            first.setdefault(note.pool, note.before)
        return {**self.allocation, **first}

    def after(self, guard: str) -> dict[str, int]:
        """What one guard made of what the policy asked for."""
        made = self.proposed()
        for note in self.adjustments:
            if note.guard == guard:
                made[note.pool] = note.after
        return made

    def changes(self, now: Observation) -> dict[str, tuple[int, int]]:
        """Pools whose size this decision changes: from, to."""
        return {
            pool.name: (pool.wanted, self.allocation[pool.name])
            for pool in now.pools
            if self.allocation[pool.name] != pool.wanted
        }

    def sentence(self) -> str:
        """The reason, and what each guard changed."""
        # One reason may have changed several pools; it is said once.
        notes = dict.fromkeys(f"{note.guard}: {note.reason}" for note in self.adjustments)
        return "; ".join([self.reason, *notes])
