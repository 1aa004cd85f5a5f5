"""The files of classes that others wrote and an experiment names: they decide its result as much as ours do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from inspect import getsourcefile
from pathlib import Path

from elastream.config.guards import guard_name, guards
from elastream.experiments.experiment import Experiment, SimulatedModel
from elastream.policies import policies
from elastream.simulator.faults import faults
from elastream.workloads import Pattern, parse_workload
from elastream.workloads.pattern import Product, Sum


def find_foreign_code(experiment: Experiment) -> tuple[Path, ...]:
    """Files of classes that are not ours, and what they import from beside them, in a fixed order."""
    found: dict[Path, None] = {}
    for cls in _classes(experiment):
        if cls.__module__.partition(".")[0] == "elastream":
            continue
        file = getsourcefile(cls)
        if file is not None:
            _add(found, Path(file).resolve())
    return tuple(sorted(found))


def _classes(experiment: Experiment) -> Iterator[type]:
    yield policies.get(experiment.policy.name)
    for guard in experiment.guards:
        yield guards.get(guard_name(guard.name))
    yield from _pattern_classes(parse_workload(experiment.workload))
    if isinstance(experiment.subject, SimulatedModel):
        for fault in experiment.subject.faults:
            yield faults.get(fault.name)
    else:
        # Jobs need Spark's Python, which the simulator does without.
        from elastream.jobs.catalogue import jobs

        yield jobs.get(experiment.subject.job.name)


def _pattern_classes(pattern: Pattern) -> Iterator[type]:
    yield type(pattern)
    for term in pattern.terms if isinstance(pattern, Sum | Product) else ():
        yield from _pattern_classes(term)


def _add(found: dict[Path, None], file: Path) -> None:
    """A file and what it imports, as far as that lies in its folder or below: what is installed has a version."""
    if file in found:
        return
    found[file] = None
    for name in _imported(file):
        place = file.parent.joinpath(*name.split("."))
        for candidate in (place.with_suffix(".py"), place / "__init__.py"):
            if candidate.is_file():
                _add(found, candidate)


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level <= 1:
            base = [node.module] if node.module else []
            yield from base
            yield from (".".join([*base, alias.name]) for alias in node.names)
