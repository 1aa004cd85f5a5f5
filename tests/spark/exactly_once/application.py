"""The driver as seen from the test: started, told what to do, killed, started again."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from elastream.daemons.processes import descendants, process
from elastream.development.cluster.local_cluster import LocalCluster
from tests.spark.exactly_once.checkpoint import committed, planned_rows
from tests.spark.exactly_once.inputs import INPUTS

ROOT = Path(__file__).parents[3]
# A machine that is used by others as well; nothing is concluded from it.
PATIENCE_S = 240.0
LOOK_EVERY_S = 0.2


class Application:
    """A driver process with queries in it, each with a state store. Its work lies in a folder that outlives it.

    Its queries are compiled, as Spark does by default, or interpreted, which is quicker where executors come and go.
    """

    def __init__(
        self,
        cluster: LocalCluster,
        folder: Path,
        stores: Mapping[str, str],
        *,
        executors: int = 3,
        compiled: bool = True,
    ) -> None:
        self.cluster = cluster
        self.folder = folder
        self.stores = dict(stores)
        self.names = tuple(stores)
        self.executors = executors
        self.compiled = compiled
        self.rows: dict[str, int | None] = dict.fromkeys(self.names)
        self._driver: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        """Return when its queries run."""
        plan = {
            "cluster": str(self.cluster.folder),
            "work": str(self.folder),
            "stores": self.stores,
            "executors": self.executors,
            "compiled": self.compiled,
            "rows": self.rows,
        }
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
        with (self.folder / "driver.log").open("ab") as log:
            self._driver = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.driver", json.dumps(plan)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=self.folder,
                env={**os.environ, "PYTHONPATH": path},
            )
        self._answer()

    def end_input(self, *, after_batches: int) -> None:
        """From the next start on, inputs are finite: so many batches more than those that were begun."""
        for name in self.names:
            self.rows[name] = planned_rows(self.folder, name) + after_batches * INPUTS[name].rows_per_batch

    def kill(self) -> None:
        """kill -9 of the driver: its JVM first, which would otherwise notice the end of its parent and tidy up."""
        driver, self._driver = self._driver, None
        if driver is None:
            return
        for pid in [*descendants(driver.pid), driver.pid]:
            found = process(pid)
            if found is not None:
                found.send(signal.SIGKILL)
        self._close(driver)

    def finish(self) -> None:
        """Wait for the end of all inputs, stop the queries between batches, and end the driver."""
        self.ask("finish")
        assert self._driver is not None
        driver, self._driver = self._driver, None
        self._close(driver)

    def ask(self, command: str, **details: Any) -> Any:
        assert self._driver is not None, "the application is not running"
        assert self._driver.stdin is not None
        self._driver.stdin.write(json.dumps({"do": command, **details}).encode() + b"\n")
        self._driver.stdin.flush()
        answer = self._answer()
        assert not (isinstance(answer, dict) and "error" in answer), f"{command}: {answer['error']}\n{self._log()}"
        return answer

    def look(self) -> dict[str, Any]:
        seen: dict[str, Any] = self.ask("look")
        assert not seen["failed"], "\n".join([*seen["failed"], self._log()])
        return seen

    def committed(self) -> dict[str, int]:
        """The last finished batch of each query."""
        return {name: committed(self.folder, name) for name in self.names}

    def until(self, holds: Callable[[dict[str, Any]], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds(seen := self.look()):
            assert time.monotonic() < deadline, f"{what}: not so after {PATIENCE_S:.0f} s; {seen}\n{self._log()}"
            time.sleep(LOOK_EVERY_S)

    def until_batches(self, number: int, since: dict[str, int] | None = None) -> None:
        """Until every query has finished so many batches more, of which the first may have been under way."""
        since = since or self.committed()

        def all_moved_on(_: dict[str, Any]) -> bool:
            return all(now >= since[name] + number for name, now in self.committed().items())

        self.until(all_moved_on, f"{number} batches more of each query than {since}")

    def _answer(self) -> Any:
        assert self._driver is not None
        assert self._driver.stdout is not None
        awake, _, _ = select.select([self._driver.stdout], [], [], PATIENCE_S)
        line = self._driver.stdout.readline() if awake else b""
        assert line, f"the driver {'has ended' if awake else 'does not answer'}\n{self._log()}"
        return json.loads(line)

    def _log(self) -> str:
        lines = (self.folder / "driver.log").read_text(errors="replace").splitlines()
        told = [line for line in lines if not line.startswith(("\tat ", "\t..."))]
        return "\n".join(["last lines of the driver's log:", *told[-15:]])

    def _close(self, driver: subprocess.Popen[bytes]) -> None:
        assert driver.stdin is not None
        assert driver.stdout is not None
        driver.stdin.close()
        try:
            driver.wait(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            driver.kill()
            driver.wait()
            raise
        finally:
            driver.stdout.close()
