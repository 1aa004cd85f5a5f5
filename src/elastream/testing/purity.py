"""Plans recorded looks where nothing but arithmetic is allowed. Run as a script by `check_pure`.

Reads from standard input what decides, as one line of JSON, then observations, a line each, and prints the plans. The
clock is set to the time given, and whatever touches files, sockets or processes is an error of who does it.
"""

import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

from pydantic import TypeAdapter

from elastream.core.decision import Decision
from elastream.core.observation import Observation
from elastream.loop.planner import Planner
from elastream.policies import Threshold
from elastream.registry.foreign import import_class
from elastream.registry.settings import construct, read_settings
from elastream.simulator.microbatch.platform import PROVIDES

_FORBIDDEN = ("open", "socket.", "subprocess.", "os.", "shutil.", "tempfile.", "urllib.", "import")


def plan_all(makers: dict[str, Callable[[], Planner]], looks: list[Observation]) -> dict[str, list[object]]:
    """What each decides on the same looks, and what went wrong."""
    dump = TypeAdapter(Decision).dump_python
    plans: dict[str, list[object]] = {}
    for label, make in makers.items():
        planner = make()
        found = [planner.plan(now) for now in looks]
        plans[label] = [[dump(plan.decision, mode="json"), list(plan.troubles)] for plan in found]
    return plans


def maker(kind: str, path: str, settings: dict[str, object]) -> Callable[[], Planner]:
    """What makes the planner of a policy, or of a guard around a policy of ours."""
    cls = import_class(path, kind)
    built: Any = construct(cls, read_settings(cls, settings, kind), kind)
    if kind == "policy":
        return lambda: Planner(built, {}, PROVIDES)
    return lambda: Planner(Threshold(), {"tested": built}, PROVIDES)


def forbid(event: str, arguments: tuple[object, ...]) -> None:
    """An audit hook."""
    if event.startswith(_FORBIDDEN):
        raise RuntimeError(f"it did {event} {arguments[:1]}, and may do arithmetic only")


def main() -> None:
    """Read, lock down, plan, print."""
    makers = {label: maker(*what) for label, what in json.loads(sys.stdin.readline()).items()}
    observe = TypeAdapter(Observation).validate_json
    looks = [observe(line) for line in sys.stdin]
    # Once before locking down, so that what is imported on first use is there.
    plan_all(makers, looks[:3])
    moment_s = float(sys.argv[1])
    time.time = time.monotonic = time.perf_counter = lambda: moment_s
    random.seed(moment_s)
    sys.addaudithook(forbid)
    text = json.dumps(plan_all(makers, looks), sort_keys=True)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
