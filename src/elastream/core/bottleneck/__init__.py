"""What keeps a query back that more executors cannot help, or help less than something else, with the evidence.

Every finding rests on what was seen for a while: a batch in which nothing runs, a task that outlasts all the others,
or batches in a row that show the same, three of them or a minute; one is enough that waited for a task with most of its
records. A batch that is unlike them (longer, with tasks that wait for a slot) speaks against what they showed. When in
doubt nothing is found, because what is found stops growth, where it says how many slots are of use.
"""

from collections.abc import Callable, Sequence

from elastream.core.bottleneck.batches import (
    find_blocked_sink,
    find_last_task,
    find_longest_tasks,
    find_read_limit,
)
from elastream.core.bottleneck.costs import find_late_costs
from elastream.core.bottleneck.driver import find_driver_bound
from elastream.core.bottleneck.verdict import Bottleneck, Kind
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Query

__all__ = ["Bottleneck", "Kind", "find_bottlenecks"]


def find_bottlenecks(now: Observation, known: Knowledge) -> tuple[Bottleneck, ...]:
    """At most one for each query: what holds it right now comes before what its last batches show."""
    found = []
    for query in now.queries:
        if query.phase != "terminated":
            one = next((one for find in _FINDERS if (one := find(query, now, known)) is not None), None)
            if one is not None:
                found.append(one)
    return tuple(found)


_FINDERS: Sequence[Callable[[Query, Observation, Knowledge], Bottleneck | None]] = (
    find_blocked_sink,
    find_last_task,
    find_longest_tasks,
    find_driver_bound,
    find_read_limit,
    find_late_costs,
)
