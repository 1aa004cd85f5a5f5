"""Every command on an install with less than it needs: one line that says what to install."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from elastream.core.extras import EXTRAS, MissingExtra, find_missing

KAFKA = ["--bootstrap", "127.0.0.1:1"]
# With `pip install 'elastream[cli]'`: what a command answers, and None where it works.
COMMANDS: dict[str, tuple[list[str], str | None]] = {
    "demo": ([], "lab"),
    "live": ([], "lab"),
    "bench": (["wordcount"], "lab"),
    "jobs": ([], "lab"),
    "produce": (["keyed", "--workload", "1k", *KAFKA], "lab,kafka"),
    "cluster": (["up"], "lab"),
    "kafka": (["status"], None),
    "plan": (["schema"], None),
    "experiment": (["list", "runs"], "lab"),
    "report": (["runs"], "lab"),
    "tune": (["plan.yaml"], "lab"),
    "bundle": (["runs"], "lab"),
    "simulate": (["--duration", "5m", "--out", "runs"], None),
    "why": (["runs/foresight"], None),
    "watch": (["runs/foresight"], "page"),
    "page": (["runs/foresight"], None),
    "replay": (["runs/foresight"], None),
    "models": ([], None),
    "advise": (["runs/foresight"], None),
    "fidelity": (["plan.yaml"], "lab"),
    "scalability": (["wordcount", "--simulate"], "lab"),
    "calibrate": (["runs/foresight", "--out", "job.yaml"], None),
    "policies": ([], None),
    "workloads": ([], None),
    "guards": ([], None),
    "faults": ([], None),
    "config": ([], None),
    "launcher": ([], None),
}

# All in one process, because each would import everything again.
PROGRAM = """
import contextlib, io, json, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(json.loads(sys.argv[1]))
sys.meta_path.insert(0, Blocker())
from elastream.cli import main
from elastream.cli.command_table import COMMANDS

told = {}
for name, arguments in json.loads(sys.argv[2]).items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([name, *arguments])
    told[name] = [code, err.getvalue()]
print(json.dumps({"told": told, "commands": [name for commands in COMMANDS.values() for name in commands]}))
"""


def run_without(modules: list[str], commands: dict[str, list[str]], folder: Path) -> dict[str, dict[str, list[object]]]:
    arguments = [sys.executable, "-c", PROGRAM, json.dumps(modules), json.dumps(commands)]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, list[object]]] = json.loads(done.stdout)
    return found


def test_every_command_that_lacks_an_extra_says_which(tmp_path: Path) -> None:
    lacking = [module for module, extra in EXTRAS.items() if extra != "cli"]
    found = run_without(lacking, {name: arguments for name, (arguments, _) in COMMANDS.items()}, tmp_path)
    # `run` goes on in another process; what it says is tested with its launcher.
    assert set(found["commands"]) - {"run"} == COMMANDS.keys()
    for name, (_, extra) in COMMANDS.items():
        code, err = found["told"][name]
        if extra is None:
            assert code == 0, f"{name}: {err}"
        else:
            assert isinstance(err, str)
            assert (code, err.count("\n")) == (2, 1), f"{name}: {err}"
            assert f"pip install 'elastream[{extra}]'" in err, f"{name}: {err}"


def test_the_help_of_every_command_that_lacks_an_extra_is_shown_or_says_which(tmp_path: Path) -> None:
    lacking = [module for module, extra in EXTRAS.items() if extra != "cli"]
    found = run_without(lacking, {name: ["--help"] for name in COMMANDS} | {"run": ["--help"]}, tmp_path)
    assert {name: told for name, told in found["told"].items() if told != [0, ""]} == {
        # Results of experiments are tables of pyarrow throughout.
        name: [2, f"elastream: {name} needs pyarrow: pip install 'elastream[lab]'\n"]
        for name in ("experiment", "report", "tune", "bundle", "fidelity")
    }


def test_produce_without_a_kafka_client_asks_for_it(tmp_path: Path) -> None:
    arguments, _ = COMMANDS["produce"]
    told = run_without(["confluent_kafka"], {"produce": arguments}, tmp_path)["told"]["produce"]
    assert told == [2, "elastream: produce needs confluent-kafka: pip install 'elastream[kafka]'\n"]


def test_the_base_install_says_how_to_get_the_command_line(tmp_path: Path) -> None:
    program = "import sys; sys.modules['typer'] = None; from elastream.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "elastream: the command line needs typer: pip install 'elastream[cli]'\n"


@pytest.mark.parametrize("name", ["somebody.elses", None])
def test_a_module_that_no_extra_brings_is_not_explained_away(name: str | None) -> None:
    assert find_missing(ModuleNotFoundError("No module", name=name)) is None
    assert find_missing(ValueError("no import at all")) is None


def test_a_missing_module_behind_another_error_is_found() -> None:
    error = RuntimeError("a job could not be read")
    error.__cause__ = ModuleNotFoundError("No module", name="pyspark.sql")
    assert find_missing(error) == "pyspark"
    assert str(MissingExtra("live", "pyspark")) == "live needs pyspark: pip install 'elastream[lab]'"
