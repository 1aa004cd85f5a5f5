"""What is set for a session before its script sets anything, what it still needs, and what rules it out.

Files of settings are read, and nothing is touched.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from elastream.attachment.assembly import GUARDS
from elastream.attachment.handle import ENABLED
from elastream.config import Settings, resolve, spark_arguments, spark_defaults
from elastream.config.sources import SPARK_PREFIX
from elastream.core.errors import CannotRun
from elastream.spark.session import check, memory_bytes, session_settings

MASTER = "spark.master"
# Spark's own default; without it an executor's size on a cluster of one's own would not be known.
EXECUTOR_MEMORY = "1g"
PROGRESS = "spark.ui.showConsoleProgress"
LEFT_ALONE = frozenset({"spark.sql.shuffle.partitions"})
"""The first batch freezes it in the checkpoint, and it is the number of output files: both are the application's."""

_OPTIONS = {
    "--master": "spark.master",
    "--remote": "spark.remote",
    "--executor-memory": "spark.executor.memory",
    "--executor-cores": "spark.executor.cores",
    "--total-executor-cores": "spark.cores.max",
    "--jars": "spark.jars",
}


def outside(environ: Mapping[str, str], spark_home: Path) -> dict[str, str]:
    """Spark's properties as spark-submit would find them, as far as they matter before the driver's JVM runs.

    They stand in spark-defaults.conf, PYSPARK_SUBMIT_ARGS and MASTER.
    """
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


def is_off(conf: Mapping[str, str]) -> bool:
    """Whether the script is to run as if we were not there."""
    return conf.get(ENABLED, "true").strip().lower() == "false"


def settings_for(given: Mapping[str, object], conf: Mapping[str, str], config: Path | None = None) -> Settings:
    """The settings of the loop, as `attach` will find them; `config` is a YAML file."""
    ours = {key: value for key, value in conf.items() if key.startswith(SPARK_PREFIX) and key != ENABLED}
    return resolve(given, ours, os.environ, config, defaults=GUARDS).settings


def is_bounded(given: Mapping[str, object], conf: Mapping[str, str], config: Path | None = None) -> bool:
    """Whether anybody said how many executors there may be."""
    ours = {key: value for key, value in conf.items() if key.startswith(SPARK_PREFIX) and key != ENABLED}
    origins = resolve(given, ours, os.environ, config).origins
    return any(origins[f"executors.{name}"].origin != "default" for name in ("min", "max"))


def missing_settings(conf: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """What elastic executors need and nobody has set."""
    cores = int(conf.get("spark.executor.cores", "1"))
    wanted = session_settings((settings.executors.min, settings.executors.max), cores)
    found = {one.key: one.value for one in wanted if one.key not in conf and one.key not in LEFT_ALONE}
    return {**found, **without_progress(conf, settings)}


def without_progress(conf: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """What keeps Spark from drawing where lines of JSON are wanted: one would begin in the middle of a drawing."""
    return {PROGRESS: "false"} if settings.log.format == "json" and PROGRESS not in conf else {}


def require_elastic(conf: Mapping[str, str]) -> None:
    """Raise CannotRun where a session with these settings would have a number of executors that cannot be changed."""
    master = conf.get(MASTER, "")
    if master.startswith("local") and not master.startswith("local-cluster"):
        raise CannotRun(
            f"master {master} has no executors that could come and go; give a cluster with --master, which wins over "
            "the script's own, or name none anywhere, and one is started for the run"
        )
    try:
        check(cast(Any, _Planned(_sc=_PlannedContext(master=master, conf=conf))))
    except CannotRun as reason:
        raise CannotRun(f"{reason}; --conf wins over what the script sets") from None


def speaks_connect(options: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Whether a builder would make a session of Spark Connect."""
    mode = options.get("spark.api.mode", environ.get("SPARK_API_MODE", ""))
    return (
        "spark.remote" in options
        or "SPARK_REMOTE" in environ
        or "SPARK_CONNECT_MODE_ENABLED" in environ
        or mode.lower() == "connect"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineRoom:
    """A cluster of one's own for a run: two workers that share the executors."""

    executors: int
    cores: int
    memory: str

    @classmethod
    def of(cls, conf: Mapping[str, str], most: int) -> MachineRoom:
        """For so many executors with these settings."""
        each = -(-most // 2)
        mebibytes = int(memory_bytes(conf.get("spark.executor.memory", EXECUTOR_MEMORY)) / 2**20)
        return cls(
            executors=most, cores=each * int(conf.get("spark.executor.cores", "1")), memory=f"{each * mebibytes}m"
        )


def fitting_this_machine() -> int:
    """How many executors a cluster on this machine may have where nobody says: more than processors do not help."""
    return max(2, os.cpu_count() or 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class _PlannedContext:
    master: str
    conf: Mapping[str, str]

    def getConf(self) -> Mapping[str, str]:  # noqa: N802 - as Spark calls it
        return self.conf


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planned:
    """A session that does not exist yet, as far as `check` looks at one."""

    _sc: _PlannedContext
    _jsparkSession: None = None  # noqa: N815 - as Spark calls it
