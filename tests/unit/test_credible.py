import math
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args

import pytest

from elastream.core.credible import credible
from elastream.core.errors import ObservationFailed
from elastream.core.observation import (
    FinishedBatch,
    KeyedState,
    Observation,
    OperatorWork,
    Pool,
    Query,
    Reading,
    ReadLimit,
    RunningBatch,
    Source,
    Trigger,
    Worker,
)
from elastream.testing import delay, observation, pool, query

AT_S = 100.0
SOUND = Reading(3.0, 95.0)
UNSOUND = {
    "stale": Reading(3.0, 84.0),
    "from another clock": Reading(3.0, 106.0),
    "negative": Reading(-1.0, 95.0),
    "not a number": Reading(math.nan, 95.0),
    "infinite": Reading(math.inf, 95.0),
    "more than can be counted": Reading(1e19, 95.0),
    "of no time": Reading(3.0, math.nan),
}


def full() -> Observation:
    """A look in which everything that can be known is known."""
    worker = Worker(id="1", state="ready", since_s=1.0, cpu=SOUND, memory_bytes=SOUND, heap_bytes=SOUND, records=SOUND)
    asked = replace(
        query(AT_S),
        trigger=Trigger(interval_s=10.0),
        sources=(
            Source(
                name="s",
                read_limit=ReadLimit(500.0),
                arrived=SOUND,
                committed=SOUND,
                backlog_age_s=SOUND,
                partition_backlogs=(0.0, 1.0),
            ),
        ),
        operators=(
            OperatorWork(
                name="o",
                records_in=SOUND,
                records_out=SOUND,
                busy_s=SOUND,
                backpressure_s=SOUND,
                queue=SOUND,
                queue_room=SOUND,
            ),
        ),
        running=RunningBatch(id=2, started_s=92.0, rows=10.0),
        finished=FinishedBatch(id=1, started_s=82.0, ended_s=92.0, rows=5.0, busy_s=9.0, parts_s={"planning": 0.5}),
        batches=SOUND,
        driver_s=SOUND,
        other_s=SOUND,
        watermark_utc_s=SOUND,
        event_utc_s=SOUND,
        state=KeyedState(rows=SOUND, bytes=SOUND, commit_s=SOUND),
        delay=delay(95.0, 2.0),
    )
    only = replace(
        pool(memory=2.0**30), workers=(worker,), busy_slot_s=SOUND, system_s=SOUND, page_faults=SOUND, host_cpu=SOUND
    )
    return replace(observation(AT_S, pools=(only,), queries=(asked,), room=20), other_busy_slots=SOUND)


Path = tuple[str | int, ...]


