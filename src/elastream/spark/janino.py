"""Small Java classes, compiled inside the driver when they are needed: nothing to build, ship or match to a version.

Janino is part of every Spark (it compiles whole-stage code) and understands Java without generics and lambdas.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By gateway, so by JVM. py4j remembers methods by the name of their class: compiled a second time in the same JVM, for
# the next application or after a detach, the new class would be called with the methods of the old one.
_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def compiled(spark: SparkSession, name: str) -> Any:
    """The class `elastream.<name>` from the source file beside this module."""
    gateway: Any = spark.sparkContext._gateway
    known = _CLASSES.setdefault(gateway, {})
    if name not in known:
        known[name] = _compiled(gateway.jvm, name)
    return known[name]


def _compiled(jvm: Any, name: str) -> Any:
    source = files("elastream.spark").joinpath(f"{name}.java").read_text(encoding="utf-8")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook(source)
    return compiler.getClassLoader().loadClass(f"elastream.{name}")
