import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from elastream.core.decision import Decision
from elastream.core.guards import Guards
from elastream.core.guards.budget import Budget
from elastream.core.guards.cool_down import CoolDown
from elastream.core.guards.ignore_minor import IgnoreMinor
from elastream.core.guards.over_provision import OverProvision
from elastream.core.guards.partition_ceiling import PartitionCeiling
from elastream.core.guards.pause import Pause
from elastream.core.guards.quiet_hours import QuietHours
from elastream.core.guards.roll_back import RollBack
from elastream.core.guards.scarce_cluster import ScarceCluster
from elastream.core.guards.stabilise import Stabilise
from elastream.core.guards.state_floor import StateFloor
from elastream.core.guards.step_limit import StepLimit
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation
from elastream.core.protocols import Forgetful
from elastream.loop.planner import Planner, TickPlan
from elastream.testing import POOL, asking, observation, pool, query, size


@dataclass
class Says(Forgetful):
    """Decides what a function says, and counts how often it was asked."""

    says: Callable[[Observation, Knowledge], Decision]
    interval_s: float = 10.0
    needs: tuple[Need, ...] = ()
    asked_s: list[float] = field(default_factory=list)

    def decide(self, now: Observation, known: Knowledge, memory: None) -> Decision:
        self.asked_s.append(now.at_s)
        return self.says(now, known)


@dataclass(frozen=True)
class Counts:
    """Remembers how often it looked and what was decided; grows by the one, shrinks by the other."""

    interval_s: float = 10.0
    needs: tuple[Need, ...] = ()

    def start(self) -> dict[str, Any]:
        return {"looks": 0, "decided": []}

    def learn(self, memory: dict[str, Any], now: Observation, last: Decision | None) -> dict[str, Any]:
        decided = [*memory["decided"], None if last is None else size(last)]
        return {"looks": memory["looks"] + 1, "decided": decided[-5:]}

    def decide(self, now: Observation, known: Knowledge, memory: dict[str, Any]) -> Decision:
        if memory["looks"] % 7 == 3:
            return Decision.hold(now, "every seventh look is unknown", {"looks": memory["looks"]})
        if memory["looks"] % 5 == 2:
            return Decision.keep(now, "enough")
        arrival = known.arrival_rps(now.queries[0], 60.0) or 0.0
        workers = 3 + int(arrival / 10) + memory["looks"] * 5 % 13 - len(set(memory["decided"]))
        return Decision(
            allocation={POOL: max(0, workers)},
            reason=f"{arrival:.1f}/s",
            evidence={"rate": arrival, "n": [1, None, "x"]},
        )


def says(workers: int) -> Says:
    return Says(lambda now, known: asking(workers))


def drive(planner: Planner, *, ticks: int, wanted: int, every_s: float = 5.0, ready: int = 1) -> list[int]:
    """Tick after tick; what is decided is wanted on the next look, and never gets ready."""
    sizes = []
    for n in range(ticks):
        wanted = size(planner.plan(observation(n * every_s, ready=ready, wanted=wanted)).decision)
        sizes.append(wanted)
    return sizes


def test_a_policy_is_asked_when_due_and_its_proposal_restated_in_between() -> None:
    policy = says(7)
    assert drive(Planner(policy, {}, frozenset()), ticks=9, wanted=3) == [7] * 9
    assert policy.asked_s == [0.0, 10.0, 20.0, 30.0, 40.0]


def test_a_policy_with_a_shorter_interval_than_the_tick_is_asked_on_every_tick() -> None:
    policy = Says(lambda now, known: asking(7), interval_s=1.0)
    drive(Planner(policy, {}, frozenset()), ticks=4, wanted=3)
    assert policy.asked_s == [0.0, 5.0, 10.0, 15.0]


def test_ticks_that_are_a_hair_early_do_not_put_the_policy_off_by_a_whole_tick() -> None:
    policy = Says(lambda now, known: asking(7), interval_s=0.3)
    planner = Planner(policy, {}, frozenset())
    for at_s in (0.0, 0.1, 0.2, 0.1 + 0.2 - 1e-9, 0.4, 0.5, 0.6 - 1e-9):
        planner.plan(observation(at_s))
    assert len(policy.asked_s) == 3