def reading_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where readings are, found by looking at the types and not at a list of names."""
    if isinstance(value, Reading):
        yield path
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from reading_paths(item, (*path, number))
    elif is_dataclass(value):
        for field in fields(value):
            yield from reading_paths(getattr(value, field.name), (*path, field.name))


def planted(value: Any, path: Path, what: object) -> Any:
    if not path:
        return what
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return (*value[:first], planted(value[first], rest, what), *value[first + 1 :])
    return replace(value, **{first: planted(getattr(value, first), rest, what)})


def test_a_sound_look_is_returned_as_it_is() -> None:
    now = full()
    assert credible(now, 15.0) is now


def test_every_reading_that_the_types_know_stands_in_the_full_look() -> None:
    types = (Observation, Pool, Worker, Query, Source, OperatorWork, KeyedState)
    known = {field.name for kind in types for field in fields(kind) if Reading in get_args(field.type)}
    assert {path[-1] for path in reading_paths(full())} == known


@pytest.mark.parametrize("path", list(reading_paths(full())), ids=lambda path: ".".join(map(str, path)))
@pytest.mark.parametrize("unsound", list(UNSOUND.values()), ids=list(UNSOUND))
def test_one_unsound_reading_becomes_unknown_and_nothing_else_changes(path: Path, unsound: Reading) -> None:
    now = full()
    assert credible(planted(now, path, unsound), 15.0) == planted(now, path, None)


def test_what_stays_beside_an_unsound_reading_keeps_its_type() -> None:
    sound = credible(planted(full(), ("queries", 0, "driver_s"), UNSOUND["negative"]), 15.0)
    limit = sound.queries[0].sources[0].read_limit
    assert limit is not None
    assert limit.most == 500.0


def test_zero_is_a_value_and_the_oldest_allowed_reading_is_not_too_old() -> None:
    zero = planted(full(), ("queries", 0, "sources", 0, "arrived"), Reading(0.0, AT_S - 15.0))
    assert credible(zero, 15.0) is zero


def test_what_was_unknown_stays_unknown() -> None:
    nothing = observation(AT_S)
    assert credible(nothing, 15.0) is nothing
    empty = observation(AT_S, pools=(), queries=())
    assert credible(empty, 15.0) is empty


QUERY: Path = ("queries", 0)


@pytest.mark.parametrize("absurd", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize(
    ("path", "instead"),
    [
        ((*QUERY, "running", "started_s"), ((*QUERY, "running"), None)),
        ((*QUERY, "running", "rows"), ((*QUERY, "running", "rows"), None)),
        ((*QUERY, "finished", "started_s"), ((*QUERY, "finished"), None)),
        ((*QUERY, "finished", "ended_s"), ((*QUERY, "finished"), None)),
        ((*QUERY, "finished", "rows"), ((*QUERY, "finished", "rows"), None)),
        ((*QUERY, "finished", "busy_s"), ((*QUERY, "finished", "busy_s"), None)),
        ((*QUERY, "delay", "p50_s"), ((*QUERY, "delay"), None)),
        ((*QUERY, "delay", "p95_s"), ((*QUERY, "delay"), None)),
        ((*QUERY, "delay", "max_s"), ((*QUERY, "delay"), None)),
        ((*QUERY, "delay", "at_s"), ((*QUERY, "delay"), None)),
        ((*QUERY, "trigger", "interval_s"), ((*QUERY, "trigger", "interval_s"), None)),
        (("pools", 0, "worker_memory_bytes"), (("pools", 0, "worker_memory_bytes"), None)),
        ((*QUERY, "sources", 0, "partition_backlogs", 0), ((*QUERY, "sources", 0, "partition_backlogs"), None)),
    ],
)
def test_an_impossible_number_becomes_unknown_and_nothing_else_changes(
    path: Path, instead: tuple[Path, None], absurd: float
) -> None:
    now = full()
    assert credible(planted(now, path, absurd), 15.0) == planted(now, *instead)


def test_a_stale_delay_is_unknown_even_if_it_is_all_that_is_stale() -> None:
    now = full()
    assert credible(planted(now, (*QUERY, "delay"), delay(84.0, 2.0)), 15.0) == planted(now, (*QUERY, "delay"), None)


def test_an_impossible_part_of_a_batch_is_left_out() -> None:
    parts = {"planning": 0.5, "commit": math.nan}
    now = full()
    assert credible(planted(now, (*QUERY, "finished", "parts_s"), parts), 15.0) == now


def test_a_batch_that_ended_before_it_began_is_unknown() -> None:
    now = planted(full(), (*QUERY, "finished", "ended_s"), 81.0)
    assert credible(now, 15.0).queries[0].finished is None


def test_workers_without_memory_and_a_negative_cluster_are_unknown() -> None:
    now = replace(observation(AT_S, memory=0.0), cluster_workers=-1)
    sound = credible(now, 15.0)
    assert sound.pools[0].worker_memory_bytes is None
    assert sound.cluster_workers is None


def test_a_cluster_without_room_is_known_to_have_none() -> None:
    assert credible(observation(AT_S, room=0), 15.0).cluster_workers == 0


IMPOSSIBLE: dict[str, Callable[[], Observation]] = {
    "ready": lambda: observation(ready=-1, wanted=1),
    "wanted": lambda: observation(wanted=-1),
    "requested": lambda: observation(requested=-1),
    "leaving": lambda: observation(leaving=-1),
    "slots": lambda: observation(slots=0),
    "min": lambda: observation(least=-1),
    "min above max": lambda: observation(least=9, most=3),
    "time": lambda: observation(math.nan),
    "utc": lambda: observation(1.0, utc_s=math.inf),
}


@pytest.mark.parametrize("impossible", list(IMPOSSIBLE.values()), ids=list(IMPOSSIBLE))
def test_a_look_without_sense_is_no_look(impossible: Callable[[], Observation]) -> None:
    with pytest.raises(ObservationFailed, match=r"impossible|no time"):
        credible(impossible(), 15.0)


def test_each_query_is_judged_by_itself() -> None:
    good, bad = query(AT_S, name="good", arrived=1), query(AT_S - 50, name="bad", arrived=1)
    sound = credible(observation(AT_S, queries=(good, bad)), 15.0)
    assert sound.queries[0] == good
    assert arrived(sound.queries[1]) is None


def arrived(asked: Query) -> Reading | None:
    return asked.sources[0].arrived


@pytest.mark.parametrize("most", [math.nan, math.inf, -1.0])
def test_an_impossible_read_limit_is_none_and_a_possible_one_stays(most: float) -> None:
    for limit, kept in ((ReadLimit(most), None), (ReadLimit(4.0, "files"), ReadLimit(4.0, "files"))):
        seen = replace(full(), queries=(replace(query(AT_S), sources=(Source(name="s", read_limit=limit),)),))
        assert credible(seen, 60.0).queries[0].sources[0].read_limit == kept
