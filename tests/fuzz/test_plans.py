"""Plans, and the plans that they include."""

import random
from pathlib import Path
from typing import Any

import yaml

from elastream.experiments.plan.checks import check_plan
from elastream.experiments.plan.matrix import multiply
from elastream.experiments.plan.reader import read_plan
from tests.fuzz.absurd import bend, tear
from tests.fuzz.harness import fuzz, outcome, sizes

PLAN: dict[str, Any] = {
    "name": "sample",
    "about": "Which one?",
    "include": "base.yaml",
    "draws": 2,
    "open": {"share": "0.5..1"},
    "what": {
        "model": ["enrich", "windowed-count"],
        "workload": {"wave": "cosine(2k..9k, period=10m)", "spike": "4k + spike(6k, at=5m, for=1m)"},
        "peak": "80%",
        "slo": ["30s", "95% within 60s"],
        "faults": {"none": [], "one": ["worker-loss(at=3m)"]},
    },
    "how": {
        "policy": {"ds2": "ds2", "hpa": "hpa(target={share})", "fixed": "fixed(workers=3)"},
        "guards": {"none": [], "calm": ["cool-down(after=1m)"]},
        "executors": "1..12",
        "trigger": ["10s", "asap"],
        "tick": "5s",
        "duration": "5m",
        "repetitions": 2,
    },
    "exclude": [{"where": {"policy": ["hpa"], "slo": "30s"}, "why": "it is not asked"}],
    "cases": [{"where": {"policy": "fixed"}, "set": {"executors": "1..16", "peak": "70%"}}],
}
BASE: dict[str, Any] = {"how": {"start": 2, "slots": 2}, "what": {"absent": "skip"}}


@sizes(60, 4000)
def test_a_plan_is_read_or_refused(cases: int, tmp_path: Path) -> None:
    file, base = tmp_path / "plan.yaml", tmp_path / "base.yaml"

    def once(draw: random.Random) -> str:
        file.write_bytes(_spell(draw, PLAN))
        base.write_bytes(_spell(draw, BASE) if draw.random() < 0.2 else yaml.safe_dump(BASE).encode())
        return outcome(lambda: check_plan(multiply(read_plan(file))))

    found = fuzz("plans", cases, once)
    assert found["read"] > cases / 50


def _spell(draw: random.Random, plan: dict[str, Any]) -> bytes:
    """The plan with something else in it, or damaged as text."""
    try:
        text = yaml.safe_dump(bend(draw, plan, draw.randrange(1, 4)), allow_unicode=True).encode()
    except (RecursionError, yaml.YAMLError, UnicodeEncodeError):
        text = yaml.safe_dump(plan).encode()
    return tear(draw, text) if draw.random() < 0.2 else text
