"""What `--help` says: one word for one thing."""

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from elastream.cli import main
from elastream.cli.command_table import COMMANDS, load_command
from elastream.config import guards
from elastream.core.guards import ORDER
from elastream.jobs.catalogue import jobs
from elastream.policies import policies
from elastream.registry import Registry
from elastream.registry.settings import field_named, shown_name
from elastream.simulator.faults import faults
from elastream.workloads import workloads

WORDS = {
    "DURATION", "DURATION|asap", "FILE", "FOLDER", "HOST:PORT|FOLDER", "KEY=VALUE", "MIN..MAX", "MODULE:CLASS", "NAME",
    "NAME(KEY=VALUE)",
    "NAME|FILE", "NUMBER", "RATE", "RATE|real", "RUN", "local|processes|spark|MASTER", "SIZE", "TEXT", "TOPIC",
    "TOPIC|STREAM=TOPIC", "URL|cluster|FOLDER",
    "html|md|csv", "text|json", "grid|random|optuna", "APP.PY", "ARGS", "SOURCE", "[NAME]", "[NAME|TEXT]",
}  # fmt: skip
"""What may stand for a value."""


LISTED = {name: sentence for commands in COMMANDS.values() for name, sentence in commands.items()}


@pytest.mark.parametrize("name", LISTED)
def test_a_command_is_listed_by_the_first_sentence_of_its_own_help(name: str) -> None:
    command = load_command(name)
    assert command.name == name
    assert LISTED[name].split() == inspect.cleandoc(command.help).split("\n\n")[0].split()


def values(command: Any, path: str) -> Iterator[tuple[str, str | None]]:
    """Every option and argument with a value: where it stands, and the word for it."""
    for parameter in command.params:
        if not getattr(parameter, "is_flag", False) and not parameter.opts[0].endswith("completion"):
            yield f"{path} {parameter.opts[0]}", parameter.metavar
    for name, below in getattr(command, "commands", {}).items():
        yield from values(below, f"{path} {name}")


def all_values() -> Iterator[tuple[str, str | None]]:
    for name in LISTED:
        yield from values(load_command(name), name)


def test_every_value_is_called_by_a_word_that_means_the_same_everywhere() -> None:
    found = dict(all_values())
    assert {where: word for where, word in found.items() if word not in WORDS} == {}


@pytest.mark.parametrize("call", [[], ["simulate"], ["experiment"], ["experiment", "run"], ["cluster", "down"]])
def test_a_flag_does_not_look_as_if_a_value_followed(call: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*call, "--help"]) == 0
    told = capsys.readouterr().out
    assert "--help" in told
    assert "bool" not in told.lower()


def test_an_option_with_one_name_has_one_word() -> None:
    found: dict[str, set[str | None]] = {}
    for where, word in all_values():
        found.setdefault(where.split()[-1], set()).add(word)
    # What is written may be one file or several.
    assert {name: words for name, words in found.items() if len(words) > 1 and name != "--out"} == {}


KINDS: tuple[Registry[Any], ...] = (policies, workloads, jobs, guards, faults)


def test_every_setting_is_found_by_the_name_that_is_shown() -> None:
    for kind in KINDS:
        for name in kind.names():
            cls = kind.get(name)
            for one in kind.settings(name):
                assert field_named(cls, shown_name(cls, one.name), name) == one.name


def test_a_setting_keeps_its_unit_where_another_has_the_name_without() -> None:
    hpa = policies.get("hpa")
    assert (shown_name(hpa, "up_pods"), shown_name(hpa, "up_pods_s")) == ("up_pods", "up_pods_s")
    assert shown_name(hpa, "up_window_s") == "up_window"


@pytest.mark.parametrize(
    "command", [["policies", "threshold"], ["policies", "ds2"], ["workloads", "cosine"], ["config"]]
)
def test_settings_are_shown_without_the_unit_that_stands_in_their_value(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command) == 0
    words = capsys.readouterr().out.replace("=", " ").replace(".", " ").split()
    assert [word for word in words if word.endswith(("_s", "_rps"))] == []


def test_the_settings_of_a_run_are_shown_as_they_may_be_written(capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--set", "guards.cool_down.after_s=90", "--set", "slo.delay=2m"]
    assert main(["config", *given]) == 0
    lines = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()}
    assert (lines["guards.cool-down.after"], lines["slo.delay"], lines["tick"]) == ("90s", "2m", "5s")
    again = [word for name in ("guards.cool-down.after", "slo.delay") for word in ("--set", f"{name}={lines[name]}")]
    assert main(["config", *again]) == 0
    assert {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()} == lines


@pytest.mark.parametrize("written", ["cool-down", "cool_down"])
def test_a_guard_has_one_name_whichever_way_it_is_written(written: str, capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["--guard", f"{written}(aftr=5s)"], ["--set", f"guards.{written}.aftr=5s"]):
        assert main(["simulate", *given]) == 2
        assert capsys.readouterr().err.endswith("guard cool-down has no setting 'aftr'; did you mean 'after'?\n")


@pytest.mark.parametrize("given", [["--guard", "cool-dwn"], ["--set", "guards.cool_dwn=true"]])
def test_a_misspelt_guard_gets_the_name_that_is_shown_everywhere(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["simulate", *given]) == 2
    assert "did you mean 'cool-down'?" in capsys.readouterr().err


def test_guards_are_called_by_names_with_dashes_and_kept_under_keys_without() -> None:
    assert sorted(name.replace("-", "_") for name in guards.names()) == sorted(ORDER)
    assert not any("_" in name for name in guards.names())