def test_a_policy_learns_on_every_tick_even_when_it_is_not_asked() -> None:
    planner = Planner(Counts(interval_s=60.0), {}, frozenset())
    drive(planner, ticks=9, wanted=3)
    assert planner.snapshot()["memory"]["looks"] == 9


def test_a_hold_keeps_what_is_wanted_while_workers_are_starting() -> None:
    planner = Planner(Says(lambda now, known: Decision.hold(now, "unknown")), {}, frozenset())
    assert size(planner.plan(observation(ready=2, requested=4, wanted=9, leaving=1)).decision) == 9


def test_a_hold_between_two_questions_follows_what_is_wanted_by_then() -> None:
    planner = Planner(Says(lambda now, known: Decision.hold(now, "unknown")), {}, frozenset())
    planner.plan(observation(0.0, wanted=9))
    assert size(planner.plan(observation(5.0, wanted=4)).decision) == 4


def test_a_proposal_that_is_restated_gets_its_share_on_top_once() -> None:
    planner = Planner(says(10), {"over_provision": OverProvision(factor=1.2)}, frozenset())
    assert drive(planner, ticks=20, wanted=3) == [12] * 20


def test_a_keep_is_not_given_a_share_again_and_again() -> None:
    planner = Planner(
        Says(lambda now, known: Decision.keep(now, "enough")), {"over_provision": OverProvision()}, frozenset()
    )
    assert drive(planner, ticks=20, wanted=10) == [10] * 20


@pytest.mark.parametrize(
    "damping",
    [
        {"cool_down": CoolDown(after_s=60.0)},
        {"cool_down": CoolDown(after_s=60.0, mode="blocking")},
        {"ignore_minor": IgnoreMinor(up=3, down=3)},
        {"stabilise": Stabilise(up_s=30.0, down_s=60.0)},
        {"cool_down": CoolDown(after_s=60.0), "ignore_minor": IgnoreMinor(down=2), "stabilise": Stabilise()},
    ],
    ids=lambda guards: "+".join(guards),
)
def test_what_a_damping_guard_puts_back_does_not_run_away(damping: Guards) -> None:
    planner = Planner(says(10), {**damping, "over_provision": OverProvision(factor=1.2)}, frozenset())
    sizes = drive(planner, ticks=50, wanted=10)
    assert max(sizes) <= 12
    assert len(set(sizes[10:])) == 1


def test_a_cool_down_is_not_broken_by_a_share_on_top() -> None:
    proposals = iter([10, 12, 12, 12])
    policy = Says(lambda now, known: asking(next(proposals)), interval_s=1.0)
    guards: Guards = {"over_provision": OverProvision(factor=1.2), "cool_down": CoolDown(after_s=60.0)}
    assert drive(Planner(policy, guards, frozenset()), ticks=4, wanted=5) == [12, 12, 12, 12]


def test_a_blocking_cool_down_keeps_the_policy_from_learning_and_deciding() -> None:
    planner = Planner(Counts(), {"cool_down": CoolDown(after_s=20.0, mode="blocking")}, frozenset())
    planner.plan(observation(0.0, wanted=3))
    before = planner.snapshot()["memory"]
    for at_s in (5.0, 10.0, 15.0):
        plan = planner.plan(observation(at_s, ready=1, wanted=8))
        assert size(plan.decision) == 8
        assert plan.decision.kind == "keep"
        assert plan.decision.reason == f"cool-down: {20 - at_s:.0f} s left"
        assert planner.snapshot()["memory"] == before
    planner.plan(observation(20.0, wanted=8))
    assert planner.snapshot()["memory"]["looks"] == 2


def test_an_ordinary_cool_down_lets_the_policy_learn_and_decide() -> None:
    policy = says(9)
    planner = Planner(policy, {"cool_down": CoolDown(after_s=60.0)}, frozenset())
    drive(planner, ticks=5, wanted=3)
    assert policy.asked_s == [0.0, 10.0, 20.0]


def failing(now: Observation, known: Knowledge) -> Decision:
    raise RuntimeError("division by zero workers")


