"""What stands in a journal is believed as far as it makes sense: anybody may have written it."""

import math
from dataclasses import replace

from elastream.core.credible import credible
from elastream.core.decision import Decision
from elastream.core.errors import BadInput, JournalError, ObservationFailed
from elastream.core.observation import Observation
from elastream.core.tick import Tick
from elastream.journal.format import Header

_LAST_UTC_S = 253402300799.0
"""The end of the year 9999, where calendars end."""
_MOST_WORKERS = 10**9
_LONGEST_S = 1e15

# Evidence and memories are a few levels deep; what is far deeper ends in an interpreter without a stack.
_MOST_LEVELS = 50


def believe_header(header: Header, where: str) -> Header:
    """The header, if it can be."""
    for name, seconds in (("tick_s", header.tick_s), ("max_age_s", header.max_age_s)):
        if not 0 < seconds < _LONGEST_S:
            raise JournalError(f"{where}: a header that cannot be: {name} is {seconds}")
    return header


def believe(tick: Tick, max_age_s: float, where: str) -> Tick:
    """The tick without readings that cannot be, as the loop saw it; JournalError if it makes no sense."""
    try:
        if not (0 <= tick.number < 2**53 and abs(tick.at_s) < _LONGEST_S and 0 <= tick.utc_s <= _LAST_UTC_S):
            raise ValueError(f"number {tick.number}, at_s {tick.at_s}, utc_s {tick.utc_s}")
        now = None if tick.observation is None else _believe_look(tick.observation, max_age_s)
        if tick.decision is not None:
            _check_decision(tick.decision, now)
        for asked in tick.interventions:
            asked.check()
        for one in tick.bottlenecks:
            if one.useful_slots is not None and not 0 <= one.useful_slots < math.inf:
                raise ValueError(f"{one.useful_slots} useful slots")
    except (ValueError, ObservationFailed, BadInput) as wrong:
        raise JournalError(f"{where}: a tick that cannot be: {wrong}") from None
    return tick if now is tick.observation else replace(tick, observation=now)


def is_deep(value: object) -> bool:
    """Whether plain data is nested more deeply than any that we write."""
    level: list[object] = [value]
    for _ in range(_MOST_LEVELS):
        inner: list[object] = []
        for item in level:
            if isinstance(item, dict):
                inner += [part for part in item.values() if isinstance(part, (dict, list))]
            elif isinstance(item, list):
                inner += [part for part in item if isinstance(part, (dict, list))]
        if not inner:
            return False
        level = inner
    return True


def _believe_look(now: Observation, max_age_s: float) -> Observation:
    if not (abs(now.at_s) < _LONGEST_S and 0 <= now.utc_s <= _LAST_UTC_S):
        raise ValueError(f"a look of at_s {now.at_s}, utc_s {now.utc_s}")
    now.control.check()
    names = [pool.name for pool in now.pools]
    if len(set(names)) < len(names):
        raise ValueError(f"two pools of one name among {', '.join(names)}")
    for pool in now.pools:
        if max(pool.wanted, pool.requested, pool.ready, pool.leaving, pool.max_workers) > _MOST_WORKERS:
            raise ValueError(f"more than {_MOST_WORKERS:,} workers in pool {pool.name}")
    return credible(now, max_age_s)


def _check_decision(decision: Decision, now: Observation | None) -> None:
    if now is not None and decision.allocation.keys() != now.wanted().keys():
        raise ValueError(f"decided on {', '.join(decision.allocation)}, seen was {', '.join(now.wanted())}")
    for pool, workers in decision.allocation.items():
        if not 0 <= workers <= _MOST_WORKERS:
            raise ValueError(f"{workers} workers decided for pool {pool}")
    for note in decision.adjustments:
        if note.pool not in decision.allocation:
            raise ValueError(f"guard {note.guard} changed pool {note.pool}, which does not exist")
    for what, value in (("evidence", decision.evidence), ("a note", decision.note)):
        if is_deep(dict(value)):
            raise ValueError(f"{what} that is nested too deeply")
