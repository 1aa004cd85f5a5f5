"""Guards stand around the policy, in one fixed order.

What is added on top comes first, so that damping compares like with like: what is wanted already has its share. Then
what a start must not give up; then damping of what policies ask for. Starvation, which turns a hold into a step, stands
before all that limits a step: the wait after a change, its length, and the limits from what helps (bottlenecks,
partitions) over what is allowed (budget, hours) to what exists (cluster). The state floor stands behind all of them,
because too few workers for the state end the query; bounds behind that, because they were configured. Pause comes last,
so that it can say what all the others would have let through.

Guards of others say what is allowed, as budget and hours do: they stand behind those, in the order they were given, and
what exists, the state, the bounds and a pause have their say after them.
"""

from collections.abc import Mapping
from typing import Any

from elastream.core.guards.bottleneck import BottleneckGuard
from elastream.core.guards.bounds import Bounds
from elastream.core.guards.budget import Budget
from elastream.core.guards.cool_down import CoolDown
from elastream.core.guards.hysteresis import Hysteresis
from elastream.core.guards.ignore_minor import IgnoreMinor
from elastream.core.guards.over_provision import OverProvision
from elastream.core.guards.partition_ceiling import PartitionCeiling
from elastream.core.guards.pause import Pause
from elastream.core.guards.quiet_hours import QuietHours
from elastream.core.guards.roll_back import RollBack
from elastream.core.guards.scarce_cluster import ScarceCluster
from elastream.core.guards.stabilise import Stabilise
from elastream.core.guards.start import Start
from elastream.core.guards.starvation import Starvation
from elastream.core.guards.state_floor import StateFloor
from elastream.core.guards.step_limit import StepLimit
from elastream.core.protocols import Guard

ORDER: dict[str, type[Guard[Any]]] = {
    "over_provision": OverProvision,
    "start": Start,
    "ignore_minor": IgnoreMinor,
    "stabilise": Stabilise,
    "hysteresis": Hysteresis,
    "starvation": Starvation,
    "cool_down": CoolDown,
    "step_limit": StepLimit,
    "roll_back": RollBack,
    "bottleneck": BottleneckGuard,
    "partition_ceiling": PartitionCeiling,
    "budget": Budget,
    "quiet_hours": QuietHours,
    "scarce_cluster": ScarceCluster,
    "state_floor": StateFloor,
    "bounds": Bounds,
    "pause": Pause,
}

_OTHERS_BEFORE = "scarce_cluster"

Guards = Mapping[str, Guard[Any]]
"""Name -> guard; whoever runs them does so in the order above."""


def in_order(guards: Guards) -> dict[str, Guard[Any]]:
    """The guards in their order, bounds among them whatever was configured."""
    chosen = {"bounds": Bounds(), **guards}
    names = list(ORDER)
    place = names.index(_OTHERS_BEFORE)
    others = [name for name in chosen if name not in ORDER]
    return {name: chosen[name] for name in (*names[:place], *others, *names[place:]) if name in chosen}
