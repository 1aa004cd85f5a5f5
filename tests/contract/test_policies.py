"""What every registered policy must do. A new policy joins by being registered."""

import json
import math
import os
import subprocess
import sys
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from pydantic import TypeAdapter

from elastream.core.credible import credible
from elastream.core.decision import Decision
from elastream.core.errors import ObservationFailed
from elastream.core.knowledge import Knowledge
from elastream.core.needs import fit
from elastream.core.observation import FinishedBatch, Observation, OperatorWork, Pool, Query, Source, Worker
from elastream.core.signals import Signal
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.simulator.microbatch.platform import PROVIDES
from tests.stories.telling import Story, application, tell
from tests.strategies import histories

LOAD = "cosine(5k..70k, period=20m, noise=5k) + spike(30k, at=12m, for=2m)"

every_policy = pytest.mark.parametrize("name", policies.names())
every_width = pytest.mark.parametrize("slots", [1, 4])

FILLED_BY: dict[Signal, tuple[tuple[type, str], ...]] = {
    Signal.ARRIVED: ((Source, "arrived"),),
    Signal.COMMITTED: ((Source, "committed"),),
    Signal.BUSY_TIME: ((OperatorWork, "busy_s"), (FinishedBatch, "busy_s")),
    Signal.RECORDS_IN: ((OperatorWork, "records_in"),),
    Signal.RECORDS_OUT: ((OperatorWork, "records_out"),),
    Signal.BACKPRESSURE_TIME: ((OperatorWork, "backpressure_s"),),
    Signal.QUEUE: ((OperatorWork, "queue"),),
    Signal.BATCHES: ((Query, "batches"),),
    Signal.DELAY: ((Query, "delay"),),
    Signal.DRIVER_TIME: ((Query, "driver_s"),),
    Signal.STATE_BYTES: ((Query, "state"),),
    Signal.BUSY_SLOTS: ((Pool, "busy_slot_s"),),
    Signal.WORKER_CPU: ((Worker, "cpu"),),
    Signal.WORKER_MEMORY: ((Worker, "memory_bytes"),),
    Signal.WORKER_RECORDS: ((Worker, "records"),),
    Signal.BACKLOG_AGE: ((Source, "backlog_age_s"),),
}


@cache
def story(slots: int, asap: bool = False) -> Story:
    """A run under a moving load, to be planned again by others."""
    app = application(slots_per_worker=slots, initial_workers=4, asap=asap)
    return tell(app, LOAD, "threshold", minutes=30)


def planner(name: str) -> Planner:
    return Planner(policies.build(name), {}, PROVIDES)


# A preset is a policy with other settings: one kind of run is enough outside of the long matrix.
RUNS = [
    pytest.param(
        name, slots, asap, marks=pytest.mark.full if name in policies.presets() and (slots, asap) != (1, False) else ()
    )
    for name in policies.names()
    for slots in (1, 4)
    for asap in (False, True)
]


@pytest.mark.parametrize(("name", "slots", "asap"), RUNS)
def test_it_runs_on_the_simulator_within_bounds_and_says_why(name: str, slots: int, asap: bool) -> None:
    told = tell(application(slots_per_worker=slots, initial_workers=3, asap=asap), LOAD, name, minutes=30)
    for tick in told.ticks:
        assert tick.decision is not None
        assert not tick.troubles
        assert all(1 <= workers <= 12 for workers in tick.decision.allocation.values())
        assert tick.decision.reason
        assert all_finite(tick.decision.evidence)
        for plain in (tick.decision.evidence, tick.decision.note):
            assert json.loads(json.dumps(plain)) == plain


@every_policy
@settings(max_examples=40)
@given(history=histories())
def test_no_observation_makes_it_raise_or_leave_its_bounds(name: str, history: list[Observation]) -> None:
    plan = planner(name)
    for seen in history:
        try:
            now = credible(seen, max_age_s=45.0)
        except ObservationFailed:
            continue
        decision, troubles, _ = plan.plan(now)
        assert not troubles
        assert decision.reason
        assert all_finite(decision.evidence)
        for pool in now.pools:
            assert pool.min_workers <= decision.allocation[pool.name] <= pool.max_workers


@every_policy
@every_width
def test_the_same_past_gives_the_same_decisions(name: str, slots: int) -> None:
    looks = story(slots).looks()
    first, second = planner(name), planner(name)
    assert [first.plan(now) for now in looks] == [second.plan(now) for now in looks]


@every_policy
@every_width
def test_stopped_in_the_middle_and_restored_from_json_it_goes_on_as_if_nothing_had_happened(
    name: str, slots: int
) -> None:
    looks = story(slots).looks()
    half = len(looks) // 2
    through, stopped, restored = planner(name), planner(name), planner(name)
    expected = [through.plan(now) for now in looks][half:]
    for now in looks[:half]:
        stopped.plan(now)
    restored.restore(json.loads(json.dumps(stopped.snapshot())))
    assert [restored.plan(now) for now in looks[half:]] == expected


