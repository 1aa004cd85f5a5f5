"""Word count: sentences are split, and every word has a running total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@jobs.register("wordcount")
@dataclass(frozen=True, kw_only=True)
class WordCount:
    """Source, split, count: a running total per word, told again whenever it changes."""

    streams: ClassVar[tuple[Stream, ...]] = (Stream(name="sentences", generator="words", sound="line IS NOT NULL"),)
    result: ClassVar[Result] = Result(mode="update", key=("word",))
    answer: ClassVar[str] = """
        SELECT word, count(*) AS count, min(event_time) AS first_time, max(event_time) AS last_time
        FROM (SELECT unnest(string_split(line, ' ')) AS word, event_time FROM sentences)
        GROUP BY word
    """

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Totals live in the state for good: words are few."""
        from pyspark.sql import functions as sf

        words = streams["sentences"].select(sf.explode(sf.split("line", " ")).alias("word"))
        return words.groupBy("word").count()
