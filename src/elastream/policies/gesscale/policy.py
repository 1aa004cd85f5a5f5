"""Gesscale (Arkian, Pierre, Tordsson, Elmroth: Model-based stream processing auto-scaling in geo-distributed
environments, ICCCN 2021).

The most that n workers can take in is alpha n^beta - gamma ND_max, where ND_max is the greatest network delay between
two of them. The model is calibrated while running, from minutes in which the operator could take in no more: one such
measurement gives alpha, two give gamma, three or more give all (section IV-C). An overloaded operator gets one worker
more, the nearest one, because nobody knows how much would come if it could; it gives up as many as it can, the farthest
first, when its throughput has dropped far enough below the maximum (Algorithms 1 to 4).

Algorithm 4 as printed would hardly ever remove a worker; what the text says is built: as many as possible while the
maximum stays at or above the throughput. The document has no value for the drop threshold; the default is that of its
public code. It has none for the least and the most workers either: they are the bounds of the pool. That code has 2
and 6, waits 300 s after every change, wants to see an overload twice, and goes down only until the throughput is no
longer that far below the maximum, as Algorithm 4 has it too: the preset `gesscale-code`.

Like the original it cannot tell catching up from being too small, so it grows through both, and it cannot shrink
before it was overloaded once. Where the place of workers is not known, as on Spark, all delays count as zero and the
platform chooses who leaves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Pool
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.estimators.capacity import CapacityModel, Saturated, power_law
from elastream.policies.catalogue import policies
from elastream.policies.gesscale.monitor import CapacityMark, Minute, Rule, continues, mark, minute, running_in
from elastream.policies.gesscale.nodes import NodePlaces, places
from elastream.registry import setting

# Sizes times sets of nodes that one pool is seen overloaded at; a bound on memory, not on the model.
_KEPT_MEASUREMENTS = 24


class PoolMemory(TypedDict):
    """What is remembered of one pool."""

    since: CapacityMark | None
    """Where the present minute began."""
    steady_s: float | None
    """Since when the workers are the same."""
    minute: Minute | None
    """What the last minute has shown; None if there was none with these workers."""
    missing: str
    """Why there is no minute."""
    overloads: int
    """Minutes in a row that were overloaded."""
    measured: list[list[float]]
    """Workers, records per second and greatest delay, one for each configuration, the newest last."""


Memory = dict[str, PoolMemory]


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What one pool should have."""

    workers: int
    sentence: str
    is_known: bool = True
    add_on: tuple[str, ...] = ()
    leave_first: tuple[str, ...] = ()
    evidence: dict[str, Json] = field(default_factory=dict)