@every_policy
def test_a_snapshot_of_before_decisions_had_notes_is_gone_on_from(name: str) -> None:
    looks = story(1).looks()
    half = len(looks) // 2
    through, stopped, restored = planner(name), planner(name), planner(name)
    expected = [through.plan(now).decision.allocation for now in looks][half:]
    for now in looks[:half]:
        stopped.plan(now)
    older = json.loads(json.dumps(stopped.snapshot()))
    for decision in (older["last"], older["proposal"]):
        del decision["note"]
    restored.restore(older)
    assert [restored.plan(now).decision.allocation for now in looks[half:]] == expected


class Unexplained:
    """A policy that never sees the evidence of what it decided."""

    def __init__(self, name: str) -> None:
        self.policy = policies.build(name)
        self.start, self.decide = self.policy.start, self.policy.decide
        self.interval_s, self.needs = self.policy.interval_s, self.policy.needs

    def learn(self, memory: Any, now: Observation, last: Decision | None) -> Any:
        return self.policy.learn(memory, now, None if last is None else replace(last, evidence={}))


@every_policy
def test_evidence_explains_and_nothing_is_learned_from_it(name: str) -> None:
    looks = story(1).looks()
    usual, other = planner(name), Planner(Unexplained(name), {}, PROVIDES)
    assert [usual.plan(now) for now in looks] == [other.plan(now) for now in looks]


@every_policy
def test_its_memory_is_plain_bounded_and_not_shared(name: str) -> None:
    policy = policies.build(name)
    looks, memory, sizes = story(1).looks(), policy.start(), []
    for now in looks * 3:
        before = json.dumps(memory)
        after = policy.learn(memory, now, None)
        assert json.dumps(memory) == before, "learning returns a new memory and leaves the old one alone"
        assert json.loads(json.dumps(after)) == after
        memory = after
        sizes.append(len(json.dumps(memory)))
    assert sizes[-1] <= 2 * max(sizes[: len(looks)]) + 100


@every_policy
def test_deciding_changes_nothing_it_was_given(name: str) -> None:
    policy, known = policies.build(name), Knowledge(PROVIDES)
    memory = policy.start()
    for now in story(1).looks()[:40]:
        known.fold(now)
        memory = policy.learn(memory, now, None)
        before = json.dumps([seen_by(known), memory])
        policy.decide(now, known, memory)
        assert json.dumps([seen_by(known), memory]) == before


def seen_by(known: Knowledge) -> dict[str, Any]:
    """What is known, but for how far back somebody has asked."""
    return {part: value for part, value in known.to_json().items() if part != "asked_s"}


@every_policy
def test_without_what_it_needs_it_holds_and_says_what_is_missing(name: str) -> None:
    for need in policies.build(name).needs:
        plan = planner(name)
        blind = [without(now, (need.signal, *need.stand_ins)) for now in story(1).looks()]
        for now in blind:
            decision = plan.plan(now).decision
            assert decision.kind == "hold", f"{name} decided without {need.signal}"
            assert decision.allocation == now.wanted()
            assert decision.reason


@every_policy
def test_what_it_needs_is_declared(name: str) -> None:
    """A policy that runs on the simulator never asks for a signal that it did not declare: take all others away."""
    policy = policies.build(name)
    served = {need.served_by(PROVIDES) for need in policy.needs}
    others = tuple(signal for signal in FILLED_BY if signal not in served)
    plan = planner(name)
    kinds = {plan.plan(without(now, others)).decision.kind for now in story(1).looks()[10:]}
    assert kinds != {"hold"}


@every_policy
def test_it_fits_the_simulator_or_says_why_not(name: str) -> None:
    found = fit(policies.build(name).needs, PROVIDES)
    assert found.runs or "cannot run" in found.sentence()


def test_policies_are_pure_in_two_processes_with_other_clocks_and_hash_seeds() -> None:
    dump = TypeAdapter(Observation).dump_json
    recorded = b"\n".join(dump(now) for now in story(1).looks()[:60])
    answers = [planned_elsewhere(recorded, moment, hash_seed) for moment, hash_seed in (("1e9", "1"), ("2e9", "77"))]
    assert answers[0] == answers[1]
    decided = json.loads(answers[0])
    assert set(decided) == set(policies.names())
    here = [planner("lag-proportional").plan(now).decision for now in story(1).looks()[:1]]
    assert decided["lag-proportional"][0]["allocation"] == here[0].allocation


def planned_elsewhere(recorded: bytes, moment: str, hash_seed: str) -> bytes:
    script = Path(__file__).with_name("planning.py")
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "TZ": "Asia/Tokyo" if hash_seed == "1" else "UTC"}
    done = subprocess.run(
        [sys.executable, str(script), moment], input=recorded, capture_output=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def all_finite(value: Any) -> bool:
    if isinstance(value, dict):
        return all(all_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(all_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def without(now: Observation, signals: tuple[Signal, ...]) -> Observation:
    """The same observation with some signals unknown."""
    blank = {place for signal in signals for place in FILLED_BY[signal]}

    def walk(value: Any) -> Any:
        if isinstance(value, tuple) and not hasattr(value, "_fields"):
            return tuple(walk(item) for item in value)
        if is_dataclass(value) and not isinstance(value, type):
            kept = {
                item.name: None if (type(value), item.name) in blank else walk(getattr(value, item.name))
                for item in fields(value)
            }
            return replace(value, **kept)
        return value

    result: Observation = walk(now)
    return result
