"""What a job is: the streams it reads, the query it makes of them, and the right answer, told a second way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar

from elastream.registry import Registry
from elastream.registry.class_file import module_from_file

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

C = TypeVar("C")


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One input of a job: the events that are made for it, and when one of them may be used."""

    name: str
    generator: str
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), hash=False)
    """Of the generator."""
    share: float | None = 1.0
    """Of the job's load. None: what the others leave, shared in the turns that the generators know (`per_turn`)."""
    per_s: float | None = None
    """Events in a second of their own time, where that is part of what they mean; None: as many as the load has."""
    is_json: bool = False
    """Events are JSON text wherever they come from, and reading it is part of the job's work."""
    sound: str = "true"
    """SQL over a row: whether the job can use it. Rows of which this is false or unknown are left out and counted."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """What the rows mean that a job gives out."""

    mode: Literal["append", "update"] = "append"
    key: tuple[str, ...] = ()
    """In update mode: the columns that name a result, of which the newest row counts."""
    is_final: bool = False
    """Rows come out when the watermark has passed what they are made of, and not before."""
    closes_at: str = "window_end"
    """DuckDB's SQL over a row of the answer, if rows are final: the time that the watermark passes before it is out."""
    folders: tuple[str, ...] = ()
    """In append mode: files with rows are put into folders by these columns."""
    compared: str | None = None
    """DuckDB's SQL over the rows that came out, as `found`: what of them an answer can tell, if they depend on when the
    query ran. None: all of it."""

    @property
    def flush(self) -> dict[str, str]:
        """Options of events that end, so that their last rows come out: without them the last windows stay open.

        Windows may be as long as a day.
        """
        return {"flush": "25h"} if self.is_final else {}


class Job(Protocol):
    """A frozen dataclass: its fields are the settings of the job, with the published values as defaults."""

    @property
    def streams(self) -> tuple[Stream, ...]:
        """What it reads. A stream of which it needs nothing is not made."""

    @property
    def result(self) -> Result:
        """How to read what it gives out."""

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """The pipeline: sound rows of every stream, by its name, to result rows."""

    @property
    def answer(self) -> str:
        """DuckDB's SQL over a table per stream: all result rows over a whole input, from the definition of the job.

        Behind the columns of the query come `first_time` and `last_time`: the event times of the first and the last
        input that a row is made of.
        """


jobs: Registry[Job] = Registry("job", Job, group="elastream.jobs", files=True)


def build_query(job: Job, streams: Mapping[str, DataFrame]) -> DataFrame:
    """The pipeline; functions of a job that was named by its file travel with their tasks, which cannot import it."""
    if (module := module_from_file(type(job))) is not None:
        from pyspark import cloudpickle

        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    return job.query(streams)


def query_name(job: Job) -> str:
    """What its query is called. To Spark, dots, colons and slashes mean something else."""
    name = jobs.name_of(job)
    if module_from_file(type(job)) is not None:
        path, _, cls = name.rpartition(":")
        name = f"{Path(path).stem}-{cls}"
    return re.sub(r"[^\w-]+", "-", name)


def register_job(name: str) -> Callable[[type[C]], type[C]]:
    """Class decorator: the job can be run by this name in this process, as ours can."""
    return jobs.register(name)
