"""The one listener inside the driver's JVM, and the one call per tick that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from elastream.spark.janino import compiled
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
        queries = _made(spark, "Queries", session._jsparkSession.sharedState())
        java = _made(spark, "Watch", session.sparkContext._jsc.sc(), queries)
        java.install()
        return cls(java)

    def raw(self) -> str:
        """What the JVM knows, as JSON. What this tells is told again until `have_read` confirms it."""
        return str(self._java.look(self._read))

    def have_read(self, note: int) -> None:
        """Everything up to that note may be forgotten."""
        self._read = note

    def look(self) -> Look:
        """Everything new since the last look, and everything that is going on."""
        seen = parse(self.raw())
        self.have_read(seen.note)
        return seen

    def remove(self) -> None:
        """Stop listening."""
        self._java.remove()


# By gateway, so by JVM. py4j remembers methods by the name of their class: compiled a second time in the same JVM, for
# the next application or after a detach, the new class would be called with the methods of the old one.
_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _made(spark: SparkSession, name: str, *arguments: Any) -> Any:
    gateway: Any = spark.sparkContext._gateway
    known = _CLASSES.setdefault(gateway, {})
    if name not in known:
        known[name] = compiled(spark, name)
    array = gateway.new_array(gateway.jvm.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return known[name].getConstructors()[0].newInstance(array)
