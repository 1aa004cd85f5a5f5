"""Classes of others: named by their module, or announced by an installed package."""

import logging
import sys
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import elastream
from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.core.protocols import Policy
from elastream.policies import Fixed, Threshold, policies
from elastream.registry import Registry
from elastream.workloads import parse_workload
from tests.foreign import POLICY, WORKLOAD, install, write_module

_numbers = count()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.fixture
def module(folder: Path) -> str:
    """A module of a name that no other test has imported."""
    name = f"others_{next(_numbers)}"
    write_module(folder, name, POLICY)
    return name


def registry() -> Registry[Policy[Any]]:
    """One that has looked for no plugins yet."""
    known: Registry[Policy[Any]] = Registry("policy", Policy, group="elastream.policies")
    known.register("fixed")(Fixed)
    known.register("threshold")(Threshold)
    return known


def test_a_policy_is_built_by_its_module_and_class(module: str) -> None:
    built: Any = policies.build_call(parse_call(f"{module}:Mine(workers=4, interval=1m)", what="policy"))
    assert (type(built).__name__, built.workers, built.interval_s) == ("Mine", 4, 60.0)
    assert policies.name_of(built) == f"{module}:Mine"
    assert policies.doc(f"{module}:Mine") == "Wants what it was told."
    assert [one.name for one in policies.settings(f"{module}:Mine")] == ["workers", "interval_s"]
    assert f"{module}:Mine" in policies
    assert f"{module}:Mine" not in policies.names()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("Mien", {}, "policy {}:Mien: module {} has no class 'Mien'; did you mean 'Mine'?"),
        ("helper", {}, "policy {}:helper: it is a builtin_function_or_method and not a class"),
        (
            "NoPolicy",
            {},
            "policy {}:NoPolicy: it is no policy: it lacks interval_s, needs, start, learn and decide; "
            "a policy has interval_s, needs, start, learn and decide",
        ),
        (
            "Cap",
            {},
            "policy {}:Cap: it is no policy: it lacks interval_s, needs and decide; "
            "a policy has interval_s, needs, start, learn and decide",
        ),
        (
            "Plain",
            {},
            "policy {}:Plain: it is not a frozen dataclass; write @dataclass(frozen=True, kw_only=True) ",
        ),
        (
            "Thawed",
            {},
            "policy {}:Thawed: it is not a frozen dataclass; write @dataclass(frozen=True, kw_only=True) ",
        ),
        ("Unreadable", {}, "policy {}:Unreadable: the types of its settings cannot be read: NameError: "),
        ("Mine", {"wrokers": 3}, "policy {}:Mine has no setting 'wrokers'; did you mean 'workers'?"),
        ("Mine", {"workers": "many"}, "policy {}:Mine: workers: "),
        ("Mine", {"workers": 91}, "policy {}:Mine: it cannot be built: ValueError: that is too many"),
    ],
)
def test_what_is_wrong_with_a_class_is_told_in_one_line(
    module: str, name: str, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(BadInput) as caught:
        policies.build(f"{module}:{name}", settings)
    assert str(caught.value).startswith(message.replace("{}", module))
    assert "\n" not in str(caught.value)


def test_a_module_that_is_not_there_is_told_with_where_it_is_looked_for() -> None:
    with pytest.raises(BadInput) as caught:
        policies.get("nowhere.at.all:Mine")
    remedy = "its folder must be on PYTHONPATH, or be the one a command is started in"
    assert str(caught.value) == f"policy nowhere.at.all:Mine: there is no module 'nowhere'; {remedy}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import not_there_either", "ModuleNotFoundError: No module named 'not_there_either'"),
        ("raise RuntimeError('no\\nwork today')", "RuntimeError: no work today"),
        ("import sys; sys.exit(3)", "SystemExit: 3"),
        ("def broken(:", "SyntaxError: "),
    ],
)
def test_a_module_that_cannot_be_imported_is_told_with_its_own_error(folder: Path, text: str, why: str) -> None:
    name = f"broken_{next(_numbers)}"
    write_module(folder, name, text)
    with pytest.raises(BadInput) as caught:
        policies.get(f"{name}:Mine")
    assert str(caught.value).startswith(f"policy {name}:Mine: module {name} cannot be imported: {why}")


