"""Hours of accidents: random actions on a running application, then every output record against the computation.

    python -m tools.soak --seed 1 --actions 100

The same seed gives the same actions in the same order; what they hit depends on the machine.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from elastream.development.cluster.local_cluster import ClusterSettings, LocalCluster
from tests.spark.exactly_once.actions import ACTIONS, Scene
from tests.spark.exactly_once.application import Application
from tests.spark.exactly_once.proof import compared
from tests.spark.exactly_once.workers import SpareWorker

# A large state, long batches, and one of each other kind of state.
QUERIES = ("large", "long", "windowed", "joined", "sessions")
EXECUTORS = 4
# A driver takes half a minute to come back, so it is killed less often than others.
WEIGHTS = {
    "resize": 8,
    "kill_executor": 4,
    "kill_worker": 2,
    "replace_controller": 2,
    "attach_again": 2,
    "kill_driver": 1,
}
# Some actions come at once after another, some find everything in order again.
PAUSES_S = (0.0, 0.0, 1.0, 3.0, 8.0)


class Soak:
    """One long run, told as it goes."""

    def __init__(self, scene: Scene, chance: random.Random) -> None:
        self.scene = scene
        self.chance = chance
        self._began = time.monotonic()

    def run(self, number: int) -> None:
        for done in range(1, number + 1):
            [name] = self.chance.choices(list(WEIGHTS), list(WEIGHTS.values()))
            pause_s, size = self.chance.choice(PAUSES_S), self.chance.randint(1, EXECUTORS)
            began = time.monotonic()
            self._act(name, size)
            took_s = time.monotonic() - began
            told = f"{name} to {size}" if name == "resize" else name
            batches = ", ".join(f"{query} {batch}" for query, batch in self.scene.application.committed().items())
            self.say(f"{done:4} {told}: {took_s:.0f} s; batches: {batches}")
            self._pause(pause_s)

    def say(self, text: str) -> None:
        print(f"{time.monotonic() - self._began:6.0f} s {text}", flush=True)

    def _act(self, name: str, size: int) -> None:
        scene = self.scene
        if name == "resize":
            scene.application.ask("want", size=size)
            scene.has(size)
        elif name == "kill_worker" and not set(scene.spare.executors()) & set(scene.application.look()["ready"]):
            # None of the executors is there now: what is lost is a machine without work.
            scene.spare.kill()
            scene.spare.start()
        else:
            ACTIONS[name](scene)

    def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        self.scene.application.until(lambda _: time.monotonic() >= until, "a pause")


def soak(seed: int, number: int, folder: Path) -> bool:
    with (
        LocalCluster(ClusterSettings(workers=2, cores=8, memory="8g")) as cluster,
        SpareWorker(cluster) as spare,
        Application(cluster, folder, dict.fromkeys(QUERIES, "rocksdb"), executors=EXECUTORS) as application,
    ):
        run = Soak(Scene(application=application, spare=spare), random.Random(seed))
        run.say(f"seed {seed}, {number} actions; queries: {', '.join(QUERIES)}; at most {EXECUTORS} executors")
        application.start()
        application.until_batches(1)
        run.run(number)
        application.kill()
        application.end_input(after_batches=2)
        run.say("the driver was killed once more; the inputs end two batches later")
        application.start()
        application.finish()
        return judge(application, run.say)


def judge(application: Application, say: Callable[[str], None]) -> bool:
    verdicts = compared(application)
    for verdict in verdicts:
        say(str(verdict) if verdict else f"{verdict.name}: all {verdict.expected:,} rows are there, each once")
    return not any(verdicts)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--actions", type=int, default=100)
    given = parser.parse_args()
    if given.actions < 1:
        parser.error(f"--actions: found {given.actions}; it must be at least 1")
    with tempfile.TemporaryDirectory(prefix="elastream-soak-", ignore_cleanup_errors=True) as folder:
        held = soak(given.seed, given.actions, Path(folder))
    print("soak: nothing was lost or doubled" if held else "soak: rows were lost or doubled; see above")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
