"""The workflow of a public CI runs what is run here, on every Python that is promised."""

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]


def workflow() -> dict[str, Any]:
    loaded = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_the_workflow_runs_the_one_command_on_every_python_that_is_promised() -> None:
    job = workflow()["jobs"]["test"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert "matrix.python" in job["container"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["bash .ci/run"]
    assert (ROOT / ".ci/run").is_file()