def test_a_workload_of_others_is_added_to_ours_and_reads_back_as_itself(folder: Path) -> None:
    name = f"others_{next(_numbers)}"
    write_module(folder, name, WORKLOAD)
    pattern = parse_workload(f"{name}:Flat(200) + 2 * constant(100)")
    assert pattern.series(duration_s=60.0, seed=1).max_rps == 400.0
    assert str(pattern) == f"{name}:Flat(200) + 2 * 100"
    assert parse_workload(str(pattern)) == pattern


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Undrawn", "it is no workload: it lacks draw; a workload has draw"),
        ("Unrelated", "it is no workload; derive it from elastream.Pattern"),
    ],
)
def test_a_workload_of_others_is_a_pattern(folder: Path, name: str, message: str) -> None:
    module = f"others_{next(_numbers)}"
    write_module(folder, module, WORKLOAD)
    with pytest.raises(BadInput) as caught:
        parse_workload(f"{module}:{name}")
    assert str(caught.value) == f"workload: column 1: {module}:{name}: {message}"


def test_what_a_package_announces_stands_beside_ours_under_its_own_name(folder: Path, module: str) -> None:
    install(folder, "others-policies", {"elastream.policies": {"mine": f"{module}:Mine"}})
    known = registry()
    assert "mine" in known
    assert module not in sys.modules
    assert known.names() == ("fixed", "mine", "threshold")
    built = known.build("mine", {"workers": 7})
    assert known.name_of(built) == "mine"
    assert known.doc("mine") == "Wants what it was told."


def test_what_cannot_be_loaded_is_told_once_and_left_out(
    folder: Path, module: str, caplog: pytest.LogCaptureFixture
) -> None:
    announced = {"mine": f"{module}:Mine", "gone": "nowhere.at.all:Gone", "wrong": f"{module}:NoPolicy"}
    install(folder, "others-policies", {"elastream.policies": announced})
    known = registry()
    with caplog.at_level(logging.WARNING, logger="elastream"):
        assert known.names() == ("fixed", "mine", "threshold")
        assert known.names() == ("fixed", "mine", "threshold")
    gone, wrong = caplog.messages
    assert gone.startswith("left out: policy gone of package others-policies: there is no module 'nowhere'")
    assert wrong.startswith("left out: policy wrong of package others-policies: it is no policy: it lacks")
    with pytest.raises(BadInput, match="policy gone of package others-policies: there is no module 'nowhere'"):
        known.build("gone")


def test_a_name_of_ours_is_never_given_to_others(folder: Path, module: str, caplog: pytest.LogCaptureFixture) -> None:
    install(folder, "others-policies", {"elastream.policies": {"fixed": f"{module}:Mine", "no name": f"{module}:Mine"}})
    known = registry()
    with caplog.at_level(logging.WARNING, logger="elastream"):
        assert known.names() == ("fixed", "threshold")
    assert known.get("fixed") is Fixed
    assert caplog.messages == [
        "left out: package others-policies announces the policy fixed, a name of ours",
        "left out: package others-policies announces the policy no name, which cannot be written as a name",
    ]
    assert module not in sys.modules


def test_of_two_packages_with_one_name_the_second_is_left_out(
    folder: Path, module: str, caplog: pytest.LogCaptureFixture
) -> None:
    install(folder, "a-package", {"elastream.policies": {"mine": f"{module}:Mine"}})
    install(folder, "b-package", {"elastream.policies": {"mine": f"{module}:Other"}})
    known = registry()
    with caplog.at_level(logging.WARNING, logger="elastream"):
        assert known.get("mine").__name__ == "Mine"
    assert caplog.messages == ["left out: package b-package announces the policy mine, as package a-package does"]


def test_a_class_at_hand_is_registered_for_this_process() -> None:
    @elastream.register_policy("registered-in-a-test")
    @dataclass(frozen=True, kw_only=True)
    class Registered(Fixed):
        """Is at hand."""

    try:
        assert policies.build("registered-in-a-test", {"workers": 2}) == Registered(workers=2)
    finally:
        del policies._classes["registered-in-a-test"]


def test_a_name_of_ours_is_found_without_looking_for_plugins(folder: Path) -> None:
    install(folder, "others-policies", {"elastream.policies": {"gone": "nowhere.at.all:Gone"}})
    known = registry()
    known.build("fixed", {"workers": 3})
    assert known._plugins is not None
    assert known._plugins._announced is None
