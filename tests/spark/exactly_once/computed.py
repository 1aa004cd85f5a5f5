"""What the queries must give, computed from the events with numpy, pandas and plain Python. Spark has no part in it.

Every result is a table of whole numbers (times in microseconds), one row per output record.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from numpy.typing import NDArray

from elastream.events.options import events
from tests.spark.exactly_once.inputs import DELAY_S, GAP_US, INPUTS, NEAR_US, SHUFFLED_US, WINDOW_S

Rows = NDArray[np.int64]


class Events(NamedTuple):
    """One stream, as columns."""

    offset: Rows
    time: Rows
    key: Rows
    value: Rows


def read(name: str, number: int, rows: int) -> Events:
    source = INPUTS[name]
    table = events(source.options(source.seeds[number], rows), 0, rows)
    offset, key, value = (table[column].to_numpy() for column in ("offset", "key", "value"))
    time = table["event_time"].cast("int64").to_numpy() - value * SHUFFLED_US
    return Events(offset, time, key, value)


def stateless(rows: int) -> Rows:
    all_ = read("stateless", 0, rows)
    kept = all_.value % 3 != 0
    return np.column_stack([all_.offset[kept], all_.key[kept] * 7 + all_.value[kept], all_.time[kept]])


def windowed(rows: int) -> Rows:
    all_ = read("windowed", 0, rows)
    starts = all_.time // (WINDOW_S * 1_000_000) * (WINDOW_S * 1_000_000)
    return _totals(np.column_stack([starts, all_.key]), all_.value)


def joined(rows: int) -> Rows:
    left, right = read("joined", 0, rows), read("joined", 1, rows)
    by_key: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for offset, time, key, value in zip(*(column.tolist() for column in right), strict=True):
        by_key[key].append((time, offset, value))
    for found in by_key.values():
        found.sort()
    pairs = []
    for offset, time, key, value in zip(*(column.tolist() for column in left), strict=True):
        found = by_key.get(key, [])
        first = bisect_left(found, (time - NEAR_US, -1, -1))
        for _, other, other_value in found[first : bisect_right(found, (time + NEAR_US, rows, 0))]:
            pairs.append((offset, other, key, value + other_value))
    return np.array(pairs, dtype=np.int64).reshape(-1, 4)


def sessions(rows: int) -> Rows:
    """Closed ones only: the last events move the watermark, and what ends after it is still open."""
    all_ = read("sessions", 0, rows)
    watermark = int(all_.time.max()) // 1_000 * 1_000 - DELAY_S * 1_000_000
    open_: dict[int, list[int]] = {}
    done: list[tuple[int, int, int, int, int]] = []
    for at in np.argsort(all_.time, kind="stable").tolist():
        time, key, value = int(all_.time[at]), int(all_.key[at]), int(all_.value[at])
        session = open_.get(key)
        if session is not None and time < session[1]:
            session[1:] = [time + GAP_US, session[2] + 1, session[3] + value]
            continue
        if session is not None:
            done.append((session[0], session[1], key, session[2], session[3]))
        open_[key] = [time, time + GAP_US, 1, value]
    done += [(session[0], session[1], key, session[2], session[3]) for key, session in open_.items()]
    return np.array([session for session in done if session[1] <= watermark], dtype=np.int64).reshape(-1, 5)


def processor(rows: int) -> Rows:
    all_ = read("processor", 0, rows)
    return _totals(all_.key.reshape(-1, 1), all_.value)


def each_batch(rows: int) -> Rows:
    all_ = read("each_batch", 0, rows)
    return np.column_stack([all_.offset, all_.key, all_.value + 1])


def large(rows: int) -> Rows:
    all_ = read("large", 0, rows)
    return _totals(all_.key.reshape(-1, 1), all_.value)


def long(rows: int) -> Rows:
    all_ = read("long", 0, rows)
    return np.column_stack([all_.offset, all_.key, all_.value])


def _totals(groups: Rows, value: Rows) -> Rows:
    """Number and sum of values per group."""
    table = pd.DataFrame(groups)
    names = list(table.columns)
    totals = table.assign(value=value).groupby(names, sort=False)["value"].agg(["size", "sum"]).reset_index()
    return np.asarray(totals.to_numpy(), dtype=np.int64)


COMPUTED: dict[str, Callable[[int], Rows]] = {
    "stateless": stateless,
    "windowed": windowed,
    "joined": joined,
    "sessions": sessions,
    "processor": processor,
    "each_batch": each_batch,
    "large": large,
    "long": long,
}
