"""Bounds of executors, wherever they are written."""

from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main
from elastream.config import resolve
from elastream.core.bounds import parse_bounds, spell_bounds
from elastream.core.errors import BadInput
from elastream.launch.orders import read_orders
from elastream.spark.session import session_settings


@pytest.mark.parametrize("given", ["1..12", "1:12", " 1 .. 12 ", "1 : 12", (1, 12), [1, 12]])
def test_both_bounds_have_several_spellings(given: Any) -> None:
    assert parse_bounds(given, "--executors") == (1, 12)


@pytest.mark.parametrize("given", ["5", 5, "5..5"])
def test_one_number_is_both_bounds(given: Any) -> None:
    assert parse_bounds(given, "--executors") == (5, 5)


def test_they_are_shown_in_one_of_them() -> None:
    assert spell_bounds(1, 12) == "1..12"
    assert parse_bounds(spell_bounds(3, 4), "--executors") == (3, 4)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("many", "--executors: found 'many'; write both bounds, such as 1..12"),
        ("1-12", "--executors: found '1-12'; write both bounds, such as 1..12"),
        ("1..2..3", "--executors: found '1..2..3'; write both bounds, such as 1..12"),
        (True, "--executors: found True; write both bounds, such as 1..12"),
        ((1, 2, 3), "--executors: found (1, 2, 3); write both bounds, such as 1..12"),
        (1.5, "--executors: found 1.5; write both bounds, such as 1..12"),
        ("12:1", "--executors: found '12:1'; the bounds must be 1 <= min <= max"),
        ((0, 2), "--executors: found (0, 2); the bounds must be 1 <= min <= max"),
    ],
)
def test_what_is_wrong_is_told_with_the_form(given: Any, told: str) -> None:
    with pytest.raises(BadInput) as wrong:
        parse_bounds(given, "--executors")
    assert str(wrong.value) == told


@pytest.mark.parametrize("text", ["2..9", "2:9", "'2:9'", "[2, 9]"])
def test_a_file_may_say_both_at_once(text: str, tmp_path: Path) -> None:
    path = tmp_path / "elastream.yaml"
    path.write_text(f"executors: {text}\n")
    bounds = resolve({}, {}, {}, path).settings.executors
    assert (bounds.min, bounds.max) == (2, 9)


@pytest.mark.parametrize("text", ["2..9", "2:9"])
def test_so_may_spark_and_the_environment(text: str) -> None:
    for conf, environ in (({"spark.elastream.executors": text}, {}), ({}, {"ELASTREAM_EXECUTORS": text})):
        found = resolve({}, conf, environ, None)
        assert (found.settings.executors.min, found.settings.executors.max) == (2, 9)
        assert found.origins["executors.max"].origin == next(iter({**conf, **environ}))


def test_both_at_once_win_over_each_of_a_weaker_source() -> None:
    bounds = resolve({"executors": "2..9"}, {"spark.elastream.executors.max": "4"}, {}, None).settings.executors
    assert (bounds.min, bounds.max) == (2, 9)


def test_saying_one_bound_twice_in_one_place_is_told() -> None:
    with pytest.raises(BadInput, match=r"spark\.elastream\.executors\.max is given twice"):
        resolve({}, {"spark.elastream.executors": "1..3", "spark.elastream.executors.max": "4"}, {}, None)


def test_a_session_is_configured_from_text() -> None:
    assert session_settings("1..12") == session_settings((1, 12))
    assert session_settings("1:6") == session_settings((1, 6))


@pytest.mark.parametrize("text", ["2..9", "2:9"])
def test_the_launcher_takes_them_before_the_script(text: str, tmp_path: Path) -> None:
    script = tmp_path / "app.py"
    script.write_text("")
    found = read_orders(["--executors", text, str(script), "--executors", "its own"])
    assert found.settings == {"executors.min": 2, "executors.max": 9}
    assert found.arguments == ("--executors", "its own")


@pytest.mark.parametrize("command", [["simulate", "--duration", "2m"], ["demo", "--simulated", "--last", "0"]])
def test_commands_understand_both_and_show_one(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for text in ("2..9", "2:9"):
        assert main([*command, "--executors", text]) == 0
        assert "2..9 executors of" in capsys.readouterr().out


@pytest.mark.parametrize("command", [["simulate"], ["demo", "--simulated"], ["demo"], ["live"], ["run", "app.py"]])
def test_commands_refuse_what_are_no_bounds(
    command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.py").write_text("")
    assert main([command[0], "--executors", "many", *command[1:]]) == 2
    assert capsys.readouterr().err == "elastream: --executors: found 'many'; write both bounds, such as 1..12\n"
