"""Tells when a promise is broken, and when it is kept again: once per change, query by query."""

from elastream.core.log import log
from elastream.core.observation import Observation
from elastream.core.tick import Tick


class SloLog:
    """Follows the share of records within the bound, over the run. Implements Journal."""

    def __init__(self) -> None:
        self._broken: set[str] = set()

    def write(self, tick: Tick) -> None:
        """Tell what has changed."""
        for query in tick.observation.queries if tick.observation else ():
            kept = query.on_time.keeps(query.slo) if query.on_time and query.slo else None
            if kept is None or query.on_time is None or query.slo is None or kept == (query.id not in self._broken):
                continue
            (self._broken.discard if kept else self._broken.add)(query.id)
            state = "kept again" if kept else "broken"
            log.warning("SLO of %s is %s: %s", query.name, state, query.on_time.sentence(query.slo))

    def close(self) -> None:
        """Nothing to close. Implements Journal."""


def slo_sentence(now: Observation) -> str | None:
    """How every promise was kept so far; None where nothing was promised."""
    told = []
    for query in now.queries:
        if query.slo is not None and query.on_time is not None:
            name = f"{query.name}: " if len(now.queries) > 1 else ""
            broken = " (broken)" if query.on_time.keeps(query.slo) is False else ""
            told.append(f"{name}{query.on_time.sentence(query.slo)}{broken}")
    return "; ".join(told) or None
