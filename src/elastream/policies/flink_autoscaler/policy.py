"""Flink's autoscaler (flink-autoscaler of the Flink Kubernetes operator, FLIP-271): DS2 as production made it.

From DS2 it has true processing rates and one walk through the graph. What it adds: a target utilisation with a band
around it, capacity to catch up with a lag and with what a restart adds to it, an observed true rate where busy time
flatters, shrinking that is delayed and merged, parallelism that spreads partitions and key groups well, and a watch
for growth that brings nothing. Formulas stand in `formulas`, with its defaults here.

Where this departs from it:

- Busy time is a mean over instances; the original takes the busiest.
- Operators that share a pool are one vertex whose times add up, and no partitions are aligned there. On Spark, stages
  take turns; in Flink, tasks share a slot and run at once.
- A lag is what a query is behind: with micro-batches, what one batch leaves for the next does not count.
- Without COMMITTED nothing is known of a lag, and it counts as none.
- Its observed scalability, memory tuning and quotas are left out; excluded periods are the guard `quiet_hours`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypedDict

from elastream.core.decision import Decision, Json
from elastream.core.errors import BadInput
from elastream.core.knowledge import Knowledge
from elastream.core.needs import Need
from elastream.core.observation import Observation, Query
from elastream.core.protocols import Policy
from elastream.core.signals import Signal
from elastream.core.topology import Operator
from elastream.estimators.left_behind import Behind, records_behind, watched
from elastream.policies.catalogue import policies
from elastream.policies.ds2.sizing import has_own_pools
from elastream.policies.flink_autoscaler.formulas import Alignment, Terms, Wanted, aligned, gained, scale_factor, scaled
from elastream.policies.flink_autoscaler.observed_rate import Lagging, ObservedRate
from elastream.policies.flink_autoscaler.vertices import Rates, Vertex, VertexPart, slot_rps, wanted_rates
from elastream.registry import setting

# A restart that was measured counts for this much at most.
_LONGEST_RESTART_S = 900.0
# A reason is read by a person: of a large graph only some vertices are named.
_NAMED = 4


class Growth(TypedDict):
    """A pool that was made larger, and what it could do before."""

    before: int
    after: int
    before_rps: float


class Pending(TypedDict):
    """Recommendations to shrink a pool, that wait."""

    since_s: float
    sizes: list[list[float]]
    """Time and size, the largest first: what was followed by a larger one will never be the largest."""


class FlinkAutoscalerMemory(TypedDict):
    """What is remembered."""

    since_s: float | None
    """When sizes changed last, or a query came up."""
    wanted: dict[str, int]
    made_s: float | None
    """Of the last decision that was taken in."""
    behind: dict[str, Behind]
    lagging: Lagging
    pending: dict[str, Pending]
    true_rps: dict[str, float]
    growth: dict[str, Growth]


@policies.register("flink-autoscaler")
@dataclass(frozen=True, kw_only=True)
class FlinkAutoscaler:
    """True processing rates, a band of utilisation, and capacity to catch up with lag and restarts."""

    interval_s: float = setting(10.0, doc="how often to decide")
    window_s: float = setting(900.0, doc="metrics.window: rates are means over it")
    stabilization_s: float = setting(300.0, doc="stabilization.interval: metrics so soon after a change are not used")
    target: float = setting(0.7, doc="utilization.target")
    high: float | None = setting(None, doc="utilization.max; without it, target + 0.3")
    low: float | None = setting(None, doc="utilization.min; without it, target - 0.3")
    catch_up_s: float = setting(1800.0, doc="catch-up.duration: a lag should be gone after it; 0 does not catch up")
    restart_s: float = setting(300.0, doc="restart.time: how long a change stops the query")
    track_restart: bool = setting(False, doc="restart.time-tracking: use the longest change seen instead")
    backlog_s: float = setting(300.0, doc="backlog-processing.lag-threshold: beyond it, the band is wide open")
    observed_lag_s: float = setting(30.0, doc="with a lag like this the rate of a source shows what it can do")
    observed_switch: float = setting(0.15, doc="busy time is not believed if it promises so much more than that")
    observed_least: int = setting(2, doc="observations of a source's rate before it is used")
    scale_down_s: float = setting(3600.0, doc="scale-down.interval: the largest recommendation of it is applied")
    max_down: float = setting(0.6, doc="scale-down.max-factor")
    max_up: float = setting(100000.0, doc="scale-up.max-factor")
    least: int = setting(1, doc="vertex.min-parallelism")
    most: int = setting(200, doc="vertex.max-parallelism")
    alignment: Alignment = setting("balanced", doc="parallelism-alignment.mode: balanced, evenly_spread or off")
    key_groups: int = setting(128, doc="key groups of stateful operators whose partitions are not known")
    block_ineffective: bool = setting(False, doc="do not grow again what grew in vain; else it is only told")
    effective: float = setting(0.1, doc="a growth that brings less than this share of what was expected was in vain")
    needs: ClassVar[tuple[Need, ...]] = (Need(Signal.ARRIVED), Need(Signal.RECORDS_IN), Need(Signal.BUSY_TIME))
    damped: ClassVar[bool] = True
    """It waits by itself before it changes again: no guard has to."""

    def __post_init__(self) -> None:
        low, high = self._limits(lags=False)
        if not (0 < self.target <= 1 and low <= self.target <= high):
            raise BadInput(
                f"policy flink-autoscaler: utilisation low {low:g}, target {self.target:g}, high {high:g}; "
                "they must rise, with a target above 0 and at most 1"
            )

    def start(self) -> FlinkAutoscalerMemory:
        """Nothing was seen."""
        return {
            "since_s": None, "wanted": {}, "made_s": None, "behind": {}, "lagging": {}, "pending": {}, "true_rps": {},
            "growth": {},
        }  # fmt: skip

    def learn(self, memory: FlinkAutoscalerMemory, now: Observation, last: Decision | None) -> FlinkAutoscalerMemory:
        """Notice changes and lags, and keep what was recommended."""
        after = self._recommended(memory, last)
        wanted = now.wanted()
        behind = {query.id: watched(memory["behind"].get(query.id), query) for query in now.queries}
        after["behind"], after["lagging"] = (
            behind,
            self._observed.lagging(memory["lagging"], memory["behind"], behind, now),
        )
        is_down = any(query.phase in ("starting", "restarting") for query in now.queries)
        if wanted != memory["wanted"]:
            after["growth"] = _growth(after, wanted)
            # Any change that is carried out begins the delay of shrinking anew.
            after["wanted"], after["pending"] = wanted, {}
            after["since_s"] = now.at_s
        elif is_down or after["since_s"] is None:
            after["since_s"] = now.at_s
        return after

    def decide(self, now: Observation, known: Knowledge, memory: FlinkAutoscalerMemory) -> Decision:
        """Evaluate every vertex, and change all that should change if one of them has left its band."""
        seen_s = 0.0 if memory["since_s"] is None else now.at_s - memory["since_s"]
        measured_s = seen_s - self.stabilization_s
        # Before the window is full, what there is serves for telling only.
        window_s = min(self.window_s, max(measured_s, 1e-3) if measured_s > 0 else max(seen_s, 1e-3))
        terms = self._terms(known)
        vertices = self._vertices(now, known, memory, window_s, terms)
        if not any(_is_sized(vertex) for vertex in vertices):
            return Decision.hold(now, _sentence(vertices) or "no query runs")
        sizes = {vertex.pool.name: self._size(vertex, terms, now) for vertex in vertices if _is_sized(vertex)}
        is_full = measured_s >= self.window_s - 1e-6
        evidence = _evidence(vertices, sizes, is_full)
        if not is_full:
            minutes = max(0.0, measured_s) / 60
            return Decision.keep(
                now, f"{minutes:.0f} of {self.window_s / 60:.0f} min measured since the last change", evidence, evidence
            )
        return self._decided(vertices, sizes, now, memory, terms, evidence)

    def _decided(
        self,
        vertices: list[Vertex],
        sizes: Mapping[str, int],
        now: Observation,
        memory: FlinkAutoscalerMemory,
        terms: Terms,
        evidence: Mapping[str, Json],
    ) -> Decision:
        notes, allocation, is_needed = [], now.wanted(), False
        waiting: dict[str, int] = {}
        for vertex in (vertex for vertex in vertices if vertex.pool.name in sizes):
            name, size = vertex.pool.name, sizes[vertex.pool.name]
            if size < vertex.pool.wanted:
                pending = self._pending(memory["pending"].get(name), now.at_s, size)
                size = int(pending["sizes"][0][1])
                left_s = pending["since_s"] + self.scale_down_s - now.at_s
                if left_s > 1e-6:
                    waiting[name] = size
                    notes.append(f"{name} may shrink to {size} in {left_s / 60:.0f} min")
                    continue
            elif size > vertex.pool.wanted and self._is_in_vain(memory["growth"].get(name), vertex):
                notes.append(f"{name} grew in vain the last time")
                if self.block_ineffective:
                    continue
            allocation[name] = size
            if size != vertex.pool.wanted and vertex.is_outside(*self._limits(lags=vertex.lags), terms):
                is_needed = True
        sentence = "; ".join([_sentence(vertices), *notes])
        if not is_needed:
            return Decision.keep(now, f"within the band, or waiting: {sentence}", evidence, evidence)
        if any(allocation[pool.name] > pool.wanted for pool in now.pools):
            # The query restarts anyhow: what waits to be shrunk is taken along.
            allocation |= waiting
        return Decision(allocation=allocation, reason=sentence, evidence=evidence, note=evidence)

    def _pending(self, before: Pending | None, at_s: float, size: int) -> Pending:
        """What waits, after one more recommendation to shrink."""
        if before is None:
            return {"since_s": at_s, "sizes": [[at_s, float(size)]]}
        kept = [
            [seen_s, other] for seen_s, other in before["sizes"] if seen_s >= at_s - self.scale_down_s and other > size
        ]
        return {"since_s": before["since_s"], "sizes": [*kept, [at_s, float(size)]]}

    def _is_in_vain(self, grown: Growth | None, vertex: Vertex) -> bool:
        """Whether the last growth of a vertex brought hardly anything of what it should have."""
        rate = vertex.true_rps()
        if grown is None or rate is None or grown["after"] != vertex.pool.wanted:
            return False
        expected = grown["before_rps"] / grown["before"] * grown["after"]
        return gained(grown["before_rps"], rate, expected) < self.effective

    def _size(self, vertex: Vertex, terms: Terms, now: Observation) -> int:
        """Workers for a vertex, were there no delay."""
        current, pool = vertex.slots, vertex.pool
        use = vertex.use(self.target, terms, with_restart=True)
        factor = scale_factor(use, 1.0, self.max_down, self.max_up)
        most = min(self.most, pool.max_workers * pool.slots_per_worker)
        parallelism = scaled(current, factor, self.least, most)
        if len(vertex.parts) == 1:
            partitions = self._partitions(vertex, now)
            parallelism = aligned(parallelism, current, partitions, max(current, most), self.alignment)
        return max(1, pool.workers_for(parallelism))

    def _partitions(self, vertex: Vertex, now: Observation) -> int | None:
        """What is spread over the instances of an operator that reads a source or keeps state; else None."""
        name = vertex.parts[0].name
        for query in now.queries:
            for operator in query.topology.operators:
                if operator.pool == vertex.pool.name and operator.name == name:
                    return self._spread(query, operator)
        return None

    def _spread(self, query: Query, operator: Operator) -> int | None:
        readers = query.topology.sources()
        if operator in readers:
            named = operator.reads or ((operator.name,) if len(readers) > 1 else [one.name for one in query.sources])
            own = [source for source in query.sources if source.name in named]
            if len(own) > 1 and operator.partitions:
                # On Spark one stage reads them all, and each says how many tasks that has.
                return operator.partitions
            counts = [source.partitions for source in own if source.partitions]
            return sum(counts) or operator.partitions
        return (operator.partitions or self.key_groups) if operator.stateful else None

    def _vertices(
        self, now: Observation, known: Knowledge, memory: FlinkAutoscalerMemory, window_s: float, terms: Terms
    ) -> list[Vertex]:
        vertices = {pool.name: Vertex(pool) for pool in now.pools}
        for query in now.queries:
            if query.phase == "terminated":
                continue
            behind = records_behind(memory["behind"][query.id], query) if query.id in memory["behind"] else None
            evaluated = wanted_rates(query, known, window_s, behind or 0.0, terms)
            if isinstance(evaluated, str) or not query.topology.operators:
                for name in {operator.pool for operator in query.topology.operators} or set(vertices):
                    if name in vertices:
                        vertices[name].unknown = str(evaluated)
                continue
            wanted, rates = evaluated
            total = sum(wanted[reader.name].target_rps for reader in query.topology.sources())
            lags = behind is not None and total > 0 and behind / total > self.backlog_s
            flattery, own = self._observed.flattery(query, known, memory["lagging"], rates, now), has_own_pools(now)
            for operator in query.topology.operators:
                vertex = vertices.get(operator.pool)
                if vertex is not None:
                    _add(vertex, operator, wanted[operator.name], rates[operator.name], flattery, own=own)
                    vertex.lags = vertex.lags or lags
        return list(vertices.values())

    def _recommended(self, memory: FlinkAutoscalerMemory, last: Decision | None) -> FlinkAutoscalerMemory:
        """Take in what the last decision recommended, once."""
        after: FlinkAutoscalerMemory = {**memory}
        if last is None or last.made_s is None or last.made_s == memory["made_s"]:
            return after
        after["made_s"] = last.made_s
        sizes, rates = last.note.get("recommended"), last.note.get("true_rps")
        if not isinstance(sizes, dict) or not isinstance(rates, dict) or not last.note.get("is_full"):
            return after
        after["true_rps"] = dict(rates)
        after["pending"] = {
            pool: self._pending(memory["pending"].get(pool), last.made_s, size)
            for pool, size in sizes.items()
            if size < memory["wanted"].get(pool, 0)
        }
        return after

    @property
    def _observed(self) -> ObservedRate:
        return ObservedRate(
            lag_s=self.observed_lag_s, switch=self.observed_switch, least=self.observed_least, window_s=self.window_s
        )

    def _limits(self, *, lags: bool) -> tuple[float, float]:
        if lags:
            return 0.0, 1.0
        low = self.target - 0.3 if self.low is None else self.low
        return max(0.0, low), self.target + 0.3 if self.high is None else self.high

    def _terms(self, known: Knowledge) -> Terms:
        took = [action.took_s for action in known.actions if action.took_s is not None]
        tracked = self.track_restart and took
        return Terms(
            catch_up_s=self.catch_up_s,
            restart_s=min(_LONGEST_RESTART_S, max(took)) if tracked else self.restart_s,
        )


def _add(
    vertex: Vertex, operator: Operator, wanted: Wanted, rates: Rates, flattery: Mapping[str, float], *, own: bool
) -> None:
    if own and not operator.parallel:
        vertex.left = f"{operator.name} is not data-parallel and keeps its size"
        return
    rate = slot_rps(rates)
    if rate is None:
        vertex.unknown = f"{operator.name} keeps its size: it took records in, but no busy time was measured"
        return
    vertex.parts.append(VertexPart(operator.name, wanted, rate / flattery.get(operator.name, 1.0)))


def _is_sized(vertex: Vertex) -> bool:
    return bool(vertex.parts) and vertex.unknown is None and vertex.left is None


def _growth(memory: FlinkAutoscalerMemory, wanted: Mapping[str, int]) -> dict[str, Growth]:
    """What is remembered of pools that grew, after another change."""
    growth = {name: grown for name, grown in memory["growth"].items() if wanted.get(name) == grown["after"]}
    for name, size in wanted.items():
        before, rate = memory["wanted"].get(name, 0), memory["true_rps"].get(name)
        if 0 < before < size and rate:
            growth[name] = {"before": before, "after": size, "before_rps": rate}
    return growth


def _evidence(vertices: list[Vertex], sizes: Mapping[str, int], is_full: bool) -> dict[str, Json]:
    """What was found, of each vertex; the next look learns from the same."""
    rates = {vertex.pool.name: vertex.true_rps() for vertex in vertices}
    return {
        "recommended": dict(sizes),
        "true_rps": {name: rate for name, rate in rates.items() if rate is not None and math.isfinite(rate)},
        "is_full": is_full,
    }


def _sentence(vertices: list[Vertex]) -> str:
    """What a person should know of the vertices."""
    told = [vertex.left or vertex.unknown or _told(vertex) for vertex in vertices]
    parts = [sentence for sentence in told if sentence]
    return "; ".join([*parts[:_NAMED], *([f"and {len(parts) - _NAMED} more"] if len(parts) > _NAMED else [])])


def _told(vertex: Vertex) -> str | None:
    if not vertex.parts:
        return None
    first = vertex.parts[0].wanted
    catch_up = f" and {first.catch_up_rps:,.0f}/s of lag" if first.catch_up_rps else ""
    rate = vertex.true_rps()
    able = "no input" if rate is None else f"{rate:,.0f}/s possible"
    return f"{vertex.pool.name}: {first.target_rps:,.0f}/s{catch_up} wanted, {able} with {vertex.pool.wanted}"


_: type[Policy[FlinkAutoscalerMemory]] = FlinkAutoscaler
