"""What an experiment is called on disk: a hash of what is run, and one of the code that decides what comes of it.

Equal hashes mean equal results, so that nothing is run twice; a folder with another hash of the code is stale. Whole
rooms count as that code, but for those whose parts stand side by side (`used_parts`): a run that is repeated in vain
costs less than one that is wrongly believed, and a policy that was mended says nothing of the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from elastream.core.input_file import MOST_BYTES, open_input
from elastream.experiments.experiment import Experiment, SimulatedModel
from elastream.experiments.store.foreign_code import find_foreign_code
from elastream.experiments.store.used_parts import ROOT, find_used_parts
from elastream.workloads import parse_workload
from elastream.workloads.trace import find_traces
from elastream.workloads.tracefile import find_file, is_recording

DECIDING = (
    "config", "core", "evaluation", "events", "loop", "registry", "workloads", "experiments/store/tables.py",
)  # fmt: skip
"""Rooms and files, for every platform and policy."""
OWN = {
    "simulator": ("simulator", "experiments/simulated.py", "experiments/demand.py", "experiments/optimum"),
    "live": (
        "attachment", "development", "jobs", "spark", "experiments/live_run.py", "experiments/live_query.py",
        "experiments/live_setup.py",
    ),
}  # fmt: skip
"""Of each, with what finds what its runs are compared with: a simulator that was mended says nothing new of what
executors did."""
EXPERIMENT_DIGITS, CODE_DIGITS = 16, 8


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """Which experiment, and run by which code."""

    experiment: str
    code: str

    def __str__(self) -> str:
        return f"{self.experiment}-{self.code}"


def identify(experiment: Experiment) -> Identity:
    """The identity of an experiment, as this code would run it."""
    plain = _without_spelling(experiment.as_json())
    inputs = [_digest_file(path) for _, path in find_inputs(experiment)]
    text = json.dumps([_named_by_content(plain, experiment), inputs], sort_keys=True)
    code = name_code(experiment.platform, experiment.policy.name, find_foreign_code(experiment))
    return Identity(sha256(text.encode()).hexdigest()[:EXPERIMENT_DIGITS], code)


def name_code(platform: str, policy: str, foreign: Iterable[Path]) -> str:
    """The code as it is now: ours, and the files of others that a run takes part of."""
    code = sha256(digest_code(platform, policy).encode())
    for file in foreign:
        code.update(_digest_foreign(file))
    return code.hexdigest()[:CODE_DIGITS]


def parse_identity(name: str) -> Identity | None:
    """The identity that a folder's name tells; None if it tells none."""
    experiment, dash, code = name.partition("-")
    sizes = len(experiment) == EXPERIMENT_DIGITS and len(code) == CODE_DIGITS
    is_hex = all(letter in "0123456789abcdef" for letter in experiment + code)
    return Identity(experiment, code) if dash and sizes and is_hex else None


@cache
def digest_code(platform: str, policy: str) -> str:
    """The code that decides what comes of a run of a policy on a platform."""
    digest = sha256()
    whole = [file for place in (*DECIDING, *OWN[platform]) for file in _files(ROOT / place)]
    for path in sorted({*whole, *find_used_parts(policy, (file for file in whole if file.suffix == ".py"))}):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [file for file in place.rglob("*") if _is_code(file)]


def _is_code(path: Path) -> bool:
    return path.suffix in (".py", ".java", ".yaml") and path.is_file()


def _digest_file(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()


def _digest_foreign(path: Path) -> bytes:
    """Of a file that the folder of a run names, whoever has written that; one that has gone is other code, too."""
    try:
        with open_input(path) as code:
            return sha256(code.read(MOST_BYTES)).hexdigest().encode()
    except (OSError, ValueError):
        return b"gone"


def find_inputs(experiment: Experiment) -> Iterator[tuple[str, Path]]:
    """Files that an experiment reads: as it names them, and where they lie."""
    for trace in find_traces(parse_workload(experiment.workload)):
        if is_recording(trace.file):
            yield trace.file, find_file(trace.file)
    if isinstance(experiment.subject, SimulatedModel) and experiment.subject.model.endswith((".yaml", ".yml")):
        yield experiment.subject.model, Path(experiment.subject.model)


def _named_by_content(plain: dict[str, Any], experiment: Experiment) -> dict[str, object]:
    """Without folders of files: where they lie says nothing of what is in them."""
    text = experiment.workload
    for trace in find_traces(parse_workload(text)):
        text = text.replace(trace.file, Path(trace.file).name)
    plain = {**plain, "workload": text}
    if isinstance(experiment.subject, SimulatedModel):
        plain["subject"] = {**plain["subject"], "model": Path(experiment.subject.model).name}
    return plain


def _without_spelling(value: object) -> Any:
    if isinstance(value, dict):
        return {key: _without_spelling(part) for key, part in value.items() if key != "written"}
    return [_without_spelling(part) for part in value] if isinstance(value, list) else value
