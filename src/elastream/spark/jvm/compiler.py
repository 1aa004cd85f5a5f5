"""Small Java classes, compiled inside the driver when they are needed: nothing to build, ship or match to a version.

Janino is part of every Spark (it compiles whole-stage code) and understands Java without generics and lambdas.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Janino compiles a file at a time: each is compiled in sight of those before it.
_SOURCES = ("Backend", "Queries", "Progress", "Plans", "Tally", "Ledger", "Watch")
# By gateway, so by JVM. py4j remembers methods by the name of their class: compiled a second time in the same JVM, for
# the next application or after a detach, the new class would be called with the methods of the old one.
_CLASSES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()
_APART: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def made(spark: SparkSession, name: str, *arguments: object, seen_from: object = None) -> Any:
    """A new object of the class `elastream.<name>`, from the source file beside this module.

    `seen_from` is a class loader of the JVM, for a class that needs what only that one finds.
    """
    return make(spark.sparkContext._gateway, name, *arguments, seen_from=seen_from)


def make(gateway: Any, name: str, *arguments: object, seen_from: object = None) -> Any:
    """The same in whatever JVM is behind a gateway."""
    array = gateway.new_array(gateway.jvm.Object, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    return _class(gateway, name, seen_from).getConstructors()[0].newInstance(array)


def _class(gateway: Any, name: str, seen_from: object) -> Any:
    if seen_from is not None:
        apart = _APART.setdefault(gateway, {})
        if name not in apart:
            apart[name] = _compiled(gateway.jvm, name, seen_from)
        return apart[name]
    known = _CLASSES.setdefault(gateway, {})
    for source in _SOURCES[len(known) : _SOURCES.index(name) + 1]:
        before = list(known.values())[-1:]
        loader = before[0].getClassLoader() if before else gateway.jvm.Thread.currentThread().getContextClassLoader()
        known[source] = _compiled(gateway.jvm, source, loader)
    return known[name]


def _compiled(jvm: Any, name: str, seen_from: object) -> Any:
    source = files(__package__).joinpath(f"{name}.java").read_text(encoding="utf-8")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(seen_from)
    compiler.cook(source)
    return compiler.getClassLoader().loadClass(f"elastream.{name}")
