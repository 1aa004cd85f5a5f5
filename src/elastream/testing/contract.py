"""What all checks share: how a broken contract is told, the looks that are planned, and purity."""

import json
import math
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

from pydantic import TypeAdapter

from elastream.config import settings_of
from elastream.core.knowledge import Knowledge
from elastream.core.observation import Observation
from elastream.core.protocols import Guard, Policy
from elastream.testing.stories import application, tell

LOAD = "cosine(5k..70k, period=20m, noise=5k) + spike(30k, at=12m, for=2m)"

_LOOKS_PLANNED_ELSEWHERE = 60


class ContractBroken(AssertionError):
    """A policy or a guard does what none may do."""


def require(holds: bool, told: str) -> None:
    """Raise ContractBroken with what was found."""
    if not holds:
        raise ContractBroken(told)


@cache
def recorded_looks(slots: int = 1) -> tuple[Observation, ...]:
    """Half an hour of an application under a moving load, to be planned again."""
    return tuple(tell(application(slots_per_worker=slots, initial_workers=4), LOAD, "threshold", minutes=30).looks())


def name_class(built: object) -> str:
    """The class of what is tested, for sentences about it."""
    return type(built).__name__


def are_finite(value: object) -> bool:
    """Whether no number in plain values is infinite or none at all."""
    if isinstance(value, Mapping):
        return all(are_finite(item) for item in value.values())
    if isinstance(value, list | tuple):
        return all(are_finite(item) for item in value)
    return not isinstance(value, float) or math.isfinite(value)


def what_is_known(known: Knowledge) -> dict[str, object]:
    """All of it, but for how far back somebody has asked: with batches of minutes a window is longer than was said."""
    return {part: value for part, value in known.to_json().items() if part != "asked_s"}


def survives_json(value: object) -> bool:
    """Whether a value is plain: text made of it reads back as itself."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError):
        return False


def check_pure(*tested: Policy[Any] | Guard[Any], kind: Literal["policy", "guard"] = "policy") -> None:
    """Two processes with other clocks, random seeds, hash seeds and time zones plan the same, and touch nothing."""
    labels = {f"{n} {name_class(one)}": one for n, one in enumerate(tested)}
    what = {label: [kind, _path(one), settings_of(one)] for label, one in labels.items()}
    dump = TypeAdapter(Observation).dump_json
    looks = [dump(now) for now in recorded_looks()[:_LOOKS_PLANNED_ELSEWHERE]]
    told = b"\n".join([json.dumps(what).encode(), *looks])
    one, other = (_planned_elsewhere(told, moment, seed) for moment, seed in (("1e9", "1"), ("2e9", "77")))
    for label in labels:
        name = label.partition(" ")[2]
        troubles = [trouble for _, troubles in one[label] for trouble in troubles]
        require(not troubles, f"{name} is not pure: {troubles[0] if troubles else ''}")
        same = one[label] == other[label]
        require(same, f"{name} is not pure: in another process, at another time, it decides otherwise")


def _path(built: object) -> str:
    cls = type(built)
    if cls.__module__ == "__main__" or "." in cls.__qualname__:
        raise ContractBroken(f"{cls.__qualname__} must stand at the top of a module, so that other processes find it")
    return f"{cls.__module__}:{cls.__qualname__}"


def _planned_elsewhere(told: bytes, moment: str, hash_seed: str) -> dict[str, Any]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(part for part in sys.path if part),
        "PYTHONHASHSEED": hash_seed,
        "TZ": "Asia/Tokyo" if hash_seed == "1" else "UTC",
    }
    done = subprocess.run(
        [sys.executable, "-m", "elastream.testing.purity", moment],
        input=told, capture_output=True, env=environment, check=False,
    )  # fmt: skip
    last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    require(done.returncode == 0, f"it cannot be planned in another process: {last}")
    plans: dict[str, Any] = json.loads(done.stdout)
    return plans
