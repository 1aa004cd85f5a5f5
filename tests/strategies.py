"""Observations as no platform should make them, but one will: for property tests."""

import math
from dataclasses import replace

from hypothesis import strategies as st

from elastream.core.decision import Decision
from elastream.core.guards import Guards
from elastream.core.guards.bottleneck import BottleneckGuard
from elastream.core.guards.budget import Budget
from elastream.core.guards.cool_down import CoolDown
from elastream.core.guards.ignore_minor import IgnoreMinor
from elastream.core.guards.over_provision import OverProvision
from elastream.core.guards.partition_ceiling import PartitionCeiling
from elastream.core.guards.quiet_hours import QuietHours
from elastream.core.guards.roll_back import RollBack
from elastream.core.guards.scarce_cluster import ScarceCluster
from elastream.core.guards.stabilise import Stabilise
from elastream.core.guards.starvation import Starvation
from elastream.core.guards.state_floor import StateFloor
from elastream.core.guards.step_limit import StepLimit
from elastream.core.observation import (
    Delay,
    FinishedBatch,
    KeyedState,
    LongestTask,
    Observation,
    OperatorWork,
    Pool,
    Query,
    Reading,
    ReadLimit,
    RunningBatch,
    RunningStage,
    Source,
    Trigger,
    Worker,
)
from elastream.core.slo import Slo
from elastream.core.task_cost import TaskCost
from elastream.core.topology import Edge, Operator, Topology

POOLS = ("a", "b", "c")

# One draw per number, from a list: a whole look has some fifty of them. Zero and the absurd come often, because that is
# where mistakes are.
_NUMBERS = (0.0, 1.0, 7.5, 250.0, 4e4, 3e6, 2.0**33, 1e12, math.nan, math.inf, -math.inf, -1.0)
_AGES_S = (0.0, 0.0, 0.0, 0.0, 5.0, 1e4, -4.0, -1e6, math.nan)
numbers = st.sampled_from(_NUMBERS)
maybe = st.sampled_from((None, *_NUMBERS))
sizes = st.integers(0, 60)
readings = st.sampled_from((None, None, *((value, age_s) for value in _NUMBERS for age_s in _AGES_S)))
"""A value and its age: of now, a little or far too old, ahead, of no time, or nothing at all."""


def _read(draw: st.DrawFn, at_s: float) -> Reading | None:
    found = draw(readings)
    return None if found is None else Reading(found[0], at_s - found[1])


def _pool(draw: st.DrawFn, name: str, at_s: float) -> Pool:
    """A pool of possible sizes: impossible ones are no look at all, and stand in the unit tests."""
    least = draw(st.integers(0, 5))
    workers = tuple(
        Worker(id=str(n), state="ready", since_s=0.0, cpu=_read(draw, at_s), records=_read(draw, at_s))
        for n in range(draw(st.integers(0, 2)))
    )
    return Pool(
        name=name,
        slots_per_worker=draw(st.sampled_from([1, 4])),
        min_workers=least,
        max_workers=least + draw(st.integers(0, 50)),
        wanted=draw(sizes),
        requested=draw(sizes),
        ready=draw(sizes),
        leaving=draw(st.integers(0, 3)),
        workers=workers,
        worker_memory_bytes=draw(maybe),
        busy_slot_s=_read(draw, at_s),
        page_faults=_read(draw, at_s),
        host_cpu=_read(draw, at_s),
    )


def _operator(draw: st.DrawFn, name: str, pools: tuple[str, ...]) -> Operator:
    return Operator(
        name=name,
        pool=draw(st.sampled_from(pools or ("gone",))),
        partitions=draw(st.sampled_from([None, 1, 12, 300])),
        stateful=draw(st.booleans()),
    )


