"""Settings reach every command that takes them, from every place they can be written in."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from elastream.cli import main
from elastream.cli.commands import live as live_command
from elastream.core.errors import BadInput
from elastream.experiments.live_run import switch_guards
from elastream.experiments.live_setup import LiveSetup
from elastream.launch.orders import read_orders
from elastream.launch.setting_up import settings_for
from tests.unit.launching import launched, make_pyspark

YAML = """
policy: threshold
policy_settings: {high: 0.7}
executors: 2..6
guards: {cool_down: {after: 90s}, hysteresis: false}
max_age: 40s
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in os.environ:
        if name.startswith("ELASTREAM_"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.yaml").write_text(YAML)
    (tmp_path / "app.py").write_text("")
    return tmp_path


class Planned(Exception):
    def __init__(self, plan: LiveSetup) -> None:
        self.plan = plan


def planned(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> LiveSetup:
    """What `elastream live` would run."""

    def stop(plan: LiveSetup, out: Path | None, **how: object) -> None:
        raise Planned(plan)

    monkeypatch.setattr(live_command, "run", stop)
    monkeypatch.setenv("ELASTREAM_DEBUG", "1")
    with pytest.raises(Planned) as found:
        main(["live", *arguments])
    return found.value.plan


def test_a_live_run_has_defaults_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = planned(monkeypatch)
    found = setup.experiment
    assert (found.policy.name, setup.executors, found.tick_s) == ("foresight", (1, 5), 2)
    assert (found.policy.settings["interval_s"], found.policy.settings["ahead_s"]) == (2, 20)
    assert found.slo is not None
    assert found.slo.delay_s == 30
    # Foresight waits by itself; who does not is calmed.
    assert "hysteresis" not in guards_of(setup)
    assert guards_of(planned(monkeypatch, "--policy", "threshold"))["hysteresis"]["patience"] == 1
    assert "starvation" in guards_of(setup)
    assert setup.subject.settings == {}


def test_a_file_reaches_a_live_run_with_all_that_stands_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    setup = planned(monkeypatch, "--config", "run.yaml")
    policy = setup.experiment.policy
    assert (policy.name, policy.settings["high"], setup.executors) == ("threshold", 0.7, (2, 6))
    assert guards_of(setup)["cool_down"]["after_s"] == 90
    assert "hysteresis" not in guards_of(setup)
    assert switch_guards(setup.experiment.guards)["hysteresis"] is False
    assert setup.subject.settings == {"max_age_s": 40}


def test_options_win_over_conf_over_a_file_in_a_live_run(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = ["--config", "run.yaml", "--conf", "spark.elastream.executors=3:7", "--set", "slo.delay=9s"]
    setup = planned(monkeypatch, *sources, "--set", "slo.share=90%", "--set", "executors.max=8")
    slo = setup.experiment.slo
    assert setup.executors == (3, 8)
    assert slo is not None
    assert (slo.delay_s, slo.share) == (9, 0.9)


def test_a_policy_chosen_by_an_option_does_not_get_the_settings_of_another(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = planned(monkeypatch, "--policy", "fixed(workers=3)").experiment.policy.settings
    assert settings["workers"] == 3
    assert "window_s" not in settings


def guards_of(setup: LiveSetup) -> dict[str, dict[str, Any]]:
    return {guard.name: guard.settings for guard in setup.experiment.guards}


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_simulation_takes_settings_by_their_path(capsys: pytest.CaptureFixture[str]) -> None:
    found = printed(
        capsys, "simulate", "--duration", "2m", "--set", "policy=fixed", "--set", "policy_settings.workers=2",
        "--set", "executors=1..4",
    )  # fmt: skip
    assert found["runs"][0]["policy"] == "fixed"
    assert found["runs"][0]["settings"]["workers"] == 2


@pytest.mark.parametrize("command", [["simulate"], ["live"], ["config"]])
def test_a_property_that_means_nothing_is_refused(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command, "--conf", "spark.executor.cores=2"]) == 2
    assert "only spark.elastream.* and spark.redaction.regex have a meaning here" in capsys.readouterr().err


def test_a_file_reaches_a_launched_script(folder: Path) -> None:
    make_pyspark(folder)
    (folder / "app.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "print(SparkSession.builder.getOrCreate().sparkContext.getConf().get('spark.cores.max'))\n"
    )
    done = launched(folder, "--config", "run.yaml", "--conf", "spark.master=spark://host:7077", "app.py")
    assert done.stdout.strip() == "6"


def test_a_launched_script_may_change_its_folder_before_the_file_is_read(folder: Path) -> None:
    found = read_orders(["--config", "run.yaml", "app.py"])
    assert found.config == folder / "run.yaml"
    assert settings_for({"executors.max": 9}, {}, found.config).executors.max == 9
    assert settings_for({}, {}, found.config).executors.max == 6


def test_without_a_yaml_reader_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from elastream.attachment.assembly import resolve_settings

    monkeypatch.setitem(sys.modules, "yaml", None)
    assert resolve_settings({}, {})[0].policy == "foresight"
    with pytest.raises(BadInput, match=r"run\.yaml: reading YAML needs PyYAML.*pip install 'elastream\[cli\]'"):
        resolve_settings({}, {}, Path("run.yaml"))
