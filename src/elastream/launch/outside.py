"""What is set for a driver outside its script: spark-defaults.conf, PYSPARK_SUBMIT_ARGS, MASTER."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from elastream.config import spark_arguments, spark_defaults

_OPTIONS = {
    "--master": "spark.master",
    "--remote": "spark.remote",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--total-executor-cores": "spark.cores.max",
    "--jars": "spark.jars",
}


def outside(environ: Mapping[str, str], spark_home: Path) -> dict[str, str]:
    """Spark's properties as spark-submit would find them, as far as they matter before the driver's JVM runs."""
    words = shlex.split(environ.get("PYSPARK_SUBMIT_ARGS", ""))
    options = list(_options(words))
    files = [Path(value) for option, value in options if option == "--properties-file"]
    if not files or "--load-spark-defaults" in words:
        files.insert(0, Path(environ.get("SPARK_CONF_DIR") or spark_home / "conf") / "spark-defaults.conf")
    conf = {"spark.master": environ["MASTER"]} if environ.get("MASTER") else {}
    for file in files:
        conf |= spark_defaults(file) if file.is_file() else {}
    for option, value in options:
        if option in ("--conf", "-c"):
            conf |= spark_arguments([value])
        elif option in _OPTIONS:
            conf[_OPTIONS[option]] = value
    return conf


def _options(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    rest = iter(words)
    for word in rest:
        option, equals, value = word.partition("=")
        if option in (*_OPTIONS, "--conf", "-c", "--properties-file"):
            yield option, value if equals else next(rest, "")