def _work(draw: st.DrawFn, name: str, at_s: float) -> OperatorWork:
    return OperatorWork(
        name=name,
        tasks=draw(st.sampled_from([None, 0, 1, 12])),
        records_in=_read(draw, at_s),
        records_out=_read(draw, at_s),
        busy_s=_read(draw, at_s),
        backpressure_s=_read(draw, at_s),
        queue=_read(draw, at_s),
        queue_room=_read(draw, at_s),
    )


def _delay(draw: st.DrawFn, at_s: float) -> Delay:
    return Delay(
        at_s=at_s - draw(st.sampled_from([0.0, 0.0, 1e4])),
        window_s=60.0,
        records=draw(numbers),
        p50_s=draw(numbers),
        p95_s=draw(numbers),
        p99_s=draw(numbers),
        max_s=draw(numbers),
    )


def _source(draw: st.DrawFn, name: str, at_s: float) -> Source:
    most = draw(maybe)
    return Source(
        name=name,
        read_limit=None if most is None else ReadLimit(most),
        arrived=_read(draw, at_s),
        committed=_read(draw, at_s),
        backlog_age_s=_read(draw, at_s),
    )


def _running(draw: st.DrawFn) -> RunningBatch:
    counts = st.integers(0, 30)
    stages = tuple(
        RunningStage(
            name=f"o{n}", tasks=draw(counts), done=draw(counts), running=draw(counts), mean_s=draw(maybe),
            oldest_s=draw(maybe),
        )
        for n in range(draw(st.integers(0, 2)))
    )  # fmt: skip
    return RunningBatch(
        id=draw(st.integers(0, 3)),
        started_s=draw(numbers),
        rows=draw(maybe),
        stages=draw(st.sampled_from([None, stages])),
        last_task_s=draw(maybe),
    )


def _finished(draw: st.DrawFn) -> FinishedBatch:
    task = LongestTask(
        stage="o0", tasks=draw(st.integers(0, 30)), task_s=draw(numbers), mean_s=draw(numbers), records=draw(maybe),
        mean_records=draw(maybe),
    )  # fmt: skip
    cost = TaskCost(gc_s=draw(numbers), state_s=draw(numbers), unplaced_s=draw(numbers), scheduled_s=draw(numbers))
    return FinishedBatch(
        id=draw(st.integers(0, 3)),
        started_s=draw(numbers),
        ended_s=draw(numbers),
        rows=draw(maybe),
        busy_s=draw(maybe),
        limited=draw(st.sampled_from([None, True, False])),
        driver_s=draw(maybe),
        critical_s=draw(maybe),
        longest=draw(st.sampled_from([None, task])),
        cost=draw(st.sampled_from([None, cost])),
    )


def _query(draw: st.DrawFn, name: str, at_s: float, pools: tuple[str, ...]) -> Query:
    operators = tuple(_operator(draw, f"o{n}", pools) for n in range(draw(st.integers(0, 2))))
    some = draw(st.booleans())
    return Query(
        id=name,
        name=name,
        phase=draw(st.sampled_from(["starting", "running", "no-data", "terminated"])),
        topology=Topology(operators=operators, edges=(Edge("o0", "o1"),) if len(operators) == 2 else ()),
        trigger=Trigger(interval_s=draw(maybe)),
        sources=tuple(_source(draw, f"s{n}", at_s) for n in range(draw(st.integers(0, 2)))),
        operators=tuple(_work(draw, operator.name, at_s) for operator in operators),
        running=_running(draw) if some else None,
        finished=_finished(draw) if some else None,
        batches=_read(draw, at_s),
        driver_s=_read(draw, at_s),
        other_s=_read(draw, at_s),
        state=KeyedState(bytes=_read(draw, at_s), rows=_read(draw, at_s)) if draw(st.booleans()) else None,
        delay=_delay(draw, at_s) if draw(st.booleans()) else None,
        slo=draw(st.sampled_from([None, Slo(delay_s=30.0)])),
    )