NONSENSE: dict[str, Callable[[Observation, Knowledge], Any]] = {
    "raises": failing,
    "nothing": lambda now, known: None,
    "half a worker": lambda now, known: asking({POOL: 2.5}),  # type: ignore[dict-item]
    "not a number": lambda now, known: asking({POOL: float("nan")}),  # type: ignore[dict-item]
    "yes": lambda now, known: asking({POOL: True}),
    "negative": lambda now, known: asking(-1),
    "no pool": lambda now, known: asking({}),
    "another pool": lambda now, known: asking({POOL: 2, "elsewhere": 3}),
}


@pytest.mark.parametrize("nonsense", list(NONSENSE.values()), ids=list(NONSENSE))
def test_a_policy_that_fails_makes_the_loop_hold_and_tell(nonsense: Callable[[Observation, Knowledge], Any]) -> None:
    plan = Planner(Says(nonsense), {}, frozenset()).plan(observation(ready=2, wanted=6))
    assert plan.decision.allocation == {POOL: 6}
    assert plan.decision.kind == "hold"
    assert len(plan.troubles) == 1
    assert plan.troubles[0].startswith("planning failed: ")


def test_a_policy_that_failed_is_asked_again_on_the_next_tick() -> None:
    policy = Says(failing, interval_s=300.0)
    planner = Planner(policy, {}, frozenset())
    planner.plan(observation(0.0))
    policy.says = lambda now, known: asking(7)
    assert planner.plan(observation(5.0)) == TickPlan(asking(7, made_s=5.0))


def test_even_while_the_policy_fails_the_bounds_are_kept_and_a_pause_is_a_pause() -> None:
    outside = observation(wanted=20, most=10)
    assert size(Planner(Says(failing), {}, frozenset()).plan(outside).decision) == 10
    assert size(Planner(Says(failing), {"pause": Pause()}, frozenset()).plan(outside).decision) == 20


class Breaks(Forgetful):
    """A guard with a bug."""

    def silences(self, now: Observation, memory: object) -> str | None:
        return None

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
        raise KeyError("executors")


def test_a_guard_that_fails_makes_the_loop_hold_and_tell() -> None:
    plan = Planner(says(9), {"budget": Breaks()}, frozenset()).plan(observation(ready=2, wanted=6))
    assert size(plan.decision) == 6
    assert plan.troubles == ("guard budget failed: KeyError: 'executors'",)


@pytest.mark.parametrize("where", ["learn", "silences", "adjust", "nonsense"])
def test_whatever_a_guard_does_wrong_those_after_it_have_their_say_and_bounds_hold(where: str) -> None:
    class Wrong(Forgetful):
        def learn(self, memory: object, now: Observation, last: Decision | None) -> None:
            assert where != "learn"

        def silences(self, now: Observation, memory: object) -> str | None:
            assert where != "silences"
            return None

        def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: None) -> Decision:
            assert where != "adjust"
            return asking({"elsewhere": 3})

    outside = observation(ready=2, wanted=20, least=1, most=10)
    policy = says(30)
    for guards in ({"over_provision": Wrong()}, {"over_provision": Wrong(), "state_floor": Wrong()}):
        plan = Planner(policy, guards, frozenset()).plan(outside)
        assert size(plan.decision) == 10
        assert plan.decision.kind == "hold"
        assert [trouble.split(":")[0] for trouble in plan.troubles] == [f"guard {name} failed" for name in guards]
    # The policy is asked and learns all the same, so that it is up to date when the guard is right again.
    assert policy.asked_s == [0.0, 0.0]


def test_a_guard_that_fails_does_not_undo_a_pause_that_comes_after_it() -> None:
    plan = Planner(says(9), {"over_provision": Breaks(), "pause": Pause()}, frozenset()).plan(
        observation(wanted=20, most=10)
    )
    assert size(plan.decision) == 20


def test_a_pool_that_came_or_went_makes_the_policy_due() -> None:
    policy = Says(lambda now, known: asking({pool.name: 7 for pool in now.pools}), interval_s=300.0)
    planner = Planner(policy, {}, frozenset())
    planner.plan(observation(0.0))
    plan = planner.plan(observation(5.0, pools=(pool(), pool("new"))))
    assert plan == TickPlan(asking({POOL: 7, "new": 7}, made_s=5.0))
    assert planner.plan(observation(10.0)) == TickPlan(asking(7, made_s=10.0))


