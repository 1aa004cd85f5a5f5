"""What a folder of runs holds, read once: the plan, its runs, and where they came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elastream.experiments.comparison import Comparison, compare
from elastream.experiments.store.folder import ENVIRONMENT, PLAN, RunStore, StoredRun
from elastream.experiments.store.stored_files import read_environment_file, read_plan_file


@dataclass(frozen=True, slots=True)
class Contents:
    """A folder of runs."""

    folder: Path
    name: str
    plan: Mapping[str, Any]
    """As it was written; empty where it cannot be read."""
    runs: Sequence[StoredRun]
    """Finished by the present code: those that count."""
    comparison: Comparison
    failures: Mapping[str, int]
    """Error -> runs that ended with it."""
    origins: Mapping[str, Mapping[str, int]]
    """What of where runs came from -> value -> how many runs have it."""

    @property
    def promised(self) -> float | None:
        """The share of records that is to be in time; None where nothing or not the same is promised everywhere."""
        return self._promise("share")

    @property
    def promised_s(self) -> float | None:
        """Within which delay."""
        return self._promise("delay_s")

    def _promise(self, part: str) -> float | None:
        found = {(one.document["what"].get("slo") or {}).get(part) for one in self.runs}
        return found.pop() if len(found) == 1 else None


def read_contents(folder: Path) -> Contents:
    """Read a folder of runs; BadInput if it is none."""
    stored = [(run, run.state_now) for run in RunStore(folder).require().runs()]
    name, plan = read_plan_file(folder / PLAN)
    runs = [run for run, state in stored if state == "finished"]
    errors = Counter(run.error or state for run, state in stored if state in ("failed", "damaged"))
    origins: dict[str, Counter[str]] = {}
    for run in runs:
        for what, value in _tell_origin(read_environment_file(run.folder / ENVIRONMENT)).items():
            origins.setdefault(what, Counter())[value] += 1
    return Contents(folder, name or folder.name, plan, runs, compare(stored), errors, origins)


def _tell_origin(environment: Mapping[str, Any]) -> dict[str, str]:
    machine, versions = environment.get("machine", {}), environment.get("versions", {})
    return {
        "commit": environment.get("commit") or "not from a checkout",
        "machine": ", ".join(str(machine[key]) for key in ("processor", "system") if key in machine) or "unknown",
        "cores": str(machine.get("cores", "unknown")),
        "versions": ", ".join(f"{name} {number}" for name, number in versions.items()) or "unknown",
    }
