"""Models of jobs in YAML."""

import random
from pathlib import Path
from typing import Any

import yaml

from elastream.simulator.model_file import read_model
from tests.fuzz.absurd import bend, tear
from tests.fuzz.harness import fuzz, outcome, sizes

APPLICATION: dict[str, Any] = {
    "name": "clicks",
    "pool": {"min_workers": 1, "max_workers": 8, "slots_per_worker": 2},
    "queries": [
        {
            "name": "count",
            "trigger": "10s",
            "slo": {"delay": "30s", "share": "95%"},
            "sources": [{"name": "clicks", "partitions": 16}],
            "stages": [
                {"name": "parse", "after": "clicks", "partitions": 16, "slot_s_per_record": 50e-6},
                {"name": "count", "after": ["parse"], "partitions": 16, "slot_s_per_record": 4e-5, "stateful": True},
            ],
            "state": {},
        }
    ],
}
DATAFLOW: dict[str, Any] = {
    "name": "words",
    "logs": [{"name": "sentences", "partitions": 12}],
    "operators": [
        {"name": "split", "after": "sentences", "rate_rps": "20k"},
        {"name": "count", "after": {"split": 20}, "rate_rps": "200k", "buffer": "100k", "hot_share": 0.1},
    ],
    "pool": {"min_workers": 1, "max_workers": 36},
    "restart": {"grow": "30s", "shrink": "15s", "checkpoint": "10s"},
    "measuring": {},
    "base_latency": "1s",
    "slo": "30s",
}


@sizes(400, 20_000)
def test_a_model_is_read_or_refused(cases: int, tmp_path: Path) -> None:
    file = tmp_path / "model.yaml"

    def once(draw: random.Random) -> str:
        model = draw.choice((APPLICATION, DATAFLOW))
        try:
            text = yaml.safe_dump(bend(draw, model, draw.randrange(1, 4)), allow_unicode=True).encode()
        except (RecursionError, yaml.YAMLError, UnicodeEncodeError):
            text = yaml.safe_dump(model).encode()
        file.write_bytes(tear(draw, text) if draw.random() < 0.2 else text)
        return outcome(lambda: read_model(file))

    found = fuzz("models", cases, once)
    assert found["read"] > cases / 50
