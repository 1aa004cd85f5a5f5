"""From looks to decisions: fold, ask the policy, run the guards.

Nothing here reads a clock or touches the world, so a recorded run can be planned again, and a planner restored from a
snapshot goes on as if nothing had happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from elastream.core.bottleneck import Bottleneck, find_bottlenecks
from elastream.core.decision import Decision
from elastream.core.errors import spell_error
from elastream.core.guards import Guards, in_order
from elastream.core.guards.pause import Pause
from elastream.core.knowledge import Knowledge
from elastream.core.needs import find_lack
from elastream.core.observation import Observation
from elastream.core.protocols import Policy
from elastream.core.signals import Signal

_DECISION = TypeAdapter(Decision | None)


class TickPlan(NamedTuple):
    """A decision, what went wrong on the way to it, and what it cannot help."""

    decision: Decision
    troubles: tuple[str, ...] = ()
    bottlenecks: tuple[Bottleneck, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """Everything a planner remembered at one moment; it may go on meanwhile."""

    known: Knowledge
    memory: Any
    guards: Mapping[str, object]
    last: Decision | None
    proposal: Decision | None

    def to_json(self) -> dict[str, object]:
        """As plain values."""
        return {
            "known": self.known.to_json(),
            "memory": self.memory,
            "guards": self.guards,
            "last": _DECISION.dump_python(self.last, mode="json"),
            "proposal": _DECISION.dump_python(self.proposal, mode="json"),
        }


class Planner:
    """A policy with its guards, and everything they remember."""

    def __init__(self, policy: Policy[Any], guards: Guards, provides: AbstractSet[Signal]) -> None:
        self.policy = policy
        self.guards = in_order(guards)
        self.known = Knowledge(provides)
        self.last: Decision | None = None
        self._memory = policy.start()
        self._guard_memory = {name: guard.start() for name, guard in self.guards.items()}
        self._proposal: Decision | None = None

    def plan(self, now: Observation) -> TickPlan:
        """Decide on one look. An error in a policy or a guard makes it hold, within what the other guards allow."""
        failed, silence = self._teach_guards(now)
        troubles: tuple[str, ...] = ()
        # Whatever a policy does wrong, the size stays, within its bounds, and the user is told.
        try:
            self.known.fold(now)
            proposal = self._proposed(now) if silence is None else Decision.keep(now, silence)
        except Exception as error:
            troubles = (f"planning failed: {spell_error(error)}",)
            proposal = Decision.hold(now, troubles[0])
        decision = self._guarded(proposal, now, failed)
        troubles += tuple(failed.values())
        bottlenecks: tuple[Bottleneck, ...] = ()
        try:
            bottlenecks = find_bottlenecks(now, self.known)
        except Exception as error:
            troubles += (f"no bottleneck can be told: {spell_error(error)}",)
        self.known.note(now, decision)
        self.last = decision
        return TickPlan(decision, troubles, bottlenecks)

    def remember(self) -> Remembered:
        """What is remembered now. Memories are never changed but replaced, so that only knowledge is copied."""
        return Remembered(
            known=self.known.copy(),
            memory=self._memory,
            guards=dict(self._guard_memory),
            last=self.last,
            proposal=self._proposal,
        )

    def snapshot(self) -> dict[str, Any]:
        """Everything remembered, as plain values."""
        return self.remember().to_json()

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go on from a snapshot; if it makes no sense, raise and go on as before."""
        known = Knowledge.from_json(snapshot["known"], self.known.declared)
        guards = {name: snapshot["guards"].get(name, guard.start()) for name, guard in self.guards.items()}
        last, proposal = (_DECISION.validate_python(_with_note(snapshot[name])) for name in ("last", "proposal"))
        self.known, self._memory, self._guard_memory = known, snapshot["memory"], guards
        self.last, self._proposal = last, proposal

    def adopt(self, past: Planner) -> bool:
        """Begin with what the policy learned in another run of the same job, if it tells what of that still holds."""
        carry_over = getattr(self.policy, "carry_over", None)
        if carry_over is None:
            return False
        self._memory = carry_over(past._memory)
        return True

    def _proposed(self, now: Observation) -> Decision:
        """What the policy says, or said when it was last due."""
        self._memory = self.policy.learn(self._memory, now, self.last)
        if (lack := find_lack(self.policy.needs, self.known.declared, now.lacks)) is not None:
            return Decision.hold(now, lack)
        if self._proposal is None or self._is_due(self._proposal, now):
            made = _sound(self.policy.decide(now, self.known, self._memory), now)
            self._proposal = replace(made, made_s=now.at_s)
        return self._proposal.restated(now)

    def _is_due(self, proposal: Decision, now: Observation) -> bool:
        # A pool that came or went was not decided on.
        if proposal.allocation.keys() != now.wanted().keys():
            return True
        return proposal.made_s is None or now.at_s - proposal.made_s >= self.policy.interval_s - 1e-6

    def _teach_guards(self, now: Observation) -> tuple[dict[str, str], str | None]:
        """Let every guard learn: what failed, by the guard's name, and why the policy should not be asked, if so."""
        failed: dict[str, str] = {}
        silence = None
        for name, guard in self.guards.items():
            try:
                self._guard_memory[name] = memory = guard.learn(self._guard_memory[name], now, self.last)
                silence = silence or guard.silences(now, memory)
            except Exception as error:
                failed[name] = _failure(name, error)
        return failed, silence

    def _guarded(self, decision: Decision, now: Observation, failed: dict[str, str]) -> Decision:
        """What all guards make of a decision. One that fails holds, and those after it have their say on that."""
        for name, guard in _with_pause(self.guards, now).items():
            if name not in failed:
                try:
                    decision = _sound(guard.adjust(decision, now, self.known, self._guard_memory.get(name)), now)
                    continue
                except Exception as error:
                    failed[name] = _failure(name, error)
            decision = Decision.hold(now, failed[name])
        return decision


def _with_pause(guards: Guards, now: Observation) -> Guards:
    """The guards as people want them as of this look: with a pause, or without the one that was configured."""
    mode = now.control.mode
    if mode is None:
        return guards
    others = {name: guard for name, guard in guards.items() if name != "pause"}
    return others if mode == "running" else in_order({**others, "pause": Pause(mode=mode)})


def _with_note(decision: object) -> object:
    """A decision of a snapshot. In those of before, a policy's note to itself stood in the evidence."""
    if isinstance(decision, dict) and "note" not in decision:
        return {**decision, "note": decision.get("evidence", {})}
    return decision


def _failure(guard: str, error: Exception) -> str:
    return f"guard {guard} failed: {spell_error(error)}"


def _sound(decision: Decision, now: Observation) -> Decision:
    """The decision, if it speaks of every pool, and of no other, in whole workers."""
    if not isinstance(decision, Decision):
        raise TypeError(f"{decision!r} is no decision")
    for pool in now.pools:
        workers = decision.allocation.get(pool.name)
        if not isinstance(workers, int) or isinstance(workers, bool) or workers < 0:
            raise ValueError(f"{workers!r} workers decided for pool {pool.name}")
    for name in decision.allocation.keys() - now.wanted().keys():
        raise ValueError(f"workers decided for pool {name}, which does not exist")
    return decision
