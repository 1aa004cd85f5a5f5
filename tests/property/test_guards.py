import json
import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from elastream.core.credible import credible
from elastream.core.decision import Decision
from elastream.core.guards import Guards, in_order
from elastream.core.guards.over_provision import OverProvision
from elastream.core.guards.pause import Pause
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Reading
from elastream.core.protocols import Forgetful
from elastream.loop.planner import Planner
from elastream.testing import knowing
from tests.strategies import decisions, guard_sets, histories, observations, wanting

MAX_AGE_S = 15.0

# Drawing a whole run takes long; what one draws tells as much as ten single looks.
few = settings(max_examples=50)


class Script(Forgetful):
    """Says what the test put into its mouth."""

    interval_s = 0.0
    needs: tuple[Need, ...] = ()
    says: Decision

    def decide(self, now: Observation, known: Knowledge, memory: None) -> Decision:
        return self.says


def assert_accounted_for(proposal: dict[str, int], decision: Decision) -> None:
    """What the guards say they changed is exactly what has changed."""
    sizes = dict(proposal)
    for note in decision.adjustments:
        assert note.before != note.after
        assert sizes[note.pool] == note.before
        assert note.reason
        sizes[note.pool] = note.after
    assert sizes == decision.allocation


def assert_whole_and_within(decision: Decision, now: Observation) -> None:
    assert decision.allocation.keys() == now.wanted().keys()
    for pool in now.pools:
        assert type(decision.allocation[pool.name]) is int
        assert pool.min_workers <= decision.allocation[pool.name] <= pool.max_workers


def all_readings(value: Any) -> Iterator[Reading]:
    if isinstance(value, Reading):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from all_readings(item)
    elif is_dataclass(value):
        for field in fields(value):
            yield from all_readings(getattr(value, field.name))


@given(observations())
def test_what_is_credible_holds_no_absurd_reading_and_is_credible_again(now: Observation) -> None:
    sound = credible(now, MAX_AGE_S)
    for reading in all_readings(sound):
        assert 0 <= reading.value < math.inf
        assert now.at_s - MAX_AGE_S <= reading.at_s <= now.at_s + 5.0
    assert credible(sound, MAX_AGE_S) is sound
    for query in sound.queries:
        assert query.backlog is None or math.isfinite(query.backlog)
        assert query.delay is None or math.isfinite(query.delay.p95_s)
    assert [(pool.name, pool.wanted, pool.ready) for pool in sound.pools] == [
        (pool.name, pool.wanted, pool.ready) for pool in now.pools
    ]


@given(st.data(), guard_sets(), histories())
def test_whatever_comes_the_result_is_whole_within_bounds_and_accounted_for(
    data: st.DataObject, guards: Guards, looks: list[Observation]
) -> None:
    policy = Script()
    planner = Planner(policy, guards, frozenset())
    target: dict[str, int] = {}
    for look in looks:
        now = credible(wanting(look, target), MAX_AGE_S)
        policy.says = data.draw(decisions(now))
        plan = planner.plan(now)
        assert plan.troubles == ()
        assert_whole_and_within(plan.decision, now)
        silenced = plan.decision.reason.startswith("cool-down: ")
        assert_accounted_for(now.wanted() if silenced else dict(policy.says.allocation), plan.decision)
        snapshot = planner.snapshot()
        assert json.loads(json.dumps(snapshot)) == snapshot
        json.dumps(snapshot, allow_nan=False)
        # Sometimes the change arrives and sometimes it is lost.
        target = dict(plan.decision.allocation) if data.draw(st.booleans()) else now.wanted()


@given(st.data(), observations())
def test_each_guard_alone_accounts_for_what_it_does_and_changes_nothing_known(
    data: st.DataObject, look: Observation
) -> None:
    now = credible(look, MAX_AGE_S)
    known = knowing(now)
    before = json.dumps(known.to_json())
    decision = data.draw(decisions(now))
    for name, guard in in_order(data.draw(guard_sets())).items():
        memory = guard.learn(guard.start(), now, None)
        remembered = json.dumps(memory)
        result = guard.adjust(decision, now, known, memory)
        assert_accounted_for(dict(decision.allocation), result)
        assert {note.guard for note in result.adjustments} <= {name.replace("_", "-")}
        assert (result.reason, result.evidence) == (decision.reason, decision.evidence)
        assert guard.adjust(decision, now, known, memory) == result
        assert json.dumps(memory) == remembered
    assert json.dumps(known.to_json()) == before