@policies.register("gesscale")
@dataclass(frozen=True, kw_only=True)
class Gesscale:
    """Model-based scaling that knows the network delay between workers (Gesscale, ICCCN 2021)."""

    drop: float = setting(0.3, doc="shrink when throughput is this share below the maximum; the public code's value")
    shrink_to: Literal["throughput", "threshold"] = setting(
        "throughput", doc="the fewest workers that can take in what comes, or the first within the drop threshold"
    )
    least: int | None = setting(None, doc="never shrinks below so many workers; without it, the least of the pool")
    most: int | None = setting(None, doc="never grows above so many workers; without it, the most of the pool")
    backpressure: float = setting(0.5, doc="an operator is held up above this share of its time")
    waiting_s: float = setting(5.0, doc="a log is held up by records of more than this time, or of a trigger interval")
    overloads: int = setting(1, doc="grow after so many overloaded minutes in a row")
    warm_up_s: float = setting(0.0, doc="time after a change in which nothing is measured")
    window_s: float = setting(60.0, doc="throughput and back-pressure are taken over this time")
    interval_s: float = setting(60.0, doc="how often to decide")
    needs: ClassVar[tuple[Need, ...]] = (
        Need(Signal.BACKPRESSURE_TIME, stand_ins=(Signal.ARRIVED,)),
        Need(Signal.COMMITTED),
    )
    uses: ClassVar[tuple[Signal, ...]] = (Signal.WORKER_PLACE, Signal.WORKER_CHOICE, Signal.PLACE_CHOICE)
    """What it can do without, and does better with."""

    def __post_init__(self) -> None:
        if self.least is not None and self.least < 1:
            raise BadInput(f"policy gesscale: least {self.least} must be at least 1")
        if self.most is not None and self.most < (self.least or 1):
            raise BadInput(f"policy gesscale: most {self.most} must be at least 1 and not below least")
        if not 0 <= self.drop < 1:
            raise BadInput(f"policy gesscale: drop {self.drop:g} must be at least 0 and below 1")

    def start(self) -> Memory:
        """No minute was seen."""
        return {}

    def learn(self, memory: Memory, now: Observation, last: Decision | None) -> Memory:
        """Monitor, and calibrate: every pool by itself, because every operator is scaled by itself (section IV-A)."""
        return {pool.name: self._watched(memory.get(pool.name) or _nothing(), pool, now) for pool in now.pools}

    def decide(self, now: Observation, known: Knowledge, memory: Memory) -> Decision:
        """Plan, every pool by itself."""
        plans = {pool.name: self._plan(pool, memory.get(pool.name) or _nothing(), now) for pool in now.pools}
        allocation = {name: plan.workers for name, plan in plans.items()}
        reason = "; ".join(plan.sentence for plan in plans.values()) or "there is no pool"
        evidence = {f"{key}/{name}": value for name, plan in plans.items() for key, value in plan.evidence.items()}
        if allocation == now.wanted():
            if all(plan.is_known for plan in plans.values()):
                return Decision.keep(now, reason, evidence)
            return Decision.hold(now, reason, evidence)
        return Decision(
            allocation=allocation,
            reason=reason,
            evidence=evidence,
            add_on=tuple(node for plan in plans.values() for node in plan.add_on),
            leave_first=tuple(worker for plan in plans.values() for worker in plan.leave_first),
        )

    def model(self, measured: list[Saturated]) -> CapacityModel | None:
        """Equations 1 to 3, by the number of measurements; None without one."""
        return power_law(measured)

    def places(self, pool: Pool, now: Observation) -> NodePlaces | None:
        """Where workers are, if that is known."""
        return places(pool, now)

    def _watched(self, before: PoolMemory, pool: Pool, now: Observation) -> PoolMemory:
        """The memory of a pool after one more look."""
        seen = mark(pool, now)
        if isinstance(seen, str):
            return {**before, "since": None, "steady_s": None, "minute": None, "missing": seen, "overloads": 0}
        since, steady_s = before["since"], before["steady_s"]
        if since is None or steady_s is None or not continues(since, seen):
            missing = f"the workers of {pool.name} have not been the same for {self.window_s:g} s yet"
            fresh: PoolMemory = {**_nothing(), "since": seen, "steady_s": now.at_s, "missing": missing}
            return {**fresh, "measured": before["measured"]}
        if before["minute"] is None and now.at_s - steady_s < self.warm_up_s:
            return {**before, "since": seen}
        if now.at_s - since["at_s"] < self.window_s - 1e-6:
            return before
        found = minute(since, seen, pool, now, Rule(self.backpressure, self.waiting_s))
        if found is None:
            return before
        overloads = before["overloads"] + 1 if found["overloaded"] else 0
        measured = self._measured(before["measured"], found, pool, now)
        return {**before, "since": seen, "minute": found, "overloads": overloads, "measured": measured}

    def _measured(self, measured: list[list[float]], found: Minute, pool: Pool, now: Observation) -> list[list[float]]:
        """Algorithm 1, line 10: what an overloaded operator takes in is its maximum. The newest of each counts."""
        if not found["overloaded"] or not found["rps"]:
            return measured
        where = self.places(pool, now)
        new = [float(pool.wanted), found["rps"], where.max_delay_ms if where else 0.0]
        others = [old for old in measured if (old[0], old[2]) != (new[0], new[2])]
        return [*others[1 - _KEPT_MEASUREMENTS :], new]

    def _plan(self, pool: Pool, memory: PoolMemory, now: Observation) -> Planned:
        if not running_in(pool, now):
            # What a query consists of is known once it has begun a batch.
            live = [query for query in now.queries if query.phase != "terminated"]
            if begins := [query.name for query in live if not query.topology.operators]:
                return Planned(workers=pool.wanted, sentence=f"operators of {begins[0]} are not known", is_known=False)
            return Planned(workers=pool.wanted, sentence=f"no query runs in {pool.name}")
        if not _is_parallel(pool, now):
            return Planned(workers=pool.wanted, sentence=f"more workers would not make {pool.name} faster")
        shown = memory["minute"]
        if shown is None:
            return self._unmoved(pool, memory, now)
        if shown["overloaded"]:
            return self._grown(pool, memory, shown, now)
        return self._shrunk(pool, memory, shown, now)

    def _unmoved(self, pool: Pool, memory: PoolMemory, now: Observation) -> Planned:
        """Without a minute seen: either by rule, or because something is not known."""
        if memory["steady_s"] is not None and now.at_s - memory["steady_s"] < self.warm_up_s:
            left_s = self.warm_up_s - (now.at_s - memory["steady_s"])
            return Planned(workers=pool.wanted, sentence=f"{pool.name} warms up for {left_s:.0f} s more")
        return Planned(workers=pool.wanted, sentence=memory["missing"], is_known=False)

    def _grown(self, pool: Pool, memory: PoolMemory, shown: Minute, now: Observation) -> Planned:
        """Algorithm 3: one worker more."""
        evidence: dict[str, Json] = {"throughput_rps": shown["rps"], "overloads": memory["overloads"]}
        because = f"{pool.name} is overloaded: {shown['overloaded']}"
        if memory["overloads"] < self.overloads:
            sentence = f"{because}, {memory['overloads']} of {self.overloads} minutes"
            return Planned(workers=pool.wanted, sentence=sentence, evidence=evidence)
        most = pool.max_workers if self.most is None else self.most
        if pool.wanted + 1 > most:
            sentence = f"{because}, and has the most workers it may have, {most}"
            return Planned(workers=pool.wanted, sentence=sentence, evidence=evidence)
        where = self.places(pool, now)
        node = where.nearest() if where else None
        return Planned(
            workers=pool.wanted + 1,
            sentence=f"{because}: one worker more{f', on {node}' if node else ''}",
            add_on=(node,) if node else (),
            evidence=evidence,
        )

    def _shrunk(self, pool: Pool, memory: PoolMemory, shown: Minute, now: Observation) -> Planned:
        """Algorithms 2 and 4: as many workers fewer as the model allows."""
        throughput, where = shown["rps"] or 0.0, self.places(pool, now)
        model = self.model([Saturated(*point) for point in memory["measured"]])
        if model is None:
            sentence = f"{pool.name} takes in {throughput:,.0f}/s and was never overloaded: its maximum is not known"
            return Planned(workers=pool.wanted, sentence=sentence, evidence={"throughput_rps": throughput})
        maximum = model.rps(pool.wanted, where.max_delay_ms if where else 0.0)
        below = (maximum - throughput) / maximum if maximum > 0 else 0.0
        about = f"{pool.name} takes in {throughput:,.0f}/s of at most {maximum:,.0f}/s, {below:.0%} below"
        evidence: dict[str, Json] = {
            "throughput_rps": throughput,
            "maximum_rps": maximum,
            "max_delay_ms": where.max_delay_ms if where else None,
            "measurements": len(memory["measured"]),
        }
        if below <= self.drop:
            return Planned(workers=pool.wanted, sentence=f"{about}, the threshold {self.drop:.0%}", evidence=evidence)
        workers, gone = self._fewest(pool, throughput, model, where)
        sentence = f"{about}: {workers} workers are enough{f', without {_list(gone)}' if gone else ''}"
        return Planned(workers=workers, sentence=sentence, leave_first=gone, evidence=evidence)

    def _fewest(
        self, pool: Pool, throughput: float, model: CapacityModel, where: NodePlaces | None
    ) -> tuple[int, tuple[str, ...]]:
        """Remove one after the other while the maximum of the rest stays at or above the throughput."""
        gone: tuple[str, ...] = ()
        workers, least = pool.wanted, max(1, pool.min_workers) if self.least is None else self.least
        while workers > least:
            maximum = model.rps(workers, where.max_delay_ms if where else 0.0)
            if self.shrink_to == "threshold" and maximum - throughput <= self.drop * maximum:
                break
            leaver = where.farthest() if where else None
            rest = where.without(leaver) if where and leaver else None
            if model.rps(workers - 1, rest.max_delay_ms if rest else 0.0) < throughput:
                break
            workers, where = workers - 1, rest
            gone += (leaver,) if leaver else ()
        return workers, gone


def _nothing() -> PoolMemory:
    return PoolMemory(
        since=None, steady_s=None, minute=None, missing="nothing was seen yet", overloads=0, measured=[]
    )  # fmt: skip


def _is_parallel(pool: Pool, now: Observation) -> bool:
    """Whether the pool runs anything that more slots make faster."""
    return any(
        operator.parallel
        for query in running_in(pool, now)
        for operator in query.topology.operators
        if operator.pool == pool.name
    )


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names)


policies.preset(
    "gesscale-code",
    of="gesscale",
    doc="Gesscale as its public code runs: 2 to 6 workers, 300 s after a change, overload twice, keeps room shrinking",
    shrink_to="threshold",
    least=2,
    most=6,
    overloads=2,
    warm_up_s=300.0,
)

_: type[Policy[Memory]] = Gesscale
