"""The settings that a search has chosen, as plans that score them: `python -m experiments.foresight --settle`.

They are written before the half that is scored is run with them, and belong under version control from then on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from elastream.core.errors import BadInput
from experiments.foresight.rows import HERE

JOBS = ("enrich", "wordcount", "continuous")
RESULT = "tuning.json"


def settle(out: Path) -> list[Path]:
    """A plan for each job that was searched for."""
    found = [(job, out / f"tune-{job}" / RESULT) for job in JOBS]
    there = [(job, file) for job, file in found if file.is_file()]
    if not there:
        raise BadInput(f"{out}: nothing was tuned; `python -m experiments.foresight tune-{JOBS[0]}` does it")
    return [_write(job, json.loads(file.read_text(encoding="utf-8"))) for job, file in there]


def make_plan(job: str, chosen: Mapping[str, str]) -> str:
    """The plan that scores chosen settings on a job."""
    others = ", ".join(other for other in JOBS if other != job)
    lines = [
        f"# The best settings of each policy on {job}, chosen by a search on the other half of the recordings.",
        "# Written by `python -m experiments.foresight --settle`.",
        "include: [common.yaml, promises.yaml, scored-half.yaml]",
        f"about: What do policies pay with the settings that are best for them on {job}?",
        "what: {}",
        "how:",
        "  policy:",
        *(f"    {policy}: {json.dumps(text)}" for policy, text in chosen.items()),
        "  seeds: [1, 2]",
        "cases:",
        "  - {where: {policy: spark-dra}, set: {tick: 1s}}" if "spark-dra" in chosen else "  []",
        "exclude:",
        f"  - {{where: {{model: [{others}]}}, why: settings are those of {job}}}",
        "",
    ]
    return "\n".join(lines)


def _write(job: str, tuning: Mapping[str, list[dict[str, str]]]) -> Path:
    chosen = {one["policy"].partition("(")[0]: one["chosen"] for one in tuning["policies"]}
    file = HERE / f"best-{job}.yaml"
    file.write_text(make_plan(job, chosen), encoding="utf-8")
    return file
