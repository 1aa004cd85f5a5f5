"""The folder of a scalability experiment: what was asked, and every probe with its verdict. Nothing finished is lost.

OUT/asked.json                      what decides the results; another experiment is refused there
OUT/LAYOUT/probe-001-RATE/          probe.json (terms, verdict), moments.csv, and what was recorded of a live one
OUT/scalability.json, .html         what it came to
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from elastream.core.decision import Json
from elastream.core.errors import BadInput
from elastream.core.input_file import read_input
from elastream.core.sanitizer import sanitizer
from elastream.experiments.scalability.layout import Layout
from elastream.experiments.scalability.limits import ProbeLimit
from elastream.experiments.scalability.probe import ProbeMoment, ProbeState, ProbeVerdict
from elastream.experiments.scalability.recording import MOMENTS, read_moments, write_moments
from elastream.experiments.scalability.search import ProbedRate

ASKED, PROBE = "asked.json", "probe.json"
RESULT, PAGE = "scalability.json", "scalability.html"
_STATES = get_args(ProbeState)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProbe:
    """One that has ended."""

    number: int
    layout: Layout
    rate_rps: float
    verdict: ProbeVerdict
    lasted_s: float
    folder: Path
    limits: tuple[ProbeLimit, ...] = ()
    """What kept the job from the rate, the most telling first."""

    @property
    def probed(self) -> ProbedRate:
        """As the search sees it."""
        return ProbedRate(rate_rps=self.rate_rps, state=self.verdict.state)

    def moments(self) -> dict[str, list[ProbeMoment]]:
        """What was recorded, by query."""
        return read_moments(self.folder / MOMENTS)

    def as_json(self) -> dict[str, Json]:
        """As plain values."""
        return {
            "layout": self.layout.name, "rate_rps": self.rate_rps, "state": self.verdict.state,
            "reason": self.verdict.reason, "evidence": self.verdict.evidence, "lasted_s": round(self.lasted_s, 1),
            "limits": [asdict(one) for one in self.limits], "folder": self.folder.name,
        }  # fmt: skip


class ProbeStore:
    """The probes of one experiment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def open(self, asked: Mapping[str, Json]) -> None:
        """Make the folder; BadInput if it holds another experiment."""
        file = self.folder / ASKED
        text = json.dumps(asked, indent=2, sort_keys=True) + "\n"
        # As it is read again: lists are no tuples.
        asked = json.loads(text)
        if not file.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            if any(self.folder.iterdir()):
                raise BadInput(f"--out {self.folder}: is not empty and holds no scalability experiment; name another")
            file.write_text(text, encoding="utf-8")
            return
        found = _read(file)
        other = [name for name in {*found, *asked} if found.get(name) != asked.get(name)]
        if other:
            name = min(other)
            raise BadInput(
                f"--out {self.folder}: holds probes of another experiment ({name}: {found.get(name)!r}, asked for "
                f"{asked.get(name)!r}); name another folder"
            )

    def asked(self) -> dict[str, Any]:
        """What was asked for; BadInput where nothing was."""
        file = self.folder / ASKED
        if not file.exists():
            raise BadInput(f"{self.folder}: holds no scalability experiment")
        return _read(file)

    def begin(self, layout: Layout, rate_rps: float) -> Path:
        """An empty folder for the next probe of a layout."""
        above = self.folder / layout.name
        above.mkdir(exist_ok=True)
        # What was interrupted has no verdict, and its number is free.
        for torn in above.glob("probe-*"):
            if not (torn / PROBE).exists():
                shutil.rmtree(torn, ignore_errors=True)
        number = max((probe.number for probe in self.probes(layout)), default=0) + 1
        folder = above / f"probe-{number:03d}-{rate_rps:g}"
        folder.mkdir()
        return folder

    def keep(
        self,
        folder: Path,
        layout: Layout,
        rate_rps: float,
        verdict: ProbeVerdict,
        moments: Mapping[str, Sequence[ProbeMoment]],
        limits: Sequence[ProbeLimit] = (),
    ) -> StoredProbe:
        """Write down a probe that has ended; with the last file it counts."""
        lasted_s = max((one.at_s for series in moments.values() for one in series), default=0.0)
        write_moments(moments, folder / MOMENTS)
        document = {
            "layout": asdict(layout), "rate_rps": rate_rps, "verdict": asdict(verdict), "lasted_s": lasted_s,
            "limits": [asdict(one) for one in limits],
        }  # fmt: skip
        scratch = folder / f"{PROBE}.new"
        scratch.write_text(json.dumps(sanitizer().texts(document), indent=2) + "\n", encoding="utf-8")
        scratch.rename(folder / PROBE)
        return _parse(folder)

    def probes(self, layout: Layout) -> list[StoredProbe]:
        """All that have ended, in their order."""
        folders = sorted((self.folder / layout.name).glob("probe-*"))
        return [_parse(folder) for folder in folders if (folder / PROBE).exists()]


def _parse(folder: Path) -> StoredProbe:
    file = folder / PROBE
    found = _read(file)
    try:
        verdict = ProbeVerdict(**found["verdict"])
        probe = StoredProbe(
            number=int(folder.name.split("-")[1]),
            layout=Layout(**found["layout"]),
            rate_rps=float(found["rate_rps"]),
            verdict=verdict,
            lasted_s=float(found["lasted_s"]),
            folder=folder,
            limits=tuple(ProbeLimit(**one) for one in found["limits"]),
        )
        if verdict.state not in _STATES or not math.isfinite(probe.rate_rps) or probe.rate_rps <= 0:
            raise ValueError("no such verdict or rate")
    except (KeyError, TypeError, ValueError, IndexError) as wrong:
        raise BadInput(f"{file}: is no probe: {wrong}; remove its folder to have it run again") from None
    return probe


def _read(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_input(file))
    except (OSError, ValueError, RecursionError) as wrong:
        raise BadInput(f"{file}: cannot be read: {wrong}") from None
    if not isinstance(found, dict):
        raise BadInput(f"{file}: is no description of ours")
    safe: dict[str, Any] = sanitizer().texts(found)
    return safe
