"""Settings that people write: YAML files, properties, the environment."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from elastream.config import resolve, spark_defaults
from elastream.core.errors import BadInput
from elastream.core.guards import ORDER
from elastream.policies import policies
from tests.fuzz.absurd import NUMBERS, TEXTS, bend, tear
from tests.fuzz.harness import fuzz, outcome, sizes

PLAIN: dict[str, Any] = {
    "policy": "lag-proportional",
    "policy_settings": {"window_s": 60, "interval_s": 10},
    "executors": {"min": 1, "max": 12, "initial": 3},
    "slo": {"delay": "30s", "share": 0.99},
    "tick_s": 5,
    "max_age_s": None,
    "guards": {"cool_down": {"after_s": "60s"}, "quiet_hours": {"utc": ["00:00-06:00"]}, "budget": {"worker_hours": 9}},
    "journal": {"folder": "journal", "max_bytes": 8192, "keep": 3},
    "kafka": {"probe": True},
}
SNIPPETS = (
    "a: &a [1]\nb: *a\n", "x: &x [*x]\n", "? [1, 2]\n: 3\n", "tick_s: 2026-01-01\n", "tick_s: 12:30:45\n",
    "- 1\n- 2\n",
    "!!python/object/apply:os.system ['true']\n",
    "tick_s: !!binary aGVsbG8=\n", "tick_s: !!set {a, b}\n", "\t- a", "{[",
    "executors: {max: 0x10, min: 0o7}\n", "tick_s: .inf\n", "tick_s: .nan\n", "tick_s: 1" + "0" * 5000 + "\n",
    "~: 1\n",
    "[" * 400, "a: " * 60, "tick_s: !!float abc\n", "tick_s: !!int ''\n", "<<: 1\n", "<<: [{tick_s: 5}]\n",
    "%YAML 9.9\n",
)  # fmt: skip


def yaml_text(draw: random.Random) -> bytes:
    kind = draw.randrange(10)
    if kind == 0:
        return "".join(draw.choice(SNIPPETS) for _ in range(draw.randrange(1, 3))).encode()
    given = {name: PLAIN[name] for name in PLAIN if draw.random() < 0.7}
    if draw.random() < 0.3:
        given["policy"] = draw.choice(policies.names())
        given.pop("policy_settings", None)
    if draw.random() < 0.3:
        given["guards"] = {name: draw.choice((True, {}, None)) for name in draw.sample(list(ORDER), 3)}
    try:
        text = yaml.safe_dump(bend(draw, given, draw.randrange(1, 4)), allow_unicode=True).encode()
    except (RecursionError, yaml.YAMLError, UnicodeEncodeError):
        text = yaml.safe_dump(given).encode()
    return tear(draw, text) if kind < 3 else text


@sizes(300, 20_000)
def test_a_file_of_settings_is_read_or_refused(cases: int, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"

    def once(draw: random.Random) -> str:
        file.write_bytes(yaml_text(draw))
        return outcome(lambda: list(resolve({}, {}, {}, file).printable()))

    fuzz("settings in YAML", cases, once)


@sizes(300, 20_000)
def test_settings_of_spark_and_of_the_environment_are_read_or_refused(cases: int, tmp_path: Path) -> None:
    paths = [".".join(path) for path in _paths(PLAIN)] + [f"guards.{name}" for name in ORDER]
    texts = (*TEXTS, *map(str, NUMBERS), "true", "false", "none", "5s", "99%", "hpa", "fixed")
    file = tmp_path / "spark-defaults.conf"

    def some(draw: random.Random) -> dict[str, str]:
        return {draw.choice(paths): draw.choice(texts) for _ in range(draw.randrange(4))}

    def once(draw: random.Random) -> str:
        conf = {f"spark.elastream.{path}": text for path, text in some(draw).items()}
        lines = "".join(f"{key}{draw.choice(' =:')}{value}\n" for key, value in conf.items())
        file.write_bytes(tear(draw, lines.encode()) if draw.random() < 0.3 else lines.encode())
        environ = {f"ELASTREAM_{path.replace('.', '__').upper()}": text for path, text in some(draw).items()}
        return outcome(lambda: resolve(some(draw), {**conf, **spark_defaults(file)}, environ, None))

    fuzz("settings of Spark and the environment", cases, once)


def _paths(tree: Mapping[str, Any], above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for name, item in tree.items():
        found += _paths(item, (*above, name)) if isinstance(item, dict) else [(*above, name)]
    return found


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("tick_s: 2026-01-01\n", r"tick_s: found '2026-01-01'; it must be a duration such as 15 or 5m"),
        ("executors: {max: 2026-01-01}\n", r"executors.max: found '2026-01-01'; it must be a whole number"),
        ("guards: {quiet_hours: {utc: [2026-01-01]}}\n", "2026-01-01"),
        ("[" * 5000, r"settings.yaml:1: nested more than 30 levels deep"),
        ("x: &x [*x]\n", r"settings.yaml:1: an alias that stands for itself"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{b}: &{b} [{','.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
            r"settings.yaml:5: more than 20,000 values",
        ),
    ],
)
def test_dates_depth_and_bombs_are_one_line(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text(text)
    with pytest.raises(BadInput, match=told) as caught:
        resolve({}, {}, {}, file)
    assert "\n" not in str(caught.value)


def test_an_alias_that_stands_for_little_is_read(tmp_path: Path) -> None:
    file = tmp_path / "settings.yaml"
    file.write_text("executors: {min: &few 2, max: 9, initial: *few}\n")
    assert resolve({}, {}, {}, file).settings.executors.initial == 2