def test_an_application_without_pools_is_left_alone() -> None:
    policy = Says(lambda now, known: asking({}))
    assert Planner(policy, {}, frozenset()).plan(observation(pools=(), queries=())).decision.allocation == {}


def test_deciding_does_not_change_what_is_known() -> None:
    seen: list[str] = []

    def decide(now: Observation, known: Knowledge) -> Decision:
        seen.append(json.dumps(known.to_json()))
        return Decision.keep(now, "enough")

    planner = Planner(Says(decide), every_guard(), frozenset())
    planner.plan(observation(0.0, arrived=0, committed=0, wanted=5))
    assert json.dumps(planner.known.to_json()) == seen[0]


def every_guard() -> Guards:
    return {
        "ignore_minor": IgnoreMinor(),
        "stabilise": Stabilise(up_s=10.0, down_s=40.0),
        "cool_down": CoolDown(after_s=15.0),
        "over_provision": OverProvision(factor=1.1),
        "step_limit": StepLimit(up=6, down=6),
        "roll_back": RollBack(settle_s=30.0, remember_s=120.0),
        "partition_ceiling": PartitionCeiling(),
        "state_floor": StateFloor(),
        "budget": Budget(worker_hours=1.0, period_h=0.2, burst_h=0.05),
        "quiet_hours": QuietHours(utc=("00:05-00:07",)),
        "scarce_cluster": ScarceCluster(),
    }


def busy_look(n: int, wanted: int) -> Observation:
    """A look of a run in which everything moves, and some of it is unknown now and then."""
    at_s = n * 5.0
    asked = query(
        at_s,
        arrived=None if n % 17 == 4 else 100 * at_s + 40 * (n % 9),
        committed=90 * at_s,
        delay_s=None if n % 13 == 5 else 5.0 + n % 10,
        partitions=30,
        stateful=True,
        state=None if n % 4 else 2.0**30 * (1 + n % 3),
    )
    only = pool(ready=max(0, wanted - n % 3), wanted=wanted, slots=4, most=20, memory=2.0**30)
    return observation(at_s, pools=(only,), queries=(asked,), room=18)


@pytest.mark.parametrize("stop", [0, 1, 7, 60, 119])
@pytest.mark.parametrize("interval_s", [5.0, 35.0])
def test_a_planner_restored_from_text_goes_on_as_if_nothing_had_happened(stop: int, interval_s: float) -> None:
    def planner() -> Planner:
        return Planner(Counts(interval_s=interval_s), every_guard(), frozenset())

    through, stopped = planner(), planner()
    wanted, changes, guards = 4, 0, set()
    for n in range(240):
        if n == stop:
            text = json.dumps(stopped.snapshot())
            stopped = planner()
            stopped.restore(json.loads(text))
            assert json.dumps(stopped.snapshot()) == text
        now = busy_look(n, wanted)
        plan = through.plan(now)
        assert stopped.plan(now) == plan
        assert plan.troubles == ()
        changes += size(plan.decision) != wanted
        guards |= {note.guard for note in plan.decision.adjustments}
        wanted = size(plan.decision)
    assert stopped.snapshot() == through.snapshot()
    # The run was worth comparing.
    assert changes > 10
    assert len(guards) > 5


def test_a_guard_that_was_not_there_when_the_snapshot_was_taken_starts_anew() -> None:
    old = Planner(says(5), {}, frozenset())
    old.plan(observation(0.0))
    new = Planner(says(5), {"cool_down": CoolDown()}, frozenset())
    new.restore(json.loads(json.dumps(old.snapshot())))
    assert new.snapshot()["guards"]["cool_down"] == CoolDown().start()


def test_a_snapshot_does_not_change_when_the_planner_goes_on() -> None:
    planner = Planner(Counts(), every_guard(), frozenset())
    planner.plan(busy_look(0, 4))
    snapshot = planner.snapshot()
    text = json.dumps(snapshot)
    for n in range(1, 30):
        planner.plan(busy_look(n, 4))
    assert json.dumps(snapshot) == text
