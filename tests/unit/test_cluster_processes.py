"""Processes are known by id and start, so that an id that was given anew is never mistaken for the old one."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import pytest

from elastream.daemons.processes import Process, command_line, descendants, process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            # It is started before it has its words.
            while command_line(child.pid)[-1:] != ["600"]:
                assert child.poll() is None
            yield child
        finally:
            child.kill()


def known(pid: int) -> Process:
    found = process(pid)
    assert found is not None
    return found


def test_a_running_process_is_known_again(sleeper: subprocess.Popen[bytes]) -> None:
    assert known(sleeper.pid) == known(sleeper.pid)
    assert known(sleeper.pid).is_running


def test_a_process_that_ended_is_gone_even_before_it_is_collected(sleeper: subprocess.Popen[bytes]) -> None:
    one = known(sleeper.pid)
    assert one.send(signal.SIGKILL)
    assert one.wait(20)
    assert not one.is_running
    assert process(sleeper.pid) is None
    assert not one.send(signal.SIGKILL)
    assert sleeper.wait() == -signal.SIGKILL


def test_a_process_that_has_the_id_of_ours_by_chance_is_not_signalled(sleeper: subprocess.Popen[bytes]) -> None:
    ours = replace(known(sleeper.pid), started="another time")
    assert not ours.is_running
    assert not ours.send(signal.SIGKILL)
    assert ours.wait(0)
    assert sleeper.poll() is None


@pytest.mark.parametrize("other", [{"owner": 65533}, {"command": ("sleep", "60")}])
def test_a_process_of_another_owner_or_command_is_not_signalled(
    sleeper: subprocess.Popen[bytes], other: dict[str, Any]
) -> None:
    ours = process(sleeper.pid, ["600"])
    assert ours is not None
    assert ours.is_running
    assert not replace(ours, **other).is_running
    assert not replace(ours, **other).send(signal.SIGKILL)
    assert sleeper.poll() is None


def test_a_process_without_a_command_is_not_read_from_a_file(sleeper: subprocess.Popen[bytes]) -> None:
    ours = process(sleeper.pid, ["600"])
    assert ours is not None
    assert Process.from_json(json.loads(json.dumps(asdict(ours)))) == ours
    with pytest.raises(ValueError, match="without a command"):
        Process.from_json(asdict(known(sleeper.pid)))


def test_a_script_that_becomes_another_program_is_still_known() -> None:
    with subprocess.Popen(["sh", "-c", 'read line; exec sleep "$1"', "sh", "600"], stdin=subprocess.PIPE) as child:
        try:
            ours = process(child.pid, ["600"])
            assert ours is not None
            assert child.stdin is not None
            child.stdin.write(b"now\n")
            child.stdin.flush()
            until_s = time.monotonic() + 20
            while command_line(child.pid) != ["sleep", "600"]:
                assert time.monotonic() < until_s
                time.sleep(0.01)
            assert ours.send(signal.SIGKILL)
        finally:
            child.kill()


def test_waiting_has_an_end(sleeper: subprocess.Popen[bytes]) -> None:
    assert not known(sleeper.pid).wait(0.01)


def test_an_id_that_nobody_has_is_no_process() -> None:
    child = subprocess.Popen(["true"])
    child.wait()
    assert process(child.pid) is None
    assert not Process(pid=child.pid, started="", owner=os.getuid()).send(signal.SIGKILL)
    assert command_line(child.pid) == []


def test_descendants_are_found_through_generations() -> None:
    with subprocess.Popen(["sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        # Whatever fails below: the end of the block waits for the child, which waits for the grandchild.
        try:
            below = descendants(os.getpid())
            assert {child.pid, grandchild} <= set(below)
            assert below.index(child.pid) < below.index(grandchild)
            # On a busy machine the shell may have told of its copy before that became another program.
            until_s = time.monotonic() + 20
            while command_line(grandchild) != ["sleep", "600"]:
                assert time.monotonic() < until_s
                time.sleep(0.01)
        finally:
            os.kill(grandchild, signal.SIGKILL)
