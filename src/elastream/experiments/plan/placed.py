"""A plan as one document that can lie elsewhere: whatever it includes is in it, and its files are named from there."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from elastream.core.errors import BadInput
from elastream.experiments.plan.fields import Axis, One, read_text
from elastream.experiments.plan.reader import Plan
from elastream.workloads import Pattern, parse_workload
from elastream.workloads.pattern import Product, Sum
from elastream.workloads.trace import Trace
from elastream.workloads.tracefile import is_recording

Place = Callable[[Path], str]
"""A file that a plan reads -> how it is named from where the plan will lie."""
_LABELS = Axis(One(read_text))


def name_absolutely(file: Path) -> str:
    """From anywhere on this machine."""
    # A link keeps its name, for loads are called by it.
    return os.path.abspath(file)  # noqa: PTH100


def place_content(plan: Plan, place: Place) -> dict[str, Any]:
    """What a plan says, with other names for the models and recorded loads that it reads."""
    what = dict(plan.content["what"]) if isinstance(plan.content["what"], Mapping) else {}
    for key, change in (("model", _place_model), ("workload", _place_workload)):
        if key not in what:
            continue
        written = {label: str(text) for label, text in _LABELS.spread(what[key]).items()}
        placed = {label: change(plan.folder("what", key, label), text, place) for label, text in written.items()}
        if placed != written:
            what[key] = placed
    if "traces" in what:
        what["traces"] = [
            name
            for number, pattern in enumerate(plan.document.what.traces)
            for name in _place_pattern(plan.folder("what", "traces", number), pattern, place)
        ]
    return {**plan.content, "what": what}


def _place_model(folder: Path, text: str, place: Place) -> str:
    is_file = text.endswith((".yaml", ".yml")) and (folder / text).is_file()
    return place(folder / text) if is_file else text


def _place_workload(folder: Path, text: str, place: Place) -> str:
    try:
        load = parse_workload(text)
    except BadInput:
        # What is drawn stands in braces there; a file that is named by a draw stays as it is.
        return text
    placed = _place_traces(load, folder, place)
    return text if placed == load else str(placed)


def _place_traces(load: Pattern, folder: Path, place: Place) -> Pattern:
    """Shipped recordings have names and no place."""
    if isinstance(load, Trace) and is_recording(str(folder / load.file)) and (folder / load.file).is_file():
        return replace(load, file=place(folder / load.file))
    if isinstance(load, Sum | Product):
        return replace(load, terms=tuple(_place_traces(term, folder, place) for term in load.terms))
    return load


def _place_pattern(folder: Path, pattern: str, place: Place) -> list[str]:
    # A pattern may go up (`..`), which a path's own glob does not.
    files = sorted(glob.glob(str(folder / pattern)))  # noqa: PTH207
    return [place(Path(file)) for file in files if is_recording(file)] or [str(folder / pattern)]
