"""What every registered policy must do. A new policy joins by being registered."""

import json

import pytest
from hypothesis import given, settings

from elastream.core.credible import credible
from elastream.core.errors import ObservationFailed
from elastream.core.needs import fit
from elastream.core.observation import Observation
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.simulator.microbatch.platform import PROVIDES
from elastream.testing import check_pure
from elastream.testing.contract import are_finite, recorded_looks
from elastream.testing.policy_contract import (
    check_policy_absurd,
    check_policy_explains,
    check_policy_leaves_arguments,
    check_policy_memory,
    check_policy_needs,
    check_policy_repeats,
    check_policy_restores,
    check_policy_run,
    check_policy_shape,
)
from tests.strategies import histories

every_policy = pytest.mark.parametrize("name", policies.names())
every_width = pytest.mark.parametrize("slots", [1, 4])

# A preset is a policy with other settings: one kind of run is enough outside of the long matrix.
RUNS = [
    pytest.param(
        name, slots, asap, marks=pytest.mark.full if name in policies.presets() and (slots, asap) != (1, False) else ()
    )
    for name in policies.names()
    for slots in (1, 4)
    for asap in (False, True)
]


@every_policy
def test_it_has_all_that_a_policy_has(name: str) -> None:
    check_policy_shape(policies.build(name))


@pytest.mark.parametrize(("name", "slots", "asap"), RUNS)
def test_it_runs_on_the_simulator_within_bounds_and_says_why(name: str, slots: int, asap: bool) -> None:
    check_policy_run(policies.build(name), slots=slots, asap=asap)


@every_policy
@settings(max_examples=40)
@given(history=histories())
def test_no_observation_makes_it_raise_or_leave_its_bounds(name: str, history: list[Observation]) -> None:
    planner = Planner(policies.build(name), {}, PROVIDES)
    for seen in history:
        try:
            now = credible(seen, max_age_s=45.0)
        except ObservationFailed:
            continue
        decision, troubles, _ = planner.plan(now)
        assert not troubles
        assert decision.reason
        assert are_finite(decision.evidence)
        for pool in now.pools:
            assert pool.min_workers <= decision.allocation[pool.name] <= pool.max_workers


@every_policy
def test_no_look_of_a_run_that_became_absurd_makes_it_raise_or_leave_its_bounds(name: str) -> None:
    check_policy_absurd(policies.build(name), rounds=2)


@every_policy
@every_width
def test_the_same_past_gives_the_same_decisions(name: str, slots: int) -> None:
    check_policy_repeats(policies.build(name), slots=slots)


@every_policy
@every_width
def test_stopped_in_the_middle_and_restored_from_json_it_goes_on_as_if_nothing_had_happened(
    name: str, slots: int
) -> None:
    check_policy_restores(policies.build(name), slots=slots)


@every_policy
def test_a_snapshot_of_before_decisions_had_notes_is_gone_on_from(name: str) -> None:
    looks = recorded_looks()
    half = len(looks) // 2
    through, stopped, restored = (Planner(policies.build(name), {}, PROVIDES) for _ in range(3))
    expected = [through.plan(now).decision.allocation for now in looks][half:]
    for now in looks[:half]:
        stopped.plan(now)
    older = json.loads(json.dumps(stopped.snapshot()))
    for decision in (older["last"], older["proposal"]):
        del decision["note"]
    restored.restore(older)
    assert [restored.plan(now).decision.allocation for now in looks[half:]] == expected


@every_policy
def test_evidence_explains_and_nothing_is_learned_from_it(name: str) -> None:
    check_policy_explains(policies.build(name))


@every_policy
def test_its_memory_is_plain_bounded_and_not_shared(name: str) -> None:
    check_policy_memory(policies.build(name))


@every_policy
def test_deciding_changes_nothing_it_was_given(name: str) -> None:
    check_policy_leaves_arguments(policies.build(name))


@every_policy
def test_without_what_it_needs_it_holds_and_says_what_is_missing_and_what_it_needs_is_declared(name: str) -> None:
    check_policy_needs(policies.build(name))


@every_policy
def test_it_fits_the_simulator_or_says_why_not(name: str) -> None:
    found = fit(policies.build(name).needs, PROVIDES)
    assert found.runs or "cannot run" in found.sentence()


def test_policies_are_pure_in_two_processes_with_other_clocks_and_hash_seeds() -> None:
    check_pure(*(policies.build(name) for name in policies.names()))
