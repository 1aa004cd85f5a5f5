"""What every policy must do, as functions: each raises ContractBroken with the first thing that does not hold.

def test_it_keeps_the_contract() -> None:
    check_policy(Mine)
"""

import json
import math
import random
from dataclasses import replace
from typing import Any

from elastream.core.credible import credible
from elastream.core.decision import Decision
from elastream.core.errors import ObservationFailed
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need, fit
from elastream.core.observation import Observation
from elastream.core.protocols import Policy
from elastream.loop.planner import Planner
from elastream.registry.foreign import check_members, check_settings_class
from elastream.registry.settings import construct
from elastream.simulator.microbatch.platform import PROVIDES
from elastream.testing.absurd import make_absurd
from elastream.testing.blindness import FILLED_BY, without
from elastream.testing.contract import (
    LOAD,
    are_finite,
    check_pure,
    name_class,
    recorded_looks,
    require,
    survives_json,
    what_is_known,
)
from elastream.testing.stories import application, tell


def check_policy(policy: Policy[Any] | type[Policy[Any]]) -> None:
    """All of it: of a class with its default settings, or of an object. Takes some seconds."""
    built = construct(policy, {}, f"policy {policy.__name__}") if isinstance(policy, type) else policy
    check_policy_shape(built)
    for slots in (1, 4):
        for asap in (False, True):
            check_policy_run(built, slots=slots, asap=asap)
        check_policy_repeats(built, slots=slots)
        check_policy_restores(built, slots=slots)
    check_policy_explains(built)
    check_policy_memory(built)
    check_policy_leaves_arguments(built)
    check_policy_needs(built)
    check_policy_absurd(built)
    check_pure(built)


def check_policy_shape(policy: Policy[Any]) -> None:
    """It is a frozen dataclass with all that a policy has."""
    name = name_class(policy)
    check_members(type(policy), Policy, "policy", name)
    check_settings_class(type(policy), name)
    interval_s: object = policy.interval_s
    sound = isinstance(interval_s, int | float) and math.isfinite(interval_s) and interval_s >= 0
    require(sound, f"{name}: interval_s is {interval_s!r}; it must be seconds")
    needs: object = policy.needs
    plain = isinstance(needs, tuple) and all(isinstance(need, Need) for need in needs)
    require(plain, f"{name}: needs is {needs!r}; it must be a tuple of Need")


def check_policy_run(policy: Policy[Any], *, slots: int = 1, asap: bool = False) -> None:
    """It runs on the simulator under a moving load within its bounds, and says why; if it lacks a signal there, not."""
    if not fit(policy.needs, PROVIDES).runs:
        return
    name = name_class(policy)
    story = tell(application(slots_per_worker=slots, initial_workers=3, asap=asap), LOAD, policy, minutes=30)
    for tick in story.ticks:
        where = f"{name} at {tick.at_s:.0f} s"
        require(not tick.troubles, f"{where}: {'; '.join(tick.troubles)}")
        assert tick.decision is not None
        sizes = tick.decision.allocation
        require(all(1 <= size <= 12 for size in sizes.values()), f"{where}: decided {dict(sizes)}, bounds are 1 to 12")
        _require_reason(tick.decision.reason, where)
        sound = are_finite(tick.decision.evidence) and survives_json(tick.decision.evidence)
        require(sound, f"{where}: its evidence is not plain: {tick.decision.evidence!r:.200}")
        require(survives_json(tick.decision.note), f"{where}: its note is not plain: {tick.decision.note!r:.200}")


def check_policy_repeats(policy: Policy[Any], *, slots: int = 1) -> None:
    """The same past gives the same decisions."""
    first, second = _planner(policy), _planner(policy)
    for now in recorded_looks(slots):
        one, other = first.plan(now), second.plan(now)
        require(one == other, f"{name_class(policy)} at {now.at_s:.0f} s: asked twice, it decides two things")


def check_policy_restores(policy: Policy[Any], *, slots: int = 1) -> None:
    """Stopped in the middle and restored from JSON, it goes on as if nothing had happened."""
    looks = recorded_looks(slots)
    half = len(looks) // 2
    through, stopped, restored = _planner(policy), _planner(policy), _planner(policy)
    for now in looks[:half]:
        through.plan(now)
        stopped.plan(now)
    restored.restore(json.loads(json.dumps(stopped.snapshot())))
    for now in looks[half:]:
        same = through.plan(now) == restored.plan(now)
        require(same, f"{name_class(policy)} at {now.at_s:.0f} s: restored from its memory, it decides otherwise")


