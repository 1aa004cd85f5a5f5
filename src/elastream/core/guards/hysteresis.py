"""No flapping: shrink only when that pays, by what changes were measured to take."""

from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.errors import require_setting as require
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation, Pool, Query
from elastream.core.protocols import LetsThePolicySpeak

# Before a change was measured: what a small cluster takes.
_GROW_S, _SHRINK_S = 10.0, 5.0
_MOST_REGRET = 8.0
_MOST_S = 1800.0


class Calm(TypedDict):
    """Recent proposals, and what became of the last shrinks."""

    seen_s: float | None
    since_s: float
    """When the first look was."""
    wanted: dict[str, int]
    recent: list[tuple[float, dict[str, int]]]
    shrunk_s: dict[str, float]
    """Pool -> when it shrank last."""
    regret: dict[str, float]
    """Pool -> how many times longer it waits since it grew again soon after a shrink."""


@dataclass(frozen=True, kw_only=True)
class Hysteresis(LetsThePolicySpeak):
    """A worker that is not needed stays for as long as it costs to let it go and start it anew, then goes.

    That is `patience` times the measured time to grow, to shrink, and of two batches, in which a change shows. Who
    waits as long as the price of a change never pays more than twice what one who knew the future would. A pool that
    grows again soon after it shrank waits twice as long from then on, until that has not happened for a while. Growth
    is never delayed.
    """

    patience: float = 2.0

    def __post_init__(self) -> None:
        require("hysteresis", self.patience > 0, f"patience is {self.patience:g}; it must be more than 0")

    def start(self) -> Calm:
        """Nothing was proposed yet."""
        return {"seen_s": None, "since_s": 0.0, "wanted": {}, "recent": [], "shrunk_s": {}, "regret": {}}

    def learn(self, memory: Calm, now: Observation, last: Decision | None) -> Calm:
        """Remember what was proposed on the look before, and whether a shrink was regretted."""
        recent = [entry for entry in memory["recent"] if entry[0] >= now.at_s - _MOST_S]
        # A hold proposes nothing. A list, because JSON knows no tuples.
        if last is not None and last.kind != "hold" and last.made_s is not None and memory["seen_s"] is not None:
            recent.append([memory["seen_s"], last.after("over-provision")])  # type: ignore[arg-type]
        shrunk_s, regret = dict(memory["shrunk_s"]), dict(memory["regret"])
        for pool in now.pools:
            before = memory["wanted"].get(pool.name, pool.wanted)
            if pool.wanted < before:
                shrunk_s[pool.name] = now.at_s
            elif pool.name in shrunk_s:
                self._judge(pool, before, now.at_s - shrunk_s[pool.name], shrunk_s, regret)
        return {
            "seen_s": now.at_s,
            "since_s": now.at_s if memory["seen_s"] is None else memory["since_s"],
            "wanted": now.wanted(),
            "recent": _thinned(recent),
            "shrunk_s": shrunk_s,
            "regret": regret,
        }

    def _judge(
        self, pool: Pool, before: int, since_s: float, shrunk_s: dict[str, float], regret: dict[str, float]
    ) -> None:
        """A shrink that was followed by a growth was in vain; one that lasted makes up for an earlier one."""
        factor = regret.get(pool.name, 1.0)
        lasts_s = 4 * self.patience * (_GROW_S + _SHRINK_S) * factor
        if pool.wanted > before and since_s < lasts_s:
            regret[pool.name] = min(_MOST_REGRET, 2 * factor)
            del shrunk_s[pool.name]
        elif since_s >= 4 * lasts_s:
            regret[pool.name] = max(1.0, factor / 2)
            del shrunk_s[pool.name]

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: Calm) -> Decision:
        """A shrink goes no further than the largest proposal of the time it has to wait."""
        if decision.kind != "set":
            return decision
        for pool in now.pools:
            proposed = decision.allocation[pool.name]
            if proposed >= pool.wanted:
                continue
            wait_s = self._wait_s(pool, now, known, memory)
            within = [
                sizes[pool.name] for at_s, sizes in memory["recent"] if at_s >= now.at_s - wait_s and pool.name in sizes
            ]
            largest = max([proposed, *within])
            has_watched = now.at_s - memory["since_s"] >= wait_s
            if not has_watched or largest > proposed:
                allowed = min(pool.wanted, largest) if has_watched else pool.wanted
                reason = f"up to {largest} were needed within {wait_s:.0f} s, which a change has to be worth"
                decision = decision.adjusted("hysteresis", {**decision.allocation, pool.name: allowed}, reason)
        return decision

    def _wait_s(self, pool: Pool, now: Observation, known: Knowledge, memory: Calm) -> float:
        grow_s, shrink_s = known.grow_s(pool.name), known.shrink_s(pool.name)
        change_s = (_GROW_S if grow_s is None else grow_s) + (_SHRINK_S if shrink_s is None else shrink_s)
        batch_s = max(map(_batch_s, now.queries), default=0.0)
        return min(_MOST_S, self.patience * memory["regret"].get(pool.name, 1.0) * (change_s + 2 * batch_s))


def _batch_s(query: Query) -> float:
    if query.phase == "terminated":
        return 0.0
    return max(query.trigger.interval_s or 0.0, query.finished.duration_s if query.finished else 0.0)


def _thinned(recent: list[tuple[float, dict[str, int]]]) -> list[tuple[float, dict[str, int]]]:
    """Of equal proposals one after the other, the first and the last say it all."""
    found: list[tuple[float, dict[str, int]]] = []
    for entry in recent:
        if len(found) >= 2 and found[-1][1] == entry[1] == found[-2][1]:
            found[-1] = entry
        else:
            found.append(entry)
    return found[-512:]
