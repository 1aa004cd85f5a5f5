"""Options in words: durations, bounds, policies, guards and faults, each with an error that names its option."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.core.callform import Call, Range, Value, parse_call
from elastream.core.errors import BadInput
from elastream.core.quantity import parse_quantity
from elastream.experiments.contender import Contender

if TYPE_CHECKING:
    from elastream.simulator.faults import Fault


def read_seconds(text: str, option: str) -> float:
    """A duration that is longer than nothing."""
    try:
        quantity = parse_quantity(text)
    except BadInput as wrong:
        raise BadInput(f"{option}: {wrong}; write it as 90s, 140m or 2h") from None
    if quantity.unit == "%" or quantity.value <= 0:
        raise BadInput(f"{option}: found {text!r}; it must be a duration longer than 0, such as 90s, 140m or 2h")
    return quantity.value


def read_policy(text: str, base: dict[str, Any] | None = None) -> Contender:
    """`threshold(high=0.9)`. `base` are settings from elsewhere, which those in the text override."""
    from elastream.policies import policies
    from elastream.registry.settings import field_named

    require_one(text)
    call = parse_call(text, what="policy")
    if not base:
        built = policies.build_call(call)
    else:
        cls, label = policies.get(call.name), f"policy {call.name}"
        given = {**base, **read_arguments(call)}
        # By full names, so that `window` in one place overrides `window_s` in the other.
        built = policies.build(call.name, {field_named(cls, key, label): value for key, value in given.items()})
    label = call.name if call.is_bare else " ".join(text.split())
    return Contender(label=label, name=call.name, policy=built)


def require_one(text: str) -> None:
    """Several policies in one text are a frequent slip."""
    names = re.sub(r"\([^()]*\)", "", text).split(",")
    if len(names) > 1:
        raise BadInput(f"--policy: found {text!r}; name one policy; `simulate` compares several: repeat --policy")


def read_guards(texts: Sequence[str]) -> dict[str, dict[str, Any]]:
    """`cool-down(after=300s)`: name -> settings, as the configuration has them."""
    from elastream.config import guard_key, guard_name, guards
    from elastream.config.guards import guard_setting

    found: dict[str, dict[str, Any]] = {}
    for text in texts:
        call = parse_call(text, what="guard")
        name = guard_key(call.name)
        guards.get(guard_name(name))
        if name in found:
            raise BadInput(f"guard {guard_name(name)} is given twice")
        found[name] = dict(guard_setting(name, key, value) for key, value in read_arguments(call).items())
    return found


def read_faults(texts: Sequence[str]) -> list[Fault]:
    """`worker-loss(at=10m)`."""
    from elastream.simulator.faults import faults

    return [faults.build_call(parse_call(text, what="fault")) for text in texts]


def read_arguments(call: Call) -> dict[str, object]:
    """The settings of a call that has only named ones."""
    unnamed = next((argument for argument in call.arguments if argument.key is None), None)
    if unnamed is not None:
        raise BadInput(f"{call.name}: column {unnamed.column}: a value without a name; write it as name=value")
    return {argument.key: _plain(argument.value) for argument in call.arguments if argument.key is not None}


def _plain(value: Value) -> object:
    if isinstance(value, Range):
        return [value.low, value.high]
    return value.name if isinstance(value, Call) else value


def journal_folder(path: Path) -> Path:
    """The journal that a path means: itself, or the only run in a folder of runs."""
    runs = journal_folders(path)
    if len(runs) > 1:
        raise BadInput(f"{path}: it holds several runs; name one of them: {', '.join(str(run) for run in runs)}")
    return runs[0]


def journal_folders(path: Path) -> list[Path]:
    """Every journal that a path means: itself, or all runs in a folder of runs."""
    from elastream.journal.writer import journal_files

    if not path.exists():
        raise BadInput(f"{path}: there is no such folder or file; `elastream simulate --out {path}` makes one")
    if not path.is_dir() or journal_files(path):
        return [path]
    runs = sorted(folder for folder in path.iterdir() if folder.is_dir() and journal_files(folder))
    if not runs:
        raise BadInput(f"{path}: no journal in this folder")
    return runs
