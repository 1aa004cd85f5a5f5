import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from elastream.config import (
    Resolution,
    Settings,
    build_guards,
    resolve,
    settings_of,
    spark_arguments,
    spark_defaults,
)
from elastream.core.errors import BadInput
from elastream.core.guards import ORDER
from elastream.core.guards.cool_down import CoolDown
from elastream.core.guards.quiet_hours import QuietHours
from elastream.core.secret_patterns import HIDDEN


def resolved(
    *,
    flags: dict[str, Any] | None = None,
    spark: dict[str, str] | None = None,
    environ: dict[str, str] | None = None,
    yaml: Path | None = None,
) -> Resolution:
    return resolve(flags or {}, spark or {}, environ or {}, yaml)


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write an elastream.yaml."""
    monkeypatch.chdir(tmp_path)

    def written(text: str) -> Path:
        path = Path("elastream.yaml")
        path.write_text(text)
        return path

    return written


def test_without_any_source_everything_is_a_default() -> None:
    found = resolved()

    assert found.settings == Settings()
    assert {origin for _, origin in found.origins.values()} == {"default"}
    assert found.origins["executors.max"] == (10, "default")
    assert found.origins["slo.delay"] == (None, "default")


def test_a_flag_wins_over_spark_over_environment_over_file(write: Any) -> None:
    sources: dict[str, Any] = {
        "yaml": write("tick_s: 1"),
        "environ": {"ELASTREAM_TICK_S": "2"},
        "spark": {"spark.elastream.tick_s": "3"},
        "flags": {"tick_s": 4},
    }
    origins = []
    while sources:
        origins.append(tuple(resolved(**sources).origins["tick_s"]))
        sources.popitem()

    assert origins == [
        (4.0, "--set tick_s"),
        (3.0, "spark.elastream.tick_s"),
        (2.0, "ELASTREAM_TICK_S"),
        (1.0, "elastream.yaml"),
    ]


def test_one_path_has_four_spellings(write: Any) -> None:
    path = "guards.cool_down.after_s"

    for one in (
        resolved(yaml=write("guards: {cool_down: {after_s: 5m}}")),
        resolved(environ={"ELASTREAM_GUARDS__COOL_DOWN__AFTER_S": "5m"}),
        resolved(spark={f"spark.elastream.{path}": "5m", "spark.app.name": "mine"}),
        resolved(flags={path: "5m"}),
        resolved(flags={"guards.cool-down.after": "300"}),
        resolved(flags={"guards": {"cool_down": {"after_s": 300}}}),
    ):
        assert one.origins[path].value == 300.0
        assert one.settings.build_guards() == {"cool_down": CoolDown(after_s=300)}


def test_a_file_sets_everything(write: Any) -> None:
    found = resolved(
        yaml=write(
            """
            policy: ds2
            policy_settings: {headroom_ratio: 1.2, model: {kind: linear}}
            executors: {min: 2, max: 20, initial: 4}
            slo: {p95_s: 30s}
            tick_s: 2s
            max_age_s: 10
            guards:
              partition_ceiling:
              quiet_hours: {utc: ['22:00-06:00']}
            journal: {folder: journal, max_bytes: 1M, keep: 5}
            """
        )
    )

    settings = found.settings
    assert (settings.policy, settings.policy_settings) == ("ds2", {"headroom_ratio": 1.2, "model": {"kind": "linear"}})
    assert (settings.executors.min, settings.executors.max, settings.executors.initial) == (2, 20, 4)
    assert (settings.slo.delay, settings.tick_s, settings.max_age_s) == (30, 2, 10)
    assert list(settings.build_guards()) == ["partition_ceiling", "quiet_hours"]
    assert settings.journal.model_dump() == {"folder": Path("journal"), "max_bytes": 10**6, "keep": 5}
    assert found.origins["policy_settings.model.kind"] == ("linear", "elastream.yaml")
    assert found.origins["guards.partition_ceiling"] == (True, "elastream.yaml")
    assert found.origins["guards.quiet_hours.frozen"] == ("all", "default")


def test_an_empty_file_and_empty_groups_say_nothing(write: Any) -> None:
    assert resolved(yaml=write("")).settings == Settings()
    assert resolved(yaml=write("guards:\nexecutors: {}\npolicy_settings:")).settings == Settings()


def test_flags_that_were_not_given_say_nothing() -> None:
    assert resolved(flags={"tick_s": None, "policy": None}).settings == Settings()


def test_in_text_none_can_be_written(write: Any) -> None:
    found = resolved(yaml=write("slo: {delay: 30}"), environ={"ELASTREAM_SLO__DELAY": "none"})

    assert found.origins["slo.delay"] == (None, "ELASTREAM_SLO__DELAY")


def test_a_guard_can_be_switched_off_above_where_it_was_set_up(write: Any) -> None:
    yaml = write("guards: {cool_down: {after_s: 60}, step_limit: {up: 2}}")

    off = resolved(yaml=yaml, spark={"spark.elastream.guards.cool_down": "false"})
    on_again = resolved(
        yaml=yaml, environ={"ELASTREAM_GUARDS__COOL_DOWN": "off"}, flags={"guards.cool_down.mode": "blocking"}
    )

    assert list(off.settings.guards) == ["step_limit"]
    assert on_again.settings.build_guards()["cool_down"] == CoolDown(after_s=60, mode="blocking")


def test_choosing_another_policy_leaves_the_settings_of_the_first_behind(write: Any) -> None:
    yaml = write("policy: ds2\npolicy_settings: {headroom_ratio: 1.2}")

    other = resolved(yaml=yaml, environ={"ELASTREAM_POLICY_SETTINGS__HIGH": "0.9"}, flags={"policy": "threshold"})
    same = resolved(yaml=yaml, flags={"policy": "ds2"})

    assert other.settings.policy_settings == {"high": "0.9"}
    assert same.settings.policy_settings == {"headroom_ratio": 1.2}


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"flags": {"tik_s": 1}}, "--set tik_s: no setting 'tik_s'; did you mean 'tick'?"),
        (
            {"spark": {"spark.elastream.executor.min": "1"}},
            "spark.elastream.executor.min: no setting 'executor.min': 'executor'; did you mean 'executors'?",
        ),
        (
            {"environ": {"ELASTREAM_EXECUTORS__MINIMUM": "1"}},
            "ELASTREAM_EXECUTORS__MINIMUM: no setting 'executors.minimum': 'minimum'; did you mean 'min'?",
        ),
        (
            {"yaml": "guards: {cool_dwn: {after_s: 1}}"},
            "elastream.yaml: no setting 'guards.cool_dwn.after_s': 'cool_dwn'; did you mean 'cool-down'?",
        ),
        (
            {"yaml": "guards: {cool_down: {aftr_s: 1}}"},
            "elastream.yaml: guard cool-down has no setting 'aftr_s'; did you mean 'after'?",
        ),
    ],
)
def test_a_misspelt_key_is_named_with_its_source_and_the_nearest(
    write: Any, sources: dict[str, Any], message: str
) -> None:
    complains(write, sources, message)


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ({"yaml": "tick_s: -1"}, "elastream.yaml: tick_s: found -1; it must be greater than 0"),
        ({"environ": {"ELASTREAM_TICK_S": "soon"}}, "ELASTREAM_TICK_S: found 'soon'; it must be a duration such as"),
        ({"spark": {"spark.elastream.tick_s": "5%"}}, "spark.elastream.tick_s: found '5%'; it must be a duration"),
        ({"flags": {"tick_s": True}}, "--set tick_s: found True; it must be a duration"),
        ({"flags": {"tick_s": float("inf")}}, "--set tick_s: found inf; it must be a finite number"),
        ({"flags": {"executors.min": 0}}, "--set executors.min: found 0; it must be greater than or equal to 1"),
        ({"flags": {"executors.max": "2.5"}}, "--set executors.max: found '2.5'; it must be a valid integer"),
        ({"flags": {"executors.max": "2m"}}, "--set executors.max: found '2m'; it must be a whole number"),
        (
            {"yaml": "executors: {min: 8}", "flags": {"executors.max": 4}},
            "elastream.yaml, --set executors.max: executors: min 8 is larger than max 4",
        ),
        ({"flags": {"executors.min": 11}}, "--set executors.min: executors: min 11 is larger than max 10"),
        ({"yaml": "executors: {initial: 11}"}, "elastream.yaml: executors: initial 11 is not between min 1 and max 10"),
        ({"yaml": "executors: x"}, "elastream.yaml: executors: found 'x'; write both bounds, such as 1..12"),
        ({"yaml": "policy_settings: 5"}, "elastream.yaml: policy_settings: found 5; write policy_settings.<setting>"),
        ({"yaml": "guards: all"}, "elastream.yaml: guards: found 'all'; write guards.<guard>.<setting>"),
        ({"yaml": "guards: {pause: 5}"}, "elastream.yaml: guards.pause: found 5; write true, false, or settings"),
        ({"yaml": "tick_s: {a: 1}"}, "elastream.yaml: tick_s.a: tick_s is a value and has no settings of its own"),
        ({"yaml": "tick: 1\ntick_s: 2"}, "elastream.yaml: tick_s is given twice"),
        ({"yaml": "policy: ds2, fixed"}, "elastream.yaml: policy: found 'ds2, fixed'; one policy decides; name one"),
        (
            {"spark": {"spark.elastream.policy": "threshold(high=0.9)"}},
            "spark.elastream.policy: found 'threshold(high=0.9)'; a policy is a name here; write its settings as",
        ),
        ({"yaml": "policy: ''"}, "elastream.yaml: policy: found ''; string should have at least 1 character"),
        ({"yaml": "journal: {keep: 0}"}, "elastream.yaml: journal.keep: found 0; it must be greater than or equal"),
        (
            {"spark": {"spark.elastream.guards.cool_down.after_s": "-5"}},
            "spark.elastream.guards.cool_down.after_s: guard cool-down: after: found -5; it must not be negative",
        ),
        (
            {"yaml": "guards: {cool_down: {mode: loud}}"},
            "elastream.yaml: guard cool-down: mode: found 'loud'; it must be 'ordinary' or 'blocking'",
        ),
        ({"yaml": "guards: {budget: {period_h: 1}}"}, "elastream.yaml: guard budget needs the setting 'worker_hours'"),
        (
            {"yaml": "guards: {quiet_hours: {utc: ['late']}}"},
            "elastream.yaml: guard quiet-hours: 'late' is no period",
        ),
        ({"yaml": "- a"}, "elastream.yaml: found a list; settings are written as 'name: value'"),
        ({"yaml": "a: [1"}, "elastream.yaml:1: expected ',' or ']'"),
    ],
)
def test_a_bad_value_is_one_line_that_says_where(write: Any, sources: dict[str, Any], message: str) -> None:
    complains(write, sources, message)


def complains(write: Any, sources: dict[str, Any], message: str) -> None:
    if "yaml" in sources:
        sources = {**sources, "yaml": write(sources["yaml"])}
    with pytest.raises(BadInput) as wrong:
        resolved(**sources)
    assert str(wrong.value).startswith(message)
    assert "\n" not in str(wrong.value)


def test_a_file_that_is_not_there_is_one_line() -> None:
    with pytest.raises(BadInput, match=r"^nowhere.yaml: cannot be read: No such file or directory$"):
        resolved(yaml=Path("nowhere.yaml"))


def test_without_a_yaml_reader_one_line_says_what_to_install(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)

    with pytest.raises(BadInput, match=r"reading YAML needs PyYAML; install it with: pip install 'elastream\[cli\]'"):
        resolved(yaml=write("tick_s: 1"))
    assert resolved(flags={"tick_s": 1}).settings.tick_s == 1


def test_a_yaml_file_cannot_run_code(write: Any) -> None:
    with pytest.raises(BadInput, match="could not determine a constructor"):
        resolved(yaml=write("policy: !!python/object/apply:os.getcwd []"))


def test_variables_of_the_test_suite_are_no_settings() -> None:
    assert resolved(environ={"ELASTREAM_REQUIRE": "spark", "HOME": "/"}).settings == Settings()


def test_what_is_printed_hides_secrets() -> None:
    found = resolved(flags={"policy_settings": {"api_token": "hunter2", "url": "x?password=hunter2", "tokens": 3}})

    printed = {path: (value, origin) for path, value, origin in found.printable()}

    assert printed["policy_settings.api_token"] == (HIDDEN, "--set policy_settings")
    assert printed["policy_settings.url"][0] == f"x?password={HIDDEN}"
    assert printed["policy_settings.tokens"][0] == 3
    assert printed["max_age_s"] == (None, "default")


def test_conf_arguments_are_read_as_spark_submit_does() -> None:
    assert spark_arguments(["spark.elastream.tick_s=5", "spark.x=a=b"]) == {
        "spark.elastream.tick_s": "5",
        "spark.x": "a=b",
    }
    with pytest.raises(BadInput, match=r"--conf spark.x: write it as KEY=VALUE"):
        spark_arguments(["spark.x"])


def test_a_spark_defaults_file_is_read_as_java_does(tmp_path: Path) -> None:
    path = tmp_path / "spark-defaults.conf"
    path.write_text(
        "# a comment\n\n! another\nspark.elastream.tick_s   5s\nspark.elastream.policy=ds2\n"
        "spark.master : spark://host:7077\nspark.extra -Da=b \\\n   -Dc=d\nspark.empty\n"
    )

    conf = spark_defaults(path)

    assert conf == {
        "spark.elastream.tick_s": "5s",
        "spark.elastream.policy": "ds2",
        "spark.master": "spark://host:7077",
        "spark.extra": "-Da=b -Dc=d",
        "spark.empty": "",
    }
    assert resolved(spark=conf).settings.policy == "ds2"


def test_every_guard_can_be_built_and_described_and_built_again() -> None:
    required: dict[str, dict[str, object]] = {
        "budget": {"worker_hours": 8},
        "quiet_hours": {"utc": "22:00-06:00, 12:00-13:00"},
    }
    built = build_guards({name: required.get(name, {}) for name in ORDER})

    assert built["quiet_hours"] == QuietHours(utc=("22:00-06:00", "12:00-13:00"))
    assert build_guards({name: settings_of(guard) for name, guard in built.items()}) == built


def test_an_unknown_guard_is_named_with_the_nearest() -> None:
    with pytest.raises(BadInput, match="unknown guard 'bound'; did you mean 'bounds'"):
        build_guards({"bound": {}})


def test_settings_made_in_code_are_held_to_the_same_rules() -> None:
    with pytest.raises(ValidationError, match="unknown guard 'cool-dwn'; did you mean 'cool-down'"):
        Settings(guards={"cool_dwn": {}})
    with pytest.raises(ValidationError, match="Extra inputs"):
        Settings(tik_s=1)  # type: ignore[call-arg]
