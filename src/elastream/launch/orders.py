"""What a launched application is to be run with: the launcher's own arguments, then the script and its arguments."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from elastream.config import set_arguments, spark_arguments, spark_defaults
from elastream.core.bounds import parse_bounds
from elastream.core.errors import BadInput

_WITH_VALUE = ("--executors", "--config", "--set", "--conf", "--cluster", "--properties-file")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOrders:
    """A script, and what the person who starts it wants."""

    script: Path
    arguments: tuple[str, ...] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    """Paths of `elastream config` -> values."""
    config: Path | None = None
    """A YAML file with more of them, which anything else wins over."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Spark's properties that win over the script's own."""
    cluster: Path | None = None
    """The folder of a cluster of one's own, whose secret the driver is to have."""
    properties: Path | None = None
    """A file of Spark's properties, as spark-submit reads it: what the script sets wins over it."""
    kafka: bool = False
    quiet: bool = False

    def as_arguments(self) -> list[str]:
        """The arguments from which `read_orders` makes the same."""
        return [
            *(["--config", str(self.config)] if self.config else []),
            *(word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")),
            *(word for key, value in self.conf.items() for word in ("--conf", f"{key}={value}")),
            *(["--cluster", str(self.cluster)] if self.cluster else []),
            *(["--properties-file", str(self.properties)] if self.properties else []),
            *["--kafka"] * self.kafka,
            *["--quiet"] * self.quiet,
            "--",
            str(self.script),
            *self.arguments,
        ]


class _ArgumentParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise BadInput(f"launcher: {message}")


def read_orders(arguments: Sequence[str]) -> LaunchOrders:
    """From the launcher's command line; BadInput if there is no such script."""
    options, rest = _split(arguments)
    parser = _ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--executors")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--conf", action="append", default=[])
    parser.add_argument("--cluster", type=Path)
    parser.add_argument("--properties-file", type=Path)
    parser.add_argument("--kafka", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    found = parser.parse_args(options)
    if not rest:
        raise BadInput("launcher: no script; name the application's .py file")
    return LaunchOrders(
        script=checked_script(Path(rest[0])),
        arguments=tuple(rest[1:]),
        settings={**set_arguments(found.set), **bounded(found.executors)},
        config=found.config.absolute() if found.config else None,
        conf=spark_arguments(found.conf),
        cluster=found.cluster,
        properties=found.properties_file,
        kafka=found.kafka,
        quiet=found.quiet,
    )


def checked_script(path: Path) -> Path:
    """The script, if it is one that can be run."""
    if not path.exists():
        raise BadInput(f"{path}: there is no such file; name the application's .py file")
    if path.suffix != ".py" or not path.is_file():
        raise BadInput(f"{path}: it is not a Python script; name the application's .py file")
    return path


def checked_properties(path: Path) -> Path:
    """The file, if it can be read; absolute, for the script may change its folder."""
    spark_defaults(path)
    return path.absolute()


def flatten(settings: Mapping[str, object]) -> dict[str, object]:
    """Settings by full path, each with a value that text can spell."""
    found: dict[str, object] = {}
    for path, value in settings.items():
        if isinstance(value, Mapping):
            # A guard without settings is one that is on.
            below = {f"{path}.{key}": item for key, item in value.items()}
            found |= flatten(below) if below else {path: True}
        else:
            found[path] = ",".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    return found


def bounded(text: str | None) -> dict[str, int]:
    """What `--executors 1..12` says, as settings."""
    if text is None:
        return {}
    low, high = parse_bounds(text, "--executors")
    return {"executors.min": low, "executors.max": high}


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our options, and everything from the script on: an option behind it is the script's."""
    words = list(arguments)
    place = 0
    while place < len(words) and words[place].startswith("-"):
        if words[place] == "--":
            return words[:place], words[place + 1 :]
        place += 2 if words[place] in _WITH_VALUE else 1
    return words[:place], words[place:]
