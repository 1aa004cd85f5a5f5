"""Plans recorded observations with every policy, where nothing but arithmetic is allowed. Run as a script.

Reads observations as JSON lines from standard input and prints the decisions. The clock is set to the time given, and
whatever touches files, sockets or processes ends the run.
"""

import json
import random
import sys
import time
from typing import Any

from pydantic import TypeAdapter

from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.loop.planner import Planner
from elastream.policies import policies
from elastream.simulator.microbatch.platform import PROVIDES

_FORBIDDEN = ("open", "socket.", "subprocess.", "os.", "shutil.", "tempfile.", "urllib.", "import")


def plan_all(observations: list[Observation]) -> dict[str, list[Any]]:
    """Decisions of every policy on the same observations."""
    decisions: dict[str, list[Any]] = {}
    dump = TypeAdapter(Decision).dump_python
    for name in policies.names():
        planner = Planner(policies.build(name), {}, PROVIDES)
        decisions[name] = [dump(planner.plan(now).decision, mode="json") for now in observations]
    return decisions


def forbid(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook."""
    if event.startswith(_FORBIDDEN):
        raise RuntimeError(f"a policy did {event}: {arguments[:1]}")


def main() -> None:
    """Read, lock down, plan, print."""
    observe = TypeAdapter(Observation).validate_json
    observations = [observe(line) for line in sys.stdin]
    # Once before locking down, so that what is imported on first use is there.
    plan_all(observations[:3])
    moment_s = float(sys.argv[1])
    time.time = time.monotonic = time.perf_counter = lambda: moment_s
    random.seed(moment_s)
    sys.addaudithook(forbid)
    text = json.dumps(plan_all(observations), sort_keys=True)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
