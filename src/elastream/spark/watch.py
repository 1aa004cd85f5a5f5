"""The one listener inside the driver's JVM, and the one call per tick that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from elastream.core.errors import ObservationFailed
from elastream.spark.janino import made
from elastream.spark.look import Look, parse

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class JvmWatch:
    """Watches all queries and jobs of an application. Made by `install`, ended by `remove`."""

    def __init__(self, java: Any) -> None:
        self._java = java
        self._read = 0

    @classmethod
    def install(cls, spark: SparkSession) -> JvmWatch:
        """Compile the listener in the driver (a fifth of a second) and let it listen."""
        session: Any = spark
        queries = made(spark, "Queries", session._jsparkSession.sharedState())
        java = made(spark, "Watch", session.sparkContext._jsc.sc(), queries)
        java.install()
        return cls(java)

    def raw(self) -> str:
        """What the JVM knows, as JSON. What this tells is told again until `have_read` confirms it."""
        return str(self._java.look(self._read))

    def have_read(self, note: int) -> None:
        """Everything up to that note may be forgotten."""
        self._read = note

    def look(self) -> Look:
        """Everything new since the last look, and everything that is going on; or ObservationFailed."""
        # With pyspark, and not with us.
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]

        try:
            seen = parse(self.raw())
        except (Py4JError, OSError, ValueError) as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise ObservationFailed(f"the driver's JVM gave no look: {said}; tried again at the next tick") from error
        self.have_read(seen.note)
        return seen

    def remove(self) -> None:
        """Stop listening."""
        self._java.remove()