@st.composite
def observations(draw: st.DrawFn, at_s: float = 1000.0, pools: tuple[str, ...] | None = None) -> Observation:
    """One look, sound or not."""
    names = draw(st.sampled_from([(), POOLS[:1], POOLS])) if pools is None else pools
    return Observation(
        at_s=at_s,
        utc_s=draw(st.sampled_from([0.0, 1.7e9, 1.7e9 + 40_000])),
        application="app",
        pools=tuple(_pool(draw, name, at_s) for name in names),
        queries=tuple(_query(draw, f"q{n}", at_s, names) for n in range(draw(st.integers(0, 2)))),
        other_busy_slots=_read(draw, at_s),
        cluster_workers=draw(st.sampled_from([None, None, -1, 0, 2, 30, 80])),
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Observation]:
    """Looks one after another, at times that move on by a little or by a day."""
    names = draw(st.sampled_from([POOLS[:1], POOLS]))
    at_s, looks = 0.0, []
    for _ in range(draw(st.integers(1, 5))):
        looks.append(draw(observations(at_s, names)))
        at_s += draw(st.sampled_from([0.1, 5.0, 60.0, 400.0, 1e5]))
    return looks


@st.composite
def decisions(draw: st.DrawFn, now: Observation) -> Decision:
    """Whatever a policy may say."""
    kind = draw(st.sampled_from(["set", "set", "keep", "hold"]))
    if kind == "keep":
        return replace(Decision.keep(now, "enough"), made_s=now.at_s)
    if kind == "hold":
        return Decision.hold(now, "unknown")
    workers = st.one_of(sizes, st.sampled_from([0, 10**9]))
    allocation = {pool.name: draw(workers) for pool in now.pools}
    slots = {query.id: draw(st.floats(0, 100)) for query in now.queries} if draw(st.booleans()) else {}
    return Decision(allocation=allocation, reason="the policy said so", made_s=now.at_s, slots=slots)


@st.composite
def guard_sets(draw: st.DrawFn, of: tuple[str, ...] = ()) -> Guards:
    """Some guards, with some settings. No pause: it overrules even the bounds."""
    small, seconds = st.integers(0, 20), st.sampled_from([0.0, 5.0, 300.0])
    every: Guards = {
        "ignore_minor": IgnoreMinor(up=draw(small), down=draw(small)),
        "stabilise": Stabilise(up_s=draw(seconds), down_s=draw(seconds)),
        "cool_down": CoolDown(after_s=draw(seconds), mode=draw(st.sampled_from(["ordinary", "blocking"]))),
        "over_provision": OverProvision(factor=draw(st.floats(1.0, 3.0))),
        "step_limit": StepLimit(up=draw(st.none() | small), down=draw(st.none() | small)),
        "roll_back": RollBack(settle_s=draw(st.sampled_from([5.0, 120.0]))),
        "starvation": Starvation(settle_s=draw(st.sampled_from([5.0, 60.0]))),
        "bottleneck": BottleneckGuard(),
        "partition_ceiling": PartitionCeiling(),
        "state_floor": StateFloor(memory_share=draw(st.floats(0.1, 1.0))),
        "budget": Budget(worker_hours=draw(st.floats(0.1, 100)), period_h=draw(st.sampled_from([0.01, 24.0]))),
        "quiet_hours": QuietHours(
            utc=draw(st.sampled_from([("22:00-06:00",), ("00:00-24:00",), ()])),
            frozen=draw(st.sampled_from(["all", "shrink"])),
        ),
        "scarce_cluster": ScarceCluster(mode=draw(st.sampled_from(["share", "cancel"]))),
    }
    names = draw(st.sets(st.sampled_from(of or sorted(every)), min_size=1))
    return {name: every[name] for name in sorted(names)}


def wanting(now: Observation, allocation: dict[str, int]) -> Observation:
    """The same look of an application that was told to have these sizes."""
    pools = tuple(replace(pool, wanted=allocation.get(pool.name, pool.wanted)) for pool in now.pools)
    return replace(now, pools=pools)
