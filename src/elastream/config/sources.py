"""Where settings come from: flags, `spark.elastream.*`, `ELASTREAM_*`, a YAML file. One path, four spellings.

guards.cool_down.after_s   spark.elastream.guards.cool_down.after_s   ELASTREAM_GUARDS__COOL_DOWN__AFTER_S
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from elastream.config.yaml_file import load_yaml, read_text
from elastream.core.errors import BadInput

SPARK_PREFIX = "spark.elastream."
ENVIRONMENT_PREFIX = "ELASTREAM_"
NOT_SETTINGS = frozenset({"ELASTREAM_REQUIRE", "ELASTREAM_DEBUG", "ELASTREAM_KAFKA_JARS"})
"""Variables with our prefix that set nothing."""


DEFAULT = "default"
"""Where a value comes from that nobody has set."""


class Rank(IntEnum):
    """Who wins: the larger."""

    DEFAULT = 0
    YAML = 1
    ENVIRONMENT = 2
    SPARK = 3
    FLAG = 4


class Entry(NamedTuple):
    """One value as somebody wrote it."""

    path: tuple[str, ...]
    value: object
    origin: str
    rank: Rank

    @property
    def key(self) -> str:
        """The path as one word."""
        return ".".join(self.path)

    @property
    def where(self) -> str:
        """How an error about it begins; a file needs the key beside its name, the others are keys themselves."""
        return f"{self.origin}: {self.key}" if self.rank is Rank.YAML else self.origin


def from_defaults(defaults: Mapping[str, object]) -> Iterator[Entry]:
    """Dotted paths to values that hold where nobody says otherwise."""
    for name, value in defaults.items():
        yield from _flat(tuple(name.split(".")), value, DEFAULT, Rank.DEFAULT)


def from_flags(flags: Mapping[str, object], spelt: str) -> Iterator[Entry]:
    """Dotted paths to values; None is a flag that was not given. `spelt` is how such a path was written."""
    for name, value in flags.items():
        if value is not None:
            path = tuple(name.replace("-", "_").split("."))
            yield from _flat(path, value, spelt.format(name), Rank.FLAG)


def from_spark(conf: Mapping[str, str]) -> Iterator[Entry]:
    """Those of Spark's properties that are ours."""
    for key, value in conf.items():
        if key.startswith(SPARK_PREFIX):
            path = tuple(key.removeprefix(SPARK_PREFIX).split("."))
            yield Entry(path, value, key, Rank.SPARK)


def from_environment(environ: Mapping[str, str]) -> Iterator[Entry]:
    """Those of the environment's variables that are ours; two underscores stand for the dot."""
    for key, value in environ.items():
        if key.startswith(ENVIRONMENT_PREFIX) and key not in NOT_SETTINGS:
            path = tuple(key.removeprefix(ENVIRONMENT_PREFIX).lower().split("__"))
            yield Entry(path, value, key, Rank.ENVIRONMENT)


def from_yaml(path: Path) -> Iterator[Entry]:
    """What a YAML file says."""
    content = load_yaml(path)
    if content is None:
        return
    if not isinstance(content, Mapping):
        raise BadInput(f"{path}: found a {type(content).__name__}; settings are written as 'name: value'")
    for name, value in content.items():
        yield from _flat((str(name),), value, str(path), Rank.YAML)


def spark_arguments(pairs: Iterable[str]) -> dict[str, str]:
    """What `--conf KEY=VALUE` says."""
    return _pairs(pairs, "--conf")


def set_arguments(pairs: Iterable[str]) -> dict[str, str]:
    """What `--set KEY=VALUE` says."""
    return _pairs(pairs, "--set")


def spark_defaults(path: Path) -> dict[str, str]:
    """What a spark-defaults.conf says: Java properties, that is `key value`, `key=value` or `key: value`."""
    conf = {}
    for line in re.sub(r"\\\r?\n[ \t]*", "", read_text(path)).splitlines():
        found = re.fullmatch(r"([^#!\s=:][^\s=:]*)\s*[=:]?\s*(.*)", line.strip())
        if found is not None:
            conf[found[1]] = found[2]
    return conf


def _pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise BadInput(f"{flag} {text}: write it as KEY=VALUE")
        found[key.strip()] = value.strip()
    return found


def _flat(path: tuple[str, ...], value: object, origin: str, rank: Rank) -> Iterator[Entry]:
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from _flat((*path, str(key)), item, origin, rank)
    else:
        yield Entry(path, value, origin, rank)
