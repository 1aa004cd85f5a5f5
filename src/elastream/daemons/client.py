"""The owner's side of a supervisor: start it, speak to it, let it go; and `up` and `down` of what stays."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Generic

from elastream.core.errors import BadInput
from elastream.daemons.state_folder import Folder, State, StateFolder
from elastream.daemons.supervisor import STAY, SupervisorOrders

# Daemons are asked, given a few seconds, and then killed; a loaded machine needs more.
END_WITHIN_S = 30.0


class SupervisorClient(Generic[Folder]):
    """A supervisor that runs `module`, for a folder of that kind."""

    def __init__(self, module: str, kind: type[Folder]) -> None:
        self.module = module
        self.kind = kind
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, orders: SupervisorOrders) -> Folder:
        """Start it with these orders, and wait until what is wanted can be used."""
        package = Path(__file__).parents[2]
        self._process = subprocess.Popen(
            [sys.executable, "-m", self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={**os.environ, "PYTHONPATH": str(package)},
            # A Ctrl-C in the terminal is for us; the supervisor learns of it when we leave.
            start_new_session=True,
        )
        return self.kind(path=Path(self._ask(orders.to_line(), "ready")))

    def ask(self, command: str) -> None:
        """Wait until a command is done."""
        self._ask(f"{command}\n".encode(), "done")

    def stay(self) -> None:
        """What is kept is to outlive us."""
        self._send(f"{STAY}\n".encode())

    def let_go(self) -> None:
        """Close the pipe, which ends what is not to stay, and wait for the end."""
        if self._process is None:
            return
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                # What it was still to be sent is of no use to it any more.
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        try:
            self._process.wait(timeout=END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _ask(self, line: bytes, expected: str) -> str:
        try:
            answer = json.loads(self._send(line).readline() or "{}")
        except BrokenPipeError:
            answer = {}
        if "wrong" in answer:
            raise BadInput(answer["wrong"])
        if expected not in answer:
            thing = self.kind.thing
            ended = f"{thing}: the process that keeps it ended; is the machine out of memory?"
            raise self.kind.trouble(answer.get("failed", ended))
        return str(answer[expected])

    def _send(self, line: bytes) -> IO[bytes]:
        """Where the answer will come from."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()
        return self._process.stdout


def up(module: str, folder: StateFolder[State], orders: Callable[[], SupervisorOrders]) -> tuple[State, bool]:
    """Start what stays; what is there already, and False, if it runs in that folder."""
    there = folder.read()
    if there is not None and there.is_up:
        return there, False
    if there is not None and not there.supervisor.is_running:
        down(folder)
    wanted = orders()
    supervisor = SupervisorClient(module, type(folder))
    try:
        supervisor.start(wanted)
        state = folder.read()
        if state is None:
            raise folder.trouble(f"{folder.path}: the {folder.thing} has gone again")
        supervisor.stay()
    finally:
        supervisor.let_go()
    return state, True


def down(folder: StateFolder[Any]) -> bool:
    """Stop what runs there and remove the folder; False if there was nothing."""
    state = folder.read()
    if state is None:
        return False
    if state.supervisor.send(signal.SIGTERM) and not state.supervisor.wait(END_WITHIN_S):
        state.supervisor.send(signal.SIGKILL)
        state.supervisor.wait(END_WITHIN_S)
    # Nothing is left to do here unless the supervisor was killed.
    for daemon in state.daemons.values():
        daemon.send(signal.SIGKILL)
    for name, daemon in state.daemons.items():
        if not daemon.wait(END_WITHIN_S):
            raise folder.trouble(f"{folder.path}: {name} (process {daemon.pid}) does not end")
    if folder.path.exists():
        with folder.locked():
            folder.remove()
    return True
