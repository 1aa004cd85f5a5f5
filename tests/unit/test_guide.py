"""docs/extend.md, followed literally in an empty folder: every file is written and every command is run."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "extend.md"
FILES = re.findall(r"`(\w+\.py)`[^\n]*:\n\n```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"```sh\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guide")
    for name, text in FILES:
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "status.json").write_text('{"messages": 1200}', encoding="utf-8")
    return folder


def test_it_has_a_file_for_everything_that_can_be_added() -> None:
    names = {"my_policy.py", "test_my_policy.py", "my_guard.py", "my_load.py", "my_job.py", "my_probe.py"}
    assert {name for name, _ in FILES} == names
    assert len(COMMANDS) == 13


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_works_as_it_stands(folder: Path, command: str) -> None:
    words = shlex.split(command)
    # As the program that pip installs: it has neither the present folder nor its own on the path.
    program = [sys.executable, "-P", "-m", "elastream"] if words[0] == "elastream" else [sys.executable]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ELASTREAM_")}
    status = f"file://{folder / 'status.json'}"
    done = subprocess.run(
        [*program, *words[1:]],
        cwd=folder,
        env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "QUEUE_STATUS_URL": status},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_policy_fits_into_twenty_lines() -> None:
    text = dict(FILES)["my_policy.py"]
    body = text[text.index("@dataclass") :]
    assert len([line for line in body.splitlines() if line.strip()]) <= 20
