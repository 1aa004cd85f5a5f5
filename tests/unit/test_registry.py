from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import pytest
from pydantic import Field

from elastream.core.callform import parse_call
from elastream.core.errors import BadInput
from elastream.core.quantity import Quantity
from elastream.registry import Registry, check_settings, setting

policies: Registry[object] = Registry("policy")


@dataclass(frozen=True, kw_only=True)
class Bounds:
    low: int = 1
    high: int = 10


@policies.register("threshold")
@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Grow above a bound.

    And shrink below another.
    """

    positional: ClassVar[tuple[str, ...]] = ("high",)

    high: Annotated[float, Field(gt=0, le=1)] = setting(0.8, doc="grow above this")
    window_s: float = setting(30.0, doc="look back this far")
    mode: Literal["fast", "slow"] = "fast"
    eager: bool = False
    step: int = 1
    quiet_s: float | None = None
    weights: tuple[float, ...] = ()
    bounds: Bounds = Bounds()
    note: str = ""


@policies.register("fixed")
@dataclass(frozen=True, kw_only=True)
class Fixed:
    workers: int


policies.preset("tight", of="threshold", doc="Grow late.", high="95%")


def why_not(name: str, **settings: object) -> str:
    with pytest.raises(BadInput) as caught:
        policies.build(name, settings)
    return str(caught.value)


def test_names_are_sorted_and_include_presets() -> None:
    assert policies.names() == ("fixed", "threshold", "tight")
    assert policies.presets() == ("tight",)


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    assert why_not("treshold") == "unknown policy 'treshold'; did you mean 'threshold'?"
    assert why_not("xyz") == "unknown policy 'xyz'; known: fixed, threshold, tight"


def test_a_misspelt_setting_is_answered_with_the_nearest_one() -> None:
    assert why_not("threshold", hgih=1) == "policy threshold has no setting 'hgih'; did you mean 'high'?"
    assert why_not("fixed", zzz=1) == "policy fixed has no setting 'zzz'; known: workers"


@pytest.mark.parametrize(
    ("given", "built"),
    [
        ({"high": "70%"}, Threshold(high=0.7)),
        ({"high": Quantity(0.7, "%")}, Threshold(high=0.7)),
        ({"window_s": "5m"}, Threshold(window_s=300.0)),
        ({"window": "5m"}, Threshold(window_s=300.0)),
        ({"window-s": 5}, Threshold(window_s=5.0)),
        ({"eager": "yes"}, Threshold(eager=True)),
        ({"eager": "false"}, Threshold(eager=False)),
        ({"step": "2k"}, Threshold(step=2000)),
        ({"quiet_s": "none"}, Threshold(quiet_s=None)),
        ({"quiet_s": "1h"}, Threshold(quiet_s=3600.0)),
        ({"weights": "1, 2k"}, Threshold(weights=(1.0, 2000.0))),
        ({"weights": [1, 2]}, Threshold(weights=(1.0, 2.0))),
        ({"mode": "slow"}, Threshold(mode="slow")),
        ({"note": "5m"}, Threshold(note="5m")),
        ({"bounds": {"low": "2", "high": 4}}, Threshold(bounds=Bounds(low=2, high=4))),
        ({"bounds": Bounds(low=3)}, Threshold(bounds=Bounds(low=3))),
    ],
)
def test_text_and_plain_values_become_what_the_field_says(given: dict[str, object], built: Threshold) -> None:
    assert policies.build("threshold", given) == built


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"high": "abc"}, "policy threshold: high: 'abc' is not a number"),
        ({"high": 2}, "policy threshold: high: found 2; it must be less than or equal to 1"),
        ({"high": float("nan")}, "policy threshold: high: found nan; it must be a finite number"),
        ({"high": "inf"}, "policy threshold: high: 'inf' is not a number"),
        ({"high": True}, "policy threshold: high: found True; it must be a number"),
        ({"high": "5m"}, "policy threshold: high: found the duration 5m; it must be a plain number"),
        ({"window_s": "5%"}, "policy threshold: window: found the share 5%; it must be a duration"),
        ({"window": 1, "window_s": 2}, "policy threshold: window is given twice"),
        ({"mode": "medium"}, "policy threshold: mode: found 'medium'; it must be 'fast' or 'slow'"),
        ({"note": 5}, "policy threshold: note: found 5; it must be a valid string"),
        ({"bounds": {"hihg": 4}}, "policy threshold: bounds has no setting 'hihg'; did you mean 'high'?"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(given: dict[str, object], message: str) -> None:
    assert why_not("threshold", **given) == message


def test_a_missing_setting_is_named() -> None:
    assert why_not("fixed") == "policy fixed needs the setting 'workers'"


def test_a_preset_changes_defaults_and_can_itself_be_changed() -> None:
    assert policies.build("tight") == Threshold(high=0.95)
    assert policies.build("tight", {"high": 0.9, "step": 2}) == Threshold(high=0.9, step=2)


def test_settings_are_listed_with_type_default_and_explanation() -> None:
    high, window, mode, *_ = policies.settings("tight")
    assert (high.name, high.type, high.default, high.doc) == ("high", "number", 0.95, "grow above this")
    assert (window.type, window.default, window.required) == ("duration", 30.0, False)
    assert mode.type == "one of fast, slow"
    (workers,) = policies.settings("fixed")
    assert (workers.type, workers.required) == ("whole number", True)


def test_the_first_line_of_the_docstring_describes_a_class() -> None:
    assert policies.doc("threshold") == "Grow above a bound."
    assert policies.doc("tight") == "Grow late."


def test_a_name_cannot_be_taken_twice() -> None:
    with pytest.raises(ValueError, match="policy 'tight' is registered twice"):
        policies.register("tight")(Fixed)


def test_only_frozen_dataclasses_are_registered() -> None:
    with pytest.raises(TypeError, match="must be a frozen dataclass"):
        policies.register("mutable")(dataclass(type("Mutable", (), {})))


def test_a_call_is_built_with_its_first_value_unnamed() -> None:
    assert policies.build_call(parse_call("threshold(70%, window=5m)", what="policy")) == Threshold(
        high=0.7, window_s=300.0
    )
    assert policies.build_call(parse_call("tight", what="policy")) == Threshold(high=0.95)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tigth(1)", "policy: column 1: unknown policy 'tigth'; did you mean 'tight'?"),
        ("threshold(1, windw=5)", "policy: column 14: threshold has no setting 'windw'; did you mean 'window'?"),
        ("threshold(1, high=1)", "policy: column 14: threshold: high is given twice"),
        ("threshold(1, 2)", "policy: column 14: threshold: a value without a name; only high may stand without one"),
        ("fixed(3)", "policy: column 7: fixed: a value without a name; no value of it may stand without one"),
        ("fixed", "policy: column 1: fixed needs the setting 'workers'"),
        ("fixed(workers=f(1))", "policy: column 7: fixed: a setting cannot have settings of its own"),
    ],
)
def test_a_mistake_in_a_call_is_told_with_its_column(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        policies.build_call(parse_call(text, what="policy"))
    assert str(caught.value) == message


def test_an_object_made_in_code_is_held_to_the_same_rules() -> None:
    check_settings(Threshold(high=0.5), "policy threshold")
    with pytest.raises(BadInput, match="policy threshold: high: found 3"):
        check_settings(Threshold(high=3), "policy threshold")
