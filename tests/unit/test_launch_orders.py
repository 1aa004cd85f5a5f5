"""The launcher's own command line."""

from pathlib import Path

import pytest

from elastream.core.errors import BadInput
from elastream.launch.orders import LaunchOrders, read_orders


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "app.py"
    path.write_text("")
    return path


def test_orders_survive_being_written_as_arguments(script: Path) -> None:
    orders = LaunchOrders(
        script=script,
        arguments=("--conf", "its=own", "--", "x"),
        settings={"policy": "threshold", "policy_settings.high": "0.9"},
        conf={"spark.driver.extraJavaOptions": "-Da=b -Dc=d"},
        kafka=True,
        quiet=True,
    )
    assert read_orders(orders.as_arguments()) == orders


def test_what_stands_behind_the_script_is_the_scripts(script: Path) -> None:
    orders = read_orders(["--set", "tick_s=2", str(script), "--set", "a=b", "--quiet"])
    assert orders.arguments == ("--set", "a=b", "--quiet")
    assert (orders.settings, orders.quiet) == ({"tick_s": "2"}, False)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "launcher: no script; name the application's .py file"),
        (["missing.py"], "missing.py: there is no such file"),
        (["."], "it is not a Python script"),
        (["--set", "tick_s", "app.py"], "--set tick_s: write it as KEY=VALUE"),
        (["--conf", "x", "app.py"], "--conf x: write it as KEY=VALUE"),
        (["--polcy", "app.py"], "launcher: unrecognized arguments: --polcy"),
    ],
)
def test_what_is_wrong_is_told(arguments: list[str], told: str, script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(script.parent)
    with pytest.raises(BadInput, match=told.replace("(", r"\(")):
        read_orders(arguments)
