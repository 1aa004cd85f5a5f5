"""Builders of what tests speak about: every argument has a calm default, so that a test names only what matters."""

from collections.abc import Mapping

from elastream.core.decision import Decision
from elastream.core.knowledge import Knowledge
from elastream.core.observation import (
    Delay,
    KeyedState,
    Observation,
    OperatorWork,
    Pool,
    Query,
    Reading,
    Source,
)
from elastream.core.signals import Signal
from elastream.core.topology import Operator, Topology

POOL = "executors"


def pool(
    name: str = POOL,
    *,
    ready: int = 5,
    wanted: int | None = None,
    requested: int | None = None,
    leaving: int = 0,
    slots: int = 1,
    least: int = 1,
    most: int = 100,
    memory: float | None = None,
) -> Pool:
    """A pool that has what it wants, unless told otherwise."""
    target = ready if wanted is None else wanted
    return Pool(
        name=name,
        slots_per_worker=slots,
        min_workers=least,
        max_workers=most,
        wanted=target,
        requested=target if requested is None else requested,
        ready=ready,
        leaving=leaving,
        worker_memory_bytes=memory,
    )


def query(
    at_s: float = 0.0,
    *,
    name: str = "q",
    arrived: float | None = None,
    committed: float | None = None,
    delay_s: float | None = None,
    state: float | None = None,
    partitions: int | None = None,
    tasks: int | None = None,
    stateful: bool = False,
    pools: tuple[str, ...] = (POOL,),
) -> Query:
    """A query with one source, and one operator per pool."""
    operators = tuple(
        Operator(name=f"in-{pool}", pool=pool, partitions=partitions, stateful=stateful) for pool in pools
    )
    return Query(
        id=name,
        name=name,
        phase="running",
        topology=Topology(operators=operators),
        sources=(Source(name="s", arrived=_read(arrived, at_s), committed=_read(committed, at_s)),),
        operators=tuple(OperatorWork(name=operator.name, tasks=tasks) for operator in operators),
        state=KeyedState(bytes=_read(state, at_s)) if stateful else None,
        delay=None if delay_s is None else delay(at_s, delay_s),
    )


def delay(at_s: float, p95_s: float) -> Delay:
    """A delay over the last minute."""
    return Delay(
        at_s=at_s, window_s=60.0, records=100.0, p50_s=p95_s / 2, p95_s=p95_s, p99_s=p95_s * 1.2, max_s=p95_s * 1.5
    )


def observation(
    at_s: float = 0.0,
    *,
    ready: int = 5,
    wanted: int | None = None,
    requested: int | None = None,
    leaving: int = 0,
    slots: int = 1,
    least: int = 1,
    most: int = 100,
    memory: float | None = None,
    arrived: float | None = None,
    committed: float | None = None,
    delay_s: float | None = None,
    pools: tuple[Pool, ...] | None = None,
    queries: tuple[Query, ...] | None = None,
    room: int | None = None,
    utc_s: float | None = None,
) -> Observation:
    """One look: one pool and one query, unless others are given."""
    only = pool(
        ready=ready, wanted=wanted, requested=requested, leaving=leaving,
        slots=slots, least=least, most=most, memory=memory,
    )  # fmt: skip
    return Observation(
        at_s=at_s,
        utc_s=at_s if utc_s is None else utc_s,
        application="app",
        pools=(only,) if pools is None else pools,
        queries=(query(at_s, arrived=arrived, committed=committed, delay_s=delay_s),) if queries is None else queries,
        cluster_workers=room,
    )


def asking(
    workers: int | Mapping[str, int], *, made_s: float | None = None, leave_first: tuple[str, ...] = ()
) -> Decision:
    """What a policy says that wants so many workers."""
    allocation = {POOL: workers} if isinstance(workers, int) else dict(workers)
    return Decision(allocation=allocation, reason="the policy said so", made_s=made_s, leave_first=leave_first)


def knowing(*looks: Observation, provides: frozenset[Signal] = frozenset()) -> Knowledge:
    """What is known after some looks."""
    known = Knowledge(provides)
    for look in looks:
        known.fold(look)
    return known


def size(decision: Decision) -> int:
    """Workers decided for the one pool of `observation`."""
    return decision.allocation[POOL]


def _read(value: float | None, at_s: float) -> Reading | None:
    return None if value is None else Reading(value, at_s)
