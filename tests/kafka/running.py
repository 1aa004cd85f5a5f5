"""A script under `elastream run`, and what its journal says of it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from elastream.core.observation import Query
from elastream.core.tick import Tick
from elastream.journal.reader import read
from tests.spark.driving import INTERPRETED, SHORT_LIVED

ELASTREAM = str(Path(sys.executable).with_name("elastream"))
PATIENCE_S = 240.0
TICK_S = 1.0


class Running:
    """Started by `with`; ended at the end of the block if it has not ended by itself."""

    def __init__(self, folder: Path, script: Path, arguments: Sequence[str], options: Mapping[str, str]) -> None:
        self.folder = folder
        self._command = [ELASTREAM, "run", "--kafka", "--memory", "512m", "--set", f"tick_s={TICK_S:g}"]
        # A shrink that is right now would come most of a minute later.
        self._command += ["--set", "guards.hysteresis=false"]
        conf = {**SHORT_LIVED, **INTERPRETED}
        self._command += [part for pair in conf.items() for part in ("--conf", "=".join(pair))]
        self._command += ["--journal", str(folder / "journal"), *(part for pair in options.items() for part in pair)]
        self._command += [str(script), *arguments]

    def __enter__(self) -> Self:
        with (self.folder / "out").open("w") as out, (self.folder / "err").open("w") as err:
            self._process = subprocess.Popen(self._command, stdout=out, stderr=err)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.terminate()
        self._process.wait(PATIENCE_S)

    def wait(self) -> int:
        """Its exit code."""
        return self._process.wait(PATIENCE_S)

    def signal(self, number: signal.Signals) -> None:
        """As Ctrl-C and kill do."""
        self._process.send_signal(number)

    def until(self, seen: Callable[[Tick], bool], what: str) -> Tick:
        """The first tick, of the newest ones, of which that holds."""
        until_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < until_s:
            assert self._process.poll() is None, f"it has ended while we waited for {what}"
            for tick in self.ticks()[-3:]:
                if seen(tick):
                    return tick
            time.sleep(0.5)
        raise AssertionError(f"{what} did not come")

    def ticks(self) -> list[Tick]:
        """All so far."""
        journal = self.folder / "journal"
        return list(read(journal).ticks) if list(journal.glob("*.jsonl")) else []


def query(tick: Tick, name: str) -> Query | None:
    """One query, as it was seen."""
    return next((one for one in tick.observation.queries if one.name == name), None) if tick.observation else None


def backlogs(tick: Tick) -> dict[str, float | None]:
    """Of all queries."""
    return {one.name: one.backlog for one in tick.observation.queries} if tick.observation else {}


def committed(tick: Tick) -> float:
    """Records in finished batches, over all queries."""
    sources = [source for one in (tick.observation.queries if tick.observation else ()) for source in one.sources]
    return sum(source.committed.value for source in sources if source.committed is not None)


def ready(tick: Tick) -> int | None:
    """Executors, when none is on its way."""
    pool = tick.observation.pools[0] if tick.observation else None
    return None if pool is None or pool.leaving else pool.ready
