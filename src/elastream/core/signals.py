"""The glossary: every signal a platform may provide and a policy may need, with its unit.

Running totals ("total") only grow, so a look that was lost loses nothing: whoever wants a rate takes a difference.
"""

from enum import StrEnum
from typing import NamedTuple


class Meaning(NamedTuple):
    """What a signal says, of what, and in which unit."""

    of: str
    unit: str
    says: str


class Signal(StrEnum):
    """Names of signals, as they stand in journals and messages."""

    ARRIVED = "arrived"
    COMMITTED = "committed"
    BACKLOG_AGE = "backlog-age"
    BATCHES = "batches"
    DRIVER_TIME = "driver-time"
    DELAY = "delay"
    STATE_BYTES = "state-bytes"
    RECORDS_IN = "records-in"
    RECORDS_OUT = "records-out"
    BUSY_TIME = "busy-time"
    BACKPRESSURE_TIME = "backpressure-time"
    QUEUE = "queue"
    WORKER_CPU = "worker-cpu"
    WORKER_MEMORY = "worker-memory"
    WORKER_RECORDS = "worker-records"
    BUSY_SLOTS = "busy-slots"
    READY = "ready"
    SYSTEM_TIME = "system-time"
    PAGE_FAULTS = "page-faults"
    HOST_CPU = "host-cpu"
    WORKER_CHOICE = "worker-choice"
    PLACE_CHOICE = "place-choice"
    WORKER_PLACE = "worker-place"


GLOSSARY: dict[Signal, Meaning] = {
    Signal.ARRIVED: Meaning("source", "records, total", "records that exist in the log, whether read or not"),
    Signal.COMMITTED: Meaning("source", "records, total", "records in committed batches"),
    Signal.BACKLOG_AGE: Meaning("source", "s", "age of the oldest record that is not committed"),
    Signal.BATCHES: Meaning("query", "batches, total", "batches that have finished"),
    Signal.DRIVER_TIME: Meaning("query", "s, total", "time of batches in which no task could run"),
    Signal.DELAY: Meaning("query", "s", "95th percentile of arrival to commit, over the records of a window"),
    Signal.STATE_BYTES: Meaning("query", "bytes", "state held by the query's stateful operators"),
    Signal.RECORDS_IN: Meaning("operator", "records, total", "records the operator has taken in"),
    Signal.RECORDS_OUT: Meaning("operator", "records, total", "records the operator has given out"),
    Signal.BUSY_TIME: Meaning("operator", "slot-s, total", "useful time: run time less the time spent waiting"),
    Signal.BACKPRESSURE_TIME: Meaning("operator", "slot-s, total", "time held up by a full buffer downstream"),
    Signal.QUEUE: Meaning("operator", "records", "records waiting in front of the operator"),
    Signal.WORKER_CPU: Meaning("worker", "share of its slots", "processor use; its source is named beside it"),
    Signal.WORKER_MEMORY: Meaning("worker", "bytes", "memory in use"),
    Signal.WORKER_RECORDS: Meaning("worker", "records, total", "records the worker has taken in"),
    Signal.BUSY_SLOTS: Meaning("pool", "slot-s, total", "time in which slots ran a task, of whatever query"),
    Signal.READY: Meaning("pool", "workers", "workers that can run tasks"),
    Signal.SYSTEM_TIME: Meaning("pool", "s, total", "processor time of executors in the kernel, where all are seen"),
    Signal.PAGE_FAULTS: Meaning("pool", "pages, total", "pages of executors that had to be read from a disk"),
    Signal.HOST_CPU: Meaning("pool", "share of its cores", "processor use of the driver's host, by whatever"),
    Signal.WORKER_CHOICE: Meaning("platform", "-", "a decision may say which workers leave"),
    Signal.PLACE_CHOICE: Meaning("platform", "-", "a decision may say on which node a worker is added"),
    Signal.WORKER_PLACE: Meaning("worker", "ms", "node of each worker and delays between nodes"),
}
