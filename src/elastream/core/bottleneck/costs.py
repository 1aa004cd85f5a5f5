"""What tasks spend their slots on instead of records, by what Spark, their JVMs and their host tell.

Three kinds. Slots that stand free while tasks wait for a certain one, or for the scheduler: executors cannot help, for
there are slots already. Tasks that collect garbage, spill, write state, wait for a shuffle or a disk: more executors
have more memory, more disks and more network, so that they may help, and something else helps more; it is told, and
growth goes on. Tasks that hold slots and compute nothing wait for something that nobody here can see.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from elastream.core.bottleneck.evidence import WINDOW_S, count_kept_busy, has_new_workers, late_batches
from elastream.core.bottleneck.verdict import Bottleneck, Kind
from elastream.core.decision import Json
from elastream.core.knowledge import Knowledge
from elastream.core.observation import FinishedBatch, Observation, Pool, Query
from elastream.core.signals import Signal
from elastream.core.task_cost import TaskCost

_MOST_OF_IT = 0.5
# A collector that takes a tenth is healthy, one that takes a third is in want of memory.
_COLLECTING = 0.3
# A heap that is collected all the time though more than half of it is free.
_ROOM = 0.5
# Of the clock's time of a batch: less is what starting tasks takes.
_KEPT_FREE = 0.3
# What a disk writes and reads again in a second, a fast one: of slower ones less is spilled than is concluded.
_DISK_BPS = 200e6
# Slots that are busy, and processors that nearly none of them uses.
_BUSY = 0.7
_COMPUTES = 0.3
_FREE_HOST = 0.8
_WAITS_FOR_PAGES = 0.5
# Per slot that is busy. A disk answers a hundred times in a second, a fast one some thousand times.
_PAGES_PER_S = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Spent:
    """Some batches of a query, and where and when they ran."""

    query: Query
    batches: Sequence[FinishedBatch]
    now: Observation
    known: Knowledge

    @property
    def total(self) -> TaskCost:
        """Of all of them."""
        total = TaskCost()
        for batch in self.batches:
            total = total.plus(batch.cost or TaskCost())
        return total

    @property
    def busy_s(self) -> float:
        return sum(batch.busy_s or 0.0 for batch in self.batches)

    @property
    def batch_s(self) -> float:
        return self.mean(sum(batch.duration_s for batch in self.batches))

    def mean(self, total: float) -> float:
        """Per batch."""
        return total / len(self.batches)

    def share(self, get: Callable[[TaskCost, FinishedBatch], float]) -> float:
        """Of their time, in that batch of which it is least; of many, one in ten says nothing."""
        shares = sorted(get(batch.cost, batch) for batch in self.batches if batch.cost is not None)
        return shares[len(shares) // 10]

    def busy_share(self, get: Callable[[TaskCost], float]) -> float:
        """Of the time that tasks held slots."""
        return self.share(lambda cost, batch: get(cost) / batch.busy_s if batch.busy_s else 0.0)

    def verdict(self, kind: Kind, told: str, **evidence: Json) -> Bottleneck:
        return Bottleneck(
            kind=kind, query=self.query.id, sentence=f"{self.query.name}: {told}",
            evidence={"batches": len(self.batches), **evidence},
        )  # fmt: skip


def find_late_costs(query: Query, now: Observation, known: Knowledge) -> Bottleneck | None:
    """What the last batches were spent on, if they were late; else what keeps results back though they are not."""
    batches = late_batches(query, now, known)
    found = find_costs(query, batches, now, known)
    return found[0] if found else _watermarks(query) if not batches else None


def find_costs(
    query: Query, batches: Sequence[FinishedBatch], now: Observation, known: Knowledge
) -> tuple[Bottleneck, ...]:
    """What batches were spent on instead of records, the most certain first; they are taken to be too slow."""
    if not batches or any(batch.cost is None or not batch.busy_s for batch in batches):
        return ()
    spent = _Spent(query=query, batches=batches, now=now, known=known)
    return tuple(one for find in _COSTS if (one := find(spent)) is not None)


def _placed(spent: _Spent) -> Bottleneck | None:
    """Slots are free, and tasks wait for another one, or for the scheduler."""
    # A slot of one that leaves is nobody's, and one that comes has none of the places that tasks would like.
    if any(pool.leaving for pool in spent.now.pools) or has_new_workers(spent.now, spent.batches[0].started_s):
        return None
    # Where others take the processors, the driver has none in time to say what runs next.
    if not _is_host_free(spent):
        return None
    found = _unplaced(spent) or _undispatched(spent)
    return None if found is None else replace(found, useful_slots=max(map(count_kept_busy, spent.batches)))


def _unplaced(spent: _Spent) -> Bottleneck | None:
    free = spent.share(lambda cost, batch: cost.unplaced_s / batch.duration_s if batch.duration_s else 0.0)
    if free < _KEPT_FREE:
        return None
    return spent.verdict(
        "locality",
        f"for {spent.mean(spent.total.unplaced_s):.1f} s of a batch of {spent.batch_s:.1f} s slots are free, and its "
        "tasks wait for those near their data or state: executors cannot help; a shorter spark.locality.wait would",
        free=free, batch_s=spent.batch_s,
    )  # fmt: skip


def _undispatched(spent: _Spent) -> Bottleneck | None:
    free = spent.share(lambda cost, batch: cost.undispatched_s / batch.duration_s if batch.duration_s else 0.0)
    on_the_way = spent.share(
        lambda cost, batch: cost.scheduled_s / (cost.scheduled_s + batch.busy_s) if batch.busy_s else 0.0
    )
    if free < _KEPT_FREE and on_the_way < _MOST_OF_IT:
        return None
    return spent.verdict(
        "scheduler-delay",
        f"its tasks work for {spent.mean(spent.busy_s):.1f} slot-seconds of a batch, are on their way from and to the "
        f"driver for {spent.mean(spent.total.scheduled_s):.1f}, and wait for "
        f"{spent.mean(spent.total.undispatched_s):.1f} s although slots are free: executors cannot help; "
        "fewer partitions, or less that is shipped with a task, would",
        free=free, on_the_way=on_the_way,
    )  # fmt: skip


def _memory(spent: _Spent) -> Bottleneck | None:
    """Garbage is collected, or what does not fit goes to disk."""
    collecting = spent.busy_share(lambda cost: cost.gc_s)
    spilling = spent.busy_share(lambda cost: cost.spilled_bytes / _DISK_BPS)
    both = spent.busy_share(lambda cost: cost.gc_s + cost.spilled_bytes / _DISK_BPS)
    if both < _COLLECTING:
        return None
    full = _fullest_heap(spent.now)
    heaps = "" if full is None else f", with heaps up to {full:.0%} full"
    evidence: dict[str, Json] = {"gc": collecting, "heap": full, "spilled_bytes": spent.total.spilled_bytes}
    remedy = "more memory for each executor, or fewer records in a batch, helps more than executors do"
    if full is not None and full < _ROOM and not spilling:
        remedy = "there is room, so that another collector or more of it for what is new helps more than executors do"
    if spilling < _COLLECTING / 10:
        return spent.verdict(
            "garbage-collection",
            f"{collecting:.0%} of its tasks' time goes into collecting garbage{heaps}: {remedy}", **evidence,
        )  # fmt: skip
    return spent.verdict(
        "memory",
        f"its tasks spill {spent.mean(spent.total.spilled_bytes) / 2**20:,.0f} MiB to disk in a batch, and "
        f"{collecting:.0%} of their time goes into collecting garbage{heaps}: {remedy}", **evidence,
    )  # fmt: skip


def _page_faults(spent: _Spent) -> Bottleneck | None:
    for pool in spent.now.pools:
        busy, used = _busy_slots(pool, spent.known), _used_cores(pool, spent.known)
        pages = spent.known.rate(Signal.PAGE_FAULTS, pool.name, WINDOW_S)
        if busy is None or used is None or pages is None or used > _WAITS_FOR_PAGES * busy:
            continue
        if pages >= _PAGES_PER_S * busy:
            return spent.verdict(
                "page-faults",
                f"executors read {pages:,.0f} pages/s back from disk and compute for {used / busy:.0%} of the time "
                "that tasks hold slots: their host has too little memory, and more of them on it would have less",
                pages_per_s=pages, computes=used / busy,
            )  # fmt: skip
    return None


def _mostly(
    kind: Kind, get: Callable[[TaskCost], float], evidence: str, told: str
) -> Callable[[_Spent], Bottleneck | None]:
    """Finds where most of the time that tasks hold slots goes into one thing; `told` has a place for how much."""

    def find(spent: _Spent) -> Bottleneck | None:
        share = spent.busy_share(get)
        return spent.verdict(kind, told.format(f"{share:.0%}"), **{evidence: share}) if share >= _MOST_OF_IT else None

    return find


_state_store = _mostly(
    "state-store", lambda cost: cost.state_s, "commit_share",
    "{} of the slots' time goes into writing state; less of it, or another store, would help more than executors",
)  # fmt: skip
_network = _mostly(
    "network", lambda cost: cost.fetch_s, "fetch_share",
    "its tasks wait for {} of their time for what others have shuffled: a faster network, or less that is shuffled, "
    "would help more than executors",
)  # fmt: skip
_disk = _mostly(
    "disk", lambda cost: cost.write_s, "write_share",
    "its tasks write for {} of their time what is shuffled: a faster disk, or less that is shuffled, would help more "
    "than executors",
)  # fmt: skip


def _waiting(spent: _Spent) -> Bottleneck | None:
    """Slots are busy, nobody computes, and nothing that is known explains it."""
    explained = spent.total
    if explained.gc_s + explained.fetch_s + explained.write_s + explained.state_s > _COMPUTES * spent.busy_s:
        return None
    for pool in spent.now.pools:
        busy, used = _busy_slots(pool, spent.known), _used_cores(pool, spent.known)
        if busy is None or used is None or busy < _BUSY * pool.slots or used > _COMPUTES * busy:
            continue
        if not _is_host_free(spent):
            continue
        task = spent.batches[-1].longest
        where = "" if task is None else f" of {task.stage}"
        return spent.verdict(
            "waiting",
            f"its tasks hold {busy:.1f} of {pool.slots} slots and compute for {used / busy:.0%} of that: those{where} "
            "wait for something outside of Spark that they read from, write to or call; executors help only as far as "
            "that can do more at once",
            busy_slots=busy, used_cores=used,
        )  # fmt: skip
    return None


def _watermarks(query: Query) -> Bottleneck | None:
    """Records are committed in time, and their results wait in one stateful operator after the other."""
    chain = [operator for operator in query.topology.operators if operator.stateful]
    if len(chain) < 2 or query.slo is None or query.watermark_utc_s is None or query.event_utc_s is None:
        return None
    held_s = query.event_utc_s.value - query.watermark_utc_s.value
    # Before there is a watermark it is 1970.
    if query.watermark_utc_s.value <= 0 or held_s <= query.slo.delay_s or query.is_within_slo is not True:
        return None
    return Bottleneck(
        kind="watermarks",
        query=query.id,
        sentence=(
            f"{query.name}: records are committed in time, and results of its {len(chain)} stateful operators wait for "
            f"watermarks that are {held_s:.0f} s behind what was read, with {query.slo.delay_s:g} s promised: "
            "executors cannot help; a shorter watermark would"
        ),
        evidence={"held_s": held_s, "operators": len(chain)},
    )


_COSTS: Sequence[Callable[[_Spent], Bottleneck | None]] = (
    _placed,
    _memory,
    _page_faults,
    _state_store,
    _network,
    _disk,
    _waiting,
)


def _busy_slots(pool: Pool, known: Knowledge) -> float | None:
    busy = known.busy_share(pool, WINDOW_S)
    return busy * pool.slots if busy and pool.slots else None


def _used_cores(pool: Pool, known: Knowledge) -> float | None:
    """By their processes; None where one of them is not seen, for what tasks tell leaves out too much."""
    total = 0.0
    for worker in pool.workers:
        if worker.state != "ready":
            continue
        share = known.mean(Signal.WORKER_CPU, f"{pool.name}/{worker.id}", WINDOW_S)
        if share is None or worker.cpu_from != "proc":
            return None
        total += share * pool.slots_per_worker
    return total if pool.workers else None


def _is_host_free(spent: _Spent) -> bool:
    """Whether others leave executors and driver what they need; unknown counts as that."""
    shares = [spent.known.mean(Signal.HOST_CPU, pool.name, WINDOW_S) for pool in spent.now.pools]
    return all(share is None or share <= _FREE_HOST for share in shares)


def _fullest_heap(now: Observation) -> float | None:
    full = [
        worker.heap_bytes.value / pool.worker_memory_bytes
        for pool in now.pools
        for worker in pool.workers
        if worker.heap_bytes is not None and pool.worker_memory_bytes
    ]
    return min(1.0, max(full)) if full else None