def check_policy_explains(policy: Policy[Any]) -> None:
    """Evidence explains, and nothing is learned from it: what `learn` needs stands in the decision's note."""
    usual, other = _planner(policy), Planner(_Unexplained(policy), {}, PROVIDES)
    for now in recorded_looks():
        same = usual.plan(now) == other.plan(now)
        require(same, f"{name_class(policy)} at {now.at_s:.0f} s: it learns from its evidence; put that into the note")


def check_policy_memory(policy: Policy[Any]) -> None:
    """Its memory is plain and bounded, and replaced rather than changed."""
    name, memory, sizes = name_class(policy), policy.start(), []
    looks = recorded_looks()
    for now in looks * 3:
        before = json.dumps(memory)
        after = policy.learn(memory, now, None)
        require(json.dumps(memory) == before, f"{name}: learn changes its memory; it must return a new one")
        require(survives_json(after), f"{name}: its memory does not survive JSON: {after!r:.200}")
        memory = after
        sizes.append(len(json.dumps(memory)))
    bounded = sizes[-1] <= 2 * max(sizes[: len(looks)]) + 100
    require(bounded, f"{name}: its memory grows with time, from {sizes[0]} to {sizes[-1]} bytes")


def check_policy_leaves_arguments(policy: Policy[Any]) -> None:
    """Deciding changes nothing that it was given."""
    known, memory = Knowledge(PROVIDES), policy.start()
    for now in recorded_looks()[:40]:
        known.fold(now)
        memory = policy.learn(memory, now, None)
        before = json.dumps([what_is_known(known), memory])
        policy.decide(now, known, memory)
        same = json.dumps([what_is_known(known), memory]) == before
        require(same, f"{name_class(policy)}: decide changes what it was given")


def check_policy_needs(policy: Policy[Any]) -> None:
    """Without what it needs it holds and says what is missing; with nothing else it decides."""
    name = name_class(policy)
    for need in policy.needs:
        planner = _planner(policy)
        for now in recorded_looks():
            decision = planner.plan(without(now, (need.signal, *need.stand_ins))).decision
            holds = decision.kind == "hold" and decision.allocation == now.wanted()
            require(holds, f"{name} needs {need.signal}, and without it decides {decision.kind}: {decision.reason}")
            _require_reason(decision.reason, name)
    served = {need.served_by(PROVIDES) for need in policy.needs}
    if None in served:
        return
    others = [signal for signal in FILLED_BY if signal not in served]
    planner = _planner(policy)
    kinds = {planner.plan(without(now, others)).decision.kind for now in recorded_looks()[10:]}
    require(kinds != {"hold"}, f"{name} holds for ever without signals that it does not declare in needs")


def check_policy_absurd(policy: Policy[Any], *, seed: int = 0, rounds: int = 10) -> None:
    """Whatever is seen, it answers within bounds and does not raise."""
    draw = random.Random(f"absurd {seed}")
    for _ in range(rounds):
        planner, at_s = _planner(policy), 100.0
        for _ in range(25):
            at_s += draw.choice((5.0, 5.0, 0.001, 400.0))
            try:
                now = credible(make_absurd(draw.choice(recorded_looks()), draw, at_s=at_s), 15.0)
            except ObservationFailed:
                continue
            decision, troubles, _ = planner.plan(now)
            require(not troubles, f"{name_class(policy)} on an absurd look: {'; '.join(troubles)}")
            for pool in now.pools:
                size = decision.allocation[pool.name]
                within = pool.min_workers <= size <= pool.max_workers
                require(within, f"{name_class(policy)} on an absurd look: {size} is out of bounds")
            _require_reason(decision.reason, f"{name_class(policy)} on an absurd look")


class _Unexplained:
    """A policy that never sees the evidence of what it decided."""

    def __init__(self, policy: Policy[Any]) -> None:
        self._policy = policy
        self.start, self.decide = policy.start, policy.decide
        self.interval_s, self.needs = policy.interval_s, policy.needs

    def learn(self, memory: object, now: Observation, last: Decision | None) -> object:
        return self._policy.learn(memory, now, None if last is None else replace(last, evidence={}))


def _planner(policy: Policy[Any]) -> Planner:
    return Planner(policy, {}, PROVIDES)


def _require_reason(reason: str, where: str) -> None:
    require(bool(reason.strip()) and "\n" not in reason, f"{where}: the reason is {reason!r}; it must be a sentence")
