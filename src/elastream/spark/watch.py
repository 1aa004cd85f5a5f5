"""The one listener inside the driver's JVM, and the one call per tick that reads it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from elastream.core.errors import ObservationFailed
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


# Each may use those before it.
_SOURCES = ("Queries", "Plans", "Tally", "Watch")
# By gateway, so by JVM. py4j remembers methods by the name of their class: compiled a second time in the same JVM, for
# the next application or after a detach, the new class would be called with the methods of the old one.
_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def _made(spark: SparkSession, name: str, *arguments: Any) -> Any:
    gateway: Any = spark.sparkContext._gateway
    if gateway not in _CLASSES:
        _CLASSES[gateway] = _compiled(gateway.jvm)
    array = gateway.new_array(gateway.jvm.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return _CLASSES[gateway][name].getConstructors()[0].newInstance(array)


def _compiled(jvm: Any) -> dict[str, Any]:
    """Classes of one program. Janino compiles a file at a time, so each is compiled in sight of the ones before."""
    loader, found = jvm.Thread.currentThread().getContextClassLoader(), {}
    for name in _SOURCES:
        compiler = jvm.org.codehaus.janino.SimpleCompiler()
        compiler.setParentClassLoader(loader)
        compiler.cook(files("elastream.spark").joinpath(f"{name}.java").read_text(encoding="utf-8"))
        loader = compiler.getClassLoader()
        found[name] = loader.loadClass(f"elastream.{name}")
    return found
