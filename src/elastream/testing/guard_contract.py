"""What every guard must do, as functions: each raises ContractBroken with the first thing that does not hold.

def test_it_keeps_the_contract() -> None:
    check_guard(Mine(limit=3))
"""

import json
import random
from dataclasses import replace
from typing import Any

from elastream.core.credible import credible
from elastream.core.decision import Decision
from elastream.core.errors import ObservationFailed
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Guard
from elastream.loop.planner import Planner
from elastream.policies import Threshold
from elastream.registry.foreign import check_members, check_settings_class
from elastream.registry.settings import construct
from elastream.simulator.microbatch.platform import PROVIDES
from elastream.testing.absurd import make_absurd
from elastream.testing.contract import check_pure, name_class, recorded_looks, require, survives_json, what_is_known

_LOOKS = 60


def check_guard(guard: Guard[Any] | type[Guard[Any]]) -> None:
    """All of it: of a class with its default settings, or of an object. Takes some seconds."""
    built = construct(guard, {}, f"guard {guard.__name__}") if isinstance(guard, type) else guard
    check_members(type(built), Guard, "guard", name_class(built))
    check_settings_class(type(built), name_class(built))
    check_guard_accounts(built)
    check_guard_memory(built)
    check_guard_restores(built)
    check_pure(built, kind="guard")


def check_guard_accounts(guard: Guard[Any], *, seed: int = 0) -> None:
    """Whatever is proposed and seen: what has changed is noted with a reason, and nothing else is touched."""
    draw, name = random.Random(f"accounts {seed}"), name_class(guard)
    known, memory = Knowledge(PROVIDES), guard.start()
    for n, seen in enumerate(recorded_looks()[:_LOOKS]):
        at_s = 100.0 + 15 * n
        try:
            now = credible(make_absurd(seen, draw, at_s=at_s) if n % 2 else replace(seen, at_s=at_s), 1e9)
        except ObservationFailed:
            continue
        known.fold(now)
        decision = _proposed(draw, now)
        memory = guard.learn(memory, now, decision)
        silence = guard.silences(now, memory)
        require(silence is None or bool(silence.strip()), f"{name}: silences without saying why")
        before = json.dumps([what_is_known(known), memory])
        result = guard.adjust(decision, now, known, memory)
        _check_accounted(name, decision, result)
        require(guard.adjust(decision, now, known, memory) == result, f"{name}: asked twice, it says two things")
        same = json.dumps([what_is_known(known), memory]) == before
        require(same, f"{name}: adjust changes what it was given")


def check_guard_memory(guard: Guard[Any]) -> None:
    """Its memory is plain and bounded, and replaced rather than changed."""
    name, memory, sizes = name_class(guard), guard.start(), []
    looks, draw = recorded_looks(), random.Random("memory")
    for n in range(3 * len(looks)):
        now = replace(looks[n % len(looks)], at_s=15.0 * n, utc_s=15.0 * n)
        before = json.dumps(memory)
        after = guard.learn(memory, now, _proposed(draw, now))
        require(
            json.dumps(memory) == before, f"{name}: learn changes the memory it was given; it must return a new one"
        )
        require(survives_json(after), f"{name}: its memory does not survive JSON: {after!r:.200}")
        memory = after
        sizes.append(len(json.dumps(memory)))
    bounded = sizes[-1] <= 2 * max(sizes[: len(looks)]) + 100
    require(bounded, f"{name}: its memory grows with time, from {sizes[0]} to {sizes[-1]} bytes")


def check_guard_restores(guard: Guard[Any]) -> None:
    """Around a policy, stopped in the middle and restored from JSON, it goes on as if nothing had happened."""
    looks = recorded_looks()
    half = len(looks) // 2
    through, stopped, restored = (Planner(Threshold(), {"tested": guard}, PROVIDES) for _ in range(3))
    for now in looks[:half]:
        through.plan(now)
        stopped.plan(now)
    restored.restore(json.loads(json.dumps(stopped.snapshot())))
    for now in looks[half:]:
        expected = through.plan(now)
        require(not expected.troubles, f"{name_class(guard)}: {'; '.join(expected.troubles)}")
        same = expected == restored.plan(now)
        require(same, f"{name_class(guard)} at {now.at_s:.0f} s: restored from its memory, it says otherwise")


def _proposed(draw: random.Random, now: Observation) -> Decision:
    kind = draw.choice(("set", "set", "keep", "hold"))
    if kind != "set":
        made = Decision.keep(now, "enough") if kind == "keep" else Decision.hold(now, "unknown")
        return replace(made, made_s=now.at_s)
    sizes = {pool.name: draw.choice((0, 1, 3, 12, 60)) for pool in now.pools}
    return Decision(allocation=sizes, reason="the policy said so", made_s=now.at_s)


def _check_accounted(name: str, decision: Decision, result: Decision) -> None:
    """What a guard says it changed is exactly what has changed, in whole workers, and the policy's words stand."""
    require(isinstance(result, Decision), f"{name}: adjust returned {result!r:.100}, which is no decision")
    require(result.allocation.keys() == decision.allocation.keys(), f"{name}: adjust added or dropped a pool")
    whole = all(type(size) is int and size >= 0 for size in result.allocation.values())
    require(whole, f"{name}: adjust decided {dict(result.allocation)}; sizes are whole workers")
    words = (result.reason, result.evidence) == (decision.reason, decision.evidence)
    require(words, f"{name}: adjust changed the policy's own words; use decision.adjusted(name, allocation, reason)")
    sizes = dict(decision.allocation)
    for note in result.adjustments[len(decision.adjustments) :]:
        require(bool(note.reason.strip()), f"{name}: it changed {note.pool} without a reason")
        sizes[note.pool] = note.after
    noted = sizes == result.allocation
    require(noted, f"{name}: it changed sizes without a note; use decision.adjusted(name, allocation, reason)")
