"""How fast a query has to be, from what was promised of it."""

from __future__ import annotations

from typing import NamedTuple

from elastream.core.observation import Query

# Where nothing was promised.
_ASAP_BATCH_S, _DRAIN_S, _HEADROOM = 5.0, 120.0, 1.2
# New workers of a cluster nobody has measured yet.
_GROW_S = 10.0
# Reserve of a query that has no slack at all, in slots per slot.
_MOST_RESERVE = 0.25
# How long the bursts of a query are remembered that has no time to react to them.
_MOST_REMEMBERED_S = 1800.0


class Pace(NamedTuple):
    """When batches begin, how long they may take, how fast a backlog goes, and how much is kept in reserve."""

    period_s: float
    batch_s: float
    drain_s: float
    headroom: float
    remember_s: float = 0.0
    """How long a burst is remembered, because the next one would come too fast to grow for."""
    note: str | None = None
    """What a person should know about it."""

    def task_s(self, driver_s: float) -> float:
        """How long tasks may take, given what of a batch only the driver does.

        Never less than half of it, however long the driver takes: slots cannot shorten that.
        """
        return max(self.batch_s - driver_s, self.batch_s / 2) / self.headroom


def pace(
    query: Query,
    *,
    interval_s: float,
    grow_s: float | None,
    drain_s: float | None = None,
    headroom: float | None = None,
    asap_batch_s: float | None = None,
) -> Pace:
    """A record waits for the next batch, and then for that batch: both must fit into the bound.

    What is left of the bound is slack, in which a query that was overtaken by its load can grow and catch up. The less
    slack there is, the more has to be there beforehand.
    """
    bound_s = query.slo.delay_s if query.slo else None
    trigger_s = query.trigger.interval_s
    if bound_s is None:
        period_s = trigger_s or asap_batch_s or _ASAP_BATCH_S
        return Pace(period_s, period_s, drain_s or _DRAIN_S, headroom or _HEADROOM)
    # As fast as possible, a batch is as long as the one before it: three fit into the bound, one is slack.
    period_s = trigger_s or asap_batch_s or bound_s / 3
    note, batch_s = None, min(period_s, bound_s - period_s)
    if batch_s < period_s / 4:
        note = f"a trigger of {period_s:g} s leaves {max(0.0, batch_s):g} s of the {bound_s:g} s promised"
        batch_s = period_s / 4
    slack_s = max(0.0, bound_s - period_s - batch_s)
    # A load that has changed is seen at the next decision, and after another one it is certain.
    reaction_s = 2 * interval_s + (_GROW_S if grow_s is None else grow_s)
    reserve = 1 + _MOST_RESERVE * (reaction_s + batch_s) / (reaction_s + batch_s + slack_s)
    too_late = max(0.0, 1 - (bound_s - period_s) / reaction_s)
    return Pace(
        period_s,
        batch_s,
        drain_s or max(period_s, slack_s / 2),
        headroom or reserve,
        too_late * _MOST_REMEMBERED_S,
        note,
    )
