"""Word count: sentences are split, and every word has a running total."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WHITE = r"\p{Z}\x{9}-\x{D}\x{1C}-\x{1F}\x{85}"
"""White space to Unicode and to Python, inside of a class of characters that Java and RE2 read alike."""


@jobs.register("wordcount")
@dataclass(frozen=True, kw_only=True)
class WordCount:
    """Source, split, count: a running total per word, told again whenever it changes.

    Words are what stands between white space of any kind: no word is empty, and a line may have none.
    """

    streams: ClassVar[tuple[Stream, ...]] = (Stream(name="sentences", generator="words", sound="line IS NOT NULL"),)
    result: ClassVar[Result] = Result(mode="update", key=("word",))
    answer: ClassVar[str] = f"""
        SELECT word, count(*) AS count, min(event_time) AS first_time, max(event_time) AS last_time
        FROM (SELECT unnest(regexp_extract_all(line, '[^{_WHITE}]+')) AS word, event_time FROM sentences)
        GROUP BY word
    """

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """Totals live in the state for good: words are few."""
        from pyspark.sql import functions as sf

        # Most lines have nothing but letters and spaces, and splitting at one sign needs no regular expression.
        spaced = sf.when(sf.rlike("line", sf.lit(r"[^\x20-\x7E]")), sf.regexp_replace("line", f"[{_WHITE}]", " "))
        words = streams["sentences"].select(sf.explode(sf.split(sf.coalesce(spaced, "line"), " ")).alias("word"))
        # Between two spaces, and beside the outermost, stands nothing.
        return words.where("word <> ''").groupBy("word").count()
