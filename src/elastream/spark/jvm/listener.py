"""The one listener inside the driver's JVM, and the one call per tick that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from elastream.core.errors import ObservationFailed
from elastream.core.log import log
from elastream.spark.jvm.compiler import made
from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


LOGS = {"KafkaMicroBatchStream": "KafkaLogs", "FileStreamSource": "FileLogs"}
"""Who asks the log behind a stream, by the simple names of both classes."""


# py4j writes an answer to its socket 8 KiB at a time. From the second write on, the kernel keeps the last one back
# until those before it are acknowledged, which takes the other side up to 40 ms. A look of 30 KB takes 44 ms in one
# answer, and 0.3 ms in pieces of a write each.
_PIECE = 7_000


class JavaText(Protocol):
    """A `StringBuilder` of the JVM."""

    def length(self) -> int: ...

    def substring(self, start: int, end: int) -> str: ...


def read_pieces(text: JavaText) -> str:
    """A long text from the JVM, without the waits that one large answer would bring."""
    length = text.length()
    return "".join(text.substring(at, min(at + _PIECE, length)) for at in range(0, length, _PIECE))


class JavaWatch(Protocol):
    """`Watch.java`, as far as it is called."""

    def install(self) -> None: ...

    def look(self, read: int) -> JavaText: ...

    def remove(self) -> None: ...


class JavaLogs(Protocol):
    """What asks the logs behind streams of one kind: a java.util.function.BiFunction that can be closed."""

    def close(self) -> None: ...


class JavaQueries(Protocol):
    """`Queries.java`, as far as it is called."""

    def askLogs(self, kind: str, logs: JavaLogs) -> None: ...  # noqa: N802 (Java's name)

    def loaderOf(self, kind: str) -> object: ...  # noqa: N802 (Java's name)


class JvmListener:
    """Watches all queries and jobs of an application. Made by `install`, ended by `remove`."""

    def __init__(self, spark: SparkSession, java: JavaWatch, queries: JavaQueries, *, asks_kafka: bool) -> None:
        self._spark = spark
        self._java = java
        self._queries = queries
        self._read = 0
        self._asking: dict[str, JavaLogs] = {}
        self._to_ask = {kind: name for kind, name in LOGS.items() if asks_kafka or name != "KafkaLogs"}

    @classmethod
    def install(cls, spark: SparkSession, *, asks_kafka: bool = True) -> JvmListener:
        """Compile the listener in the driver (a fifth of a second) and let it listen."""
        session: Any = spark
        queries: JavaQueries = made(spark, "Queries", session._jsparkSession.sharedState())
        java: JavaWatch = made(spark, "Watch", session.sparkContext._jsc.sc(), queries)
        java.install()
        return cls(spark, java, queries, asks_kafka=asks_kafka)

    def raw(self) -> str:
        """What the JVM knows, as JSON. What this tells is told again until `have_read` confirms it."""
        return read_pieces(self._java.look(self._read))

    def have_read(self, note: int) -> None:
        """Everything up to that note may be forgotten."""
        self._read = note

    def look(self) -> Snapshot:
        """Everything new since the last look, and everything that is going on; or ObservationFailed."""
        # With pyspark, and not with us.
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        try:
            seen = parse_snapshot(self.raw())
        except (Py4JError, OSError, ValueError) as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ObservationFailed(f"the driver's JVM gave no look: {said}; tried again at the next tick") from error
        self.have_read(seen.note)
        self.ask_logs(seen)
        return seen

    def ask_logs(self, seen: Snapshot) -> None:
        """From now on, also those behind the sources that were seen."""
        for query in seen.queries:
            for source in query.sources or ():
                self._ask_log(source.kind.rpartition(".")[2])

    def _ask_log(self, kind: str) -> None:
        """When the first stream of a kind is seen: what asks its log needs the classes that came with it."""
        name = self._to_ask.pop(kind, None)
        if name is None:
            return
        try:
            logs: JavaLogs = made(self._spark, name, seen_from=self._queries.loaderOf(kind))
            self._queries.askLogs(kind, logs)
            self._asking[kind] = logs
        except Exception as error:
            # Another version of the source: without its log, lag is what Spark reports.
            said = (str(error).strip().splitlines() or [type(error).__name__])[-1]
            log.warning("the log behind %s cannot be asked, its lag is what Spark reports: %s", kind, said)

    def remove(self) -> None:
        """Stop listening."""
        self._java.remove()
        for logs in self._asking.values():
            logs.close()
