from itertools import permutations

from elastream.core.guards import ORDER, Guards, in_order
from elastream.core.guards.bounds import Bounds
from elastream.core.guards.cool_down import CoolDown
from elastream.core.guards.ignore_minor import IgnoreMinor
from elastream.core.guards.pause import Pause
from elastream.core.guards.step_limit import StepLimit


def test_guards_run_in_one_order_whatever_order_they_are_given_in() -> None:
    chosen: Guards = {
        "pause": Pause(),
        "step_limit": StepLimit(),
        "ignore_minor": IgnoreMinor(),
        "cool_down": CoolDown(),
    }
    for names in permutations(chosen):
        found = in_order({name: chosen[name] for name in names})
        assert list(found) == ["ignore_minor", "cool_down", "step_limit", "bounds", "pause"]
        assert found["pause"] is chosen["pause"]


def test_a_guard_of_others_stands_behind_what_is_allowed_and_before_what_exists() -> None:
    names = list(in_order({"my.module:Mine": Pause(), "other": Pause(), **dict.fromkeys(ORDER, Pause())}))
    place = names.index("quiet_hours")
    assert names[place : place + 4] == ["quiet_hours", "my.module:Mine", "other", "scarce_cluster"]
    assert [name for name in names if name in ORDER] == list(ORDER)


def test_bounds_are_there_whatever_was_configured() -> None:
    assert in_order({}) == {"bounds": Bounds()}


def test_bounds_are_overruled_by_a_pause_only() -> None:
    assert list(ORDER)[-2:] == ["bounds", "pause"]