@few
@given(st.data(), guard_sets(), histories())
def test_a_run_that_is_stopped_and_restored_anywhere_decides_the_same(
    data: st.DataObject, guards: Guards, looks: list[Observation]
) -> None:
    policy = Script()
    through, stopped = Planner(policy, guards, frozenset()), Planner(policy, guards, frozenset())
    target: dict[str, int] = {}
    for look in looks:
        now = credible(wanting(look, target), MAX_AGE_S)
        policy.says = data.draw(decisions(now))
        text = json.dumps(stopped.snapshot())
        stopped = Planner(policy, guards, frozenset())
        stopped.restore(json.loads(text))
        plan = through.plan(now)
        assert stopped.plan(now) == plan
        target = dict(plan.decision.allocation)


# What depends on time passing or on spending may move later; these may not.
TIMELESS = ("ignore_minor", "step_limit", "partition_ceiling", "state_floor", "scarce_cluster")


@few
@given(guard_sets(TIMELESS), observations(), st.integers(0, 40), st.floats(1.0, 2.0))
def test_one_proposal_said_again_and_again_comes_to_rest(
    guards: Guards, look: Observation, workers: int, factor: float
) -> None:
    policy = Script()
    planner = Planner(policy, {**guards, "over_provision": OverProvision(factor=factor)}, frozenset())
    sizes: list[dict[str, int]] = []
    target: dict[str, int] = {}
    for n in range(70):
        now = credible(wanting(replace(look, at_s=look.at_s + n), target), 1e9)
        policy.says = Decision(allocation=dict.fromkeys(now.wanted(), workers), reason="always the same")
        target = dict(planner.plan(now).decision.allocation)
        sizes.append(target)
    assert sizes[-1] == sizes[-2]


@few
@given(guard_sets(), histories())
def test_a_hold_changes_nothing_that_is_within_bounds(guards: Guards, looks: list[Observation]) -> None:
    policy = Script()
    planner = Planner(policy, guards, frozenset())
    for look in looks:
        now = credible(look, MAX_AGE_S)
        policy.says = Decision.hold(now, "unknown")
        # A silenced policy is kept and not held: then limits may still lower what is wanted.
        decision = planner.plan(now).decision
        if decision.kind == "hold":
            for pool in now.pools:
                if pool.min_workers <= pool.wanted <= pool.max_workers:
                    assert decision.allocation[pool.name] == pool.wanted


@few
@given(st.data(), guard_sets(), histories())
def test_a_pause_changes_nothing_at_all(data: st.DataObject, guards: Guards, looks: list[Observation]) -> None:
    policy = Script()
    planner = Planner(policy, {**guards, "pause": Pause()}, frozenset())
    for look in looks:
        now = credible(look, MAX_AGE_S)
        policy.says = data.draw(decisions(now))
        assert planner.plan(now).decision.allocation == now.wanted()


@given(st.data(), observations(), guard_sets(("stabilise", "ignore_minor", "cool_down", "step_limit")))
def test_damping_depends_on_what_is_wanted_and_not_on_what_is_ready(
    data: st.DataObject, look: Observation, guards: Guards
) -> None:
    now = credible(look, MAX_AGE_S)
    others = replace(now, pools=tuple(replace(pool, ready=0, requested=0, leaving=9) for pool in now.pools))
    decision = data.draw(decisions(now))
    for guard in guards.values():
        one, other = guard.learn(guard.start(), now, None), guard.learn(guard.start(), others, None)
        assert one == other
        assert guard.adjust(decision, now, knowing(now), one) == guard.adjust(decision, others, knowing(now), other)
