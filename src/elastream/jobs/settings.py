"""What a job is run with: every setting that matters, its value and why, in one place.

Values called published are those of van Dongen and Van den Poel (2021). Measured is throughput of `deduplicate` with
little state on two shared cores: median and range of three pairs of runs (`benchmarks/job_settings.py`), where our
settings against themselves gave x1.00 (0.99 to 1.02): a range that holds 1 says little. Counts of files are exact.
What the state of a join costs is told as mean with the interval that holds it 19 times out of 20, on a machine that did
other things too (`benchmarks/state_cost.py`, three pairs).
Waiting for executors with state was measured on emulated slots (`benchmarks/locality_wait.py`). Batches follow each
other as fast as possible unless a command says otherwise (published, but for windows that slide by minutes): one that
waits makes every record wait.
"""

from __future__ import annotations

from elastream.spark.session import SessionSetting, session_settings

READ_LIMIT_S = 20.0
"""A batch reads at most so many seconds of input at the rate that the job can stand (published). Without a limit a
backlog becomes one batch, of which nothing is committed, and nothing can be given to executors that come, until all of
it is done: for a minute of input 5.0 s on two cores, and 2.0 s for 20 s of it, at x0.88 of the throughput; with 2 s of
input in a batch that is x0.29 (`benchmarks/read_limit.py`)."""

BATCHES = 10
"""Into so many an input is cut that has arrived before the query starts: the first, which compiles, is a small part."""

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"

_FROM_THE_SESSION = ("spark.locality.wait", "spark.sql.shuffle.partitions")


def job_settings(slots: int) -> tuple[SessionSetting, ...]:
    """Everything beside what makes a session elastic; `slots` is the most that the job will ever have."""
    elastic = [one for one in session_settings((1, slots)) if one.key in _FROM_THE_SESSION]
    return (
        *elastic,
        SessionSetting(
            "spark.sql.streaming.stateStore.providerClass",
            ROCKSDB,
            "state outside of the heap, so that fewer executors can hold more of it each; it has a price while state is"
            " little: the store on the heap had x1.11 the throughput (1.04 to 1.20)",
        ),
        SessionSetting(
            "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled",
            "true",
            "a commit writes what a batch has changed, and not all files of the state: without it x0.79 (0.78 to 0.83),"
            " and 94 files for 54 after eight batches",
        ),
        SessionSetting(
            "spark.sql.streaming.minBatchesToRetain",
            "2",
            "a restart needs the last batch; with 100, the default, old versions of all state stay on disk: 78 files"
            " for 54 after eight batches (published); removing them has a price, keeping them had x1.31 the throughput"
            " of short batches (0.95 to 1.35)",
        ),
        SessionSetting(
            "spark.sql.streaming.join.stateFormatVersion",
            "3",
            "all state of a join in one store in place of four: x0.83 the time of `enrichment` (0.80 to 0.86) and x0.82"
            " that of `nexmark-q3` (0.76 to 0.89), x0.95 (0.90 to 1.01) and x0.87 (0.76 to 0.99) the processor time,"
            " and 98 files for 168 and 66 for 124 after five batches",
        ),
        SessionSetting(
            "spark.sql.streaming.multipleWatermarkPolicy",
            "min",
            "the slower of two streams sets the pace; max, the published value, drops its rows",
        ),
        SessionSetting(
            "spark.sql.streaming.fileSink.log.deletion",
            "false",
            "in which batch a row came out can be told only while the log of every batch is there",
        ),
        SessionSetting("spark.sql.session.timeZone", "UTC", "results do not depend on where they are computed"),
    )


def settings_of(slots: int) -> dict[str, str]:
    """For `builder.config(map=...)`."""
    return {one.key: one.value for one in job_settings(slots)}


def read_limit(rate_rps: float) -> int:
    """Rows of a batch for a job that can stand so many per second."""
    return max(1, round(rate_rps * READ_LIMIT_S))
