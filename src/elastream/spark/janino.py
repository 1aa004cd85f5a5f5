"""Small Java classes, compiled inside the driver when they are needed: nothing to build, ship or match to a version.

Janino is part of every Spark (it compiles whole-stage code) and understands Java without generics and lambdas.
"""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def compiled(spark: SparkSession, name: str) -> Any:
    """The class `elastream.<name>` from the source file beside this module."""
    jvm: Any = spark.sparkContext._jvm
    source = files("elastream.spark").joinpath(f"{name}.java").read_text(encoding="utf-8")
    compiler = jvm.org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(jvm.Thread.currentThread().getContextClassLoader())
    compiler.cook(source)
    return compiler.getClassLoader().loadClass(f"elastream.{name}")
