"""Averages of winning prices that move on with every auction: state that no aggregation of Spark keeps."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql import functions as sf
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from elastream.jobs.settings import ROCKSDB

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def average(winners: DataFrame, key: str, *, last: int | None) -> DataFrame:
    """Of each key, after each auction, in the order in which they end: of the last so many; None: of all."""
    # Spark keeps such state nowhere else. A store is chosen when a query is started, and by its session alone.
    winners.sparkSession.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    # Executors may lack this module.
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
    columns = f"{key} BIGINT, average BIGINT, auction BIGINT, expires_us BIGINT"
    rows = winners.select(key, "id", "opened_us", sf.unix_micros("expires").alias("expires_us"), "bid.price")
    told = rows.groupBy(key).transformWithState(Moving(key, last), columns, "append", "None")
    return told.select(key, "average", "auction", sf.timestamp_micros("expires_us").alias("expires"))


class Moving(StatefulProcessor):
    """Keeps as little as it needs: the last prices, or their sum and number if none is ever left out."""

    def __init__(self, key: str, last: int | None) -> None:
        self._key = key
        self._last = last

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._kept = handle.getValueState("kept", "prices ARRAY<BIGINT>, total BIGINT, count BIGINT")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802, N803
        prices, total, count = self._kept.get() or ([], 0, 0)
        prices = list(prices)
        # Those that end later come in later batches.
        for row in sorted(rows, key=lambda row: (row.expires_us, row.id, row.opened_us)):
            total, count = total + row.price, count + 1
            if self._last is not None:
                prices.append(row.price)
                if count > self._last:
                    total, count = total - prices.pop(0), count - 1
            of = {self._key: key[0]}
            yield Row(**of, average=total // count, auction=row.id, expires_us=row.expires_us)
        self._kept.update((prices, total, count))

    def close(self) -> None:
        """Nothing is open."""
