"""Return to the size before a change that made things worse, or that did not help."""

from dataclasses import dataclass
from typing import TypedDict

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import LetsThePolicySpeak


class Look(TypedDict):
    """What is compared: totals over all queries, and the worst delay if one is known."""

    at_s: float
    arrived: float
    committed: float
    delay_s: float | None


class Change(TypedDict):
    """A change under watch, and how things were before it."""

    at_s: float
    before: dict[str, int]
    after: dict[str, int]
    load_rps: float
    growth_rps: float
    delay_s: float | None


class Bad(TypedDict):
    """A size that was rolled back, at which load, and until when it is remembered."""

    allocation: dict[str, int]
    load_rps: float
    until_s: float


class RollBackWatch(TypedDict):
    """Recent looks, the change under watch, and sizes known as bad."""

    looks: list[Look]
    allocation: dict[str, int] | None
    change: Change | None
    bad: list[Bad]


@dataclass(frozen=True, kw_only=True)
class RollBack(LetsThePolicySpeak):
    """Off unless configured. Compares `settle_s` after a change, at a load within `same_load` of the one before.

    A shrink is taken back if the backlog grows and the delay is `harm` times worse. A growth is taken back if neither
    the delay nor the growth of the backlog fell, but never while the backlog grows: then fewer workers cannot be right.
    A size that was taken back is not tried again at that load for `remember_s`.
    """

    settle_s: float = 120.0
    same_load: float = 0.1
    harm: float = 1.5
    remember_s: float = 1800.0

    def start(self) -> RollBackWatch:
        """Nothing is under watch."""
        return {"looks": [], "allocation": None, "change": None, "bad": []}

    def learn(self, memory: RollBackWatch, now: Observation, last: Decision | None) -> RollBackWatch:
        """Follow the load, and put a change under watch when it is made."""
        looks = [look for look in memory["looks"] if look["at_s"] >= now.at_s - self.settle_s]
        bad = [entry for entry in memory["bad"] if entry["until_s"] > now.at_s]
        # What is wanted, not what was decided: a change that could not be applied changed nothing.
        allocation = now.wanted()
        change, before = memory["change"], memory["allocation"]
        if before is not None and allocation != before:
            if change is not None and allocation == _taken_back(change):
                until_s = now.at_s + self.remember_s
                bad.append({"allocation": change["after"], "load_rps": change["load_rps"], "until_s": until_s})
                change = None
            else:
                change = self._watched(now.at_s, before, allocation, looks)
        elif change is not None and now.at_s > change["at_s"] + 2 * self.settle_s:
            change = None
        look = _look(now)
        return {
            "looks": [*looks, look] if look else looks,
            "allocation": allocation,
            "change": change,
            "bad": bad[-16:],
        }

    def adjust(self, decision: Decision, now: Observation, known: Knowledge, memory: RollBackWatch) -> Decision:
        """Take back a change that turned out badly, and do not repeat one."""
        if decision.kind == "hold":
            return decision
        change, verdict = memory["change"], self._verdict(now, memory)
        # A pool that came or went since then makes the sizes of two sets of pools, which cannot be compared.
        if change is not None and verdict is not None and change["before"].keys() == now.wanted().keys():
            return decision.adjusted("roll-back", _taken_back(change), verdict)
        rates = _rates(memory["looks"])
        if rates is None or decision.allocation == now.wanted():
            return decision
        for bad in memory["bad"]:
            if bad["allocation"] == decision.allocation and self._is_same(rates[0], bad["load_rps"]):
                return decision.adjusted("roll-back", now.wanted(), "this size was taken back before, at this load")
        return decision

    def _is_same(self, load_rps: float, before_rps: float) -> bool:
        return abs(load_rps - before_rps) <= self.same_load * before_rps

    def _watched(self, now_s: float, before: dict[str, int], after: dict[str, int], looks: list[Look]) -> Change | None:
        rates = _rates(looks)
        if rates is None:
            return None
        load, growth, delay = rates
        return {
            "at_s": now_s, "before": before, "after": after,
            "load_rps": load, "growth_rps": growth, "delay_s": delay,
        }  # fmt: skip

    def _verdict(self, now: Observation, memory: RollBackWatch) -> str | None:
        change = memory["change"]
        if change is None or now.at_s < change["at_s"] + self.settle_s or any(pool.in_flux for pool in now.pools):
            return None
        rates = _rates([look for look in memory["looks"] if look["at_s"] >= change["at_s"] + self.settle_s / 2])
        if rates is None:
            return None
        load, growth, delay = rates
        before_s = change["delay_s"]
        if not self._is_same(load, change["load_rps"]) or delay is None or before_s is None:
            return None
        # A backlog goes up and down with every batch; less than this is no growth.
        grows = growth > 0.02 * load
        if _shrinks(change):
            if grows and delay > self.harm * before_s:
                return f"at equal load the backlog grows by {growth:.0f}/s and the delay went to {delay:.1f} s"
        elif not grows and growth >= change["growth_rps"] and delay >= before_s:
            return f"at equal load the larger size did not help: delay {before_s:.1f} s, then {delay:.1f} s"
        return None


def _shrinks(change: Change) -> bool:
    return sum(change["after"].values()) < sum(change["before"].values())


def _taken_back(change: Change) -> dict[str, int]:
    """The size before; after a shrink, no pool that grew meanwhile is made smaller by it."""
    if not _shrinks(change):
        return change["before"]
    return {pool: max(workers, change["after"].get(pool, 0)) for pool, workers in change["before"].items()}


def _look(now: Observation) -> Look | None:
    arrived = committed = 0.0
    delay: float | None = None
    for query in now.queries:
        for source in query.sources:
            if source.arrived is None or source.committed is None:
                return None
            arrived += source.arrived.value
            committed += source.committed.value
        if query.delay is not None:
            delay = max(delay or 0.0, query.delay.p95_s)
    return {"at_s": now.at_s, "arrived": arrived, "committed": committed, "delay_s": delay}


def _rates(looks: list[Look]) -> tuple[float, float, float | None] | None:
    """Load, growth of the backlog (both per second) and delay over some looks."""
    if len(looks) < 2 or looks[-1]["at_s"] <= looks[0]["at_s"]:
        return None
    first, last = looks[0], looks[-1]
    elapsed_s = last["at_s"] - first["at_s"]
    load = (last["arrived"] - first["arrived"]) / elapsed_s
    return load, load - (last["committed"] - first["committed"]) / elapsed_s, last["delay_s"]
