"""The two halves of `make test`, tried on suites of two tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from elastream.daemons.processes import process
from tools.suite import NO_TESTS, code_of

ROOT = Path(__file__).parents[2]
INI = "[pytest]\nmarkers =\n    full\n    spark\n    kafka\n    browser\n    local\n"


def suite(folder: Path, quick: str, live: str, *, full: str = "assert False") -> subprocess.Popen[str]:
    """One test of each half, and one of the long matrix."""
    (folder / "pytest.ini").write_text(INI)
    (folder / "test_quick.py").write_text(f"import os, pathlib, time\ndef test_quick():\n    {quick}\n")
    (folder / "test_live.py").write_text(
        "import os, pathlib, pytest, time\n"
        f"@pytest.mark.spark\ndef test_live():\n    {live}\n"
        f"@pytest.mark.full\n@pytest.mark.spark\ndef test_long():\n    {full}\n"
    )
    command = [sys.executable, str(ROOT / "tools" / "suite.py"), "--goal", "12", "-p", "no:cacheprovider"]
    return subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True)


def environment() -> Mapping[str, str]:
    """Of a pytest that knows nothing of the one that it runs in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return {**kept, "PYTHONPATH": str(ROOT / "src")}


def test_both_halves_run_and_are_shown_one_after_the_other(tmp_path: Path) -> None:
    # Each waits for the other, so that neither could pass alone.
    wait = "(pathlib.Path('{}').touch(), [time.sleep(.01) for _ in range(6000) if not pathlib.Path('{}').exists()])"
    with suite(tmp_path, wait.format("quick", "live"), wait.format("live", "quick")) as run:
        out, _ = run.communicate(timeout=60)
    assert run.returncode == 0
    assert out.index("test_quick.py .") < out.index("test_live.py .")
    *_, quick, live, both = out.splitlines()
    assert quick.startswith("without: 1 passed, 2 deselected in ")
    assert live.startswith("with a cluster, a broker or a browser: 1 passed, 2 deselected in ")
    assert both.startswith("both, side by side: 0 min ")
    assert both.endswith(" s; the goal is 12 min")


def test_a_failure_in_either_half_is_a_failure(tmp_path: Path) -> None:
    with suite(tmp_path, "assert 1 == 2", "pass") as run:
        out, _ = run.communicate(timeout=60)
    assert run.returncode == 1
    assert "without: 1 failed" in out
    assert "with a cluster, a broker or a browser: 1 passed" in out


def test_an_interrupt_ends_both_and_is_told(tmp_path: Path) -> None:
    hang = "pathlib.Path('{}').write_text(str(os.getpid())); time.sleep(300)"
    begun = [tmp_path / "quick", tmp_path / "live"]
    with suite(tmp_path, *(hang.format(file.name) for file in begun)) as run:
        until_s = time.monotonic() + 60
        while not all(file.exists() and file.read_text() for file in begun) and time.monotonic() < until_s:
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        out, _ = run.communicate(timeout=60)
    assert run.returncode == 130
    assert out.count("KeyboardInterrupt") >= 2
    assert [process(int(file.read_text())) for file in begun] == [None, None]


@pytest.mark.parametrize(
    ("codes", "whole"),
    [((0, 0), 0), ((0, 1), 1), ((2, 0), 2), ((0, NO_TESTS), 0), ((NO_TESTS, NO_TESTS), NO_TESTS), ((0, -9), 9)],
)
def test_an_empty_half_is_no_failure_and_a_killed_one_is(codes: tuple[int, int], whole: int) -> None:
    assert code_of(codes) == whole
