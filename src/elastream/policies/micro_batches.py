"""What policies do where queries run micro-batches, as it was measured.

Most of them were made for engines without batches. There a pool that is full shows it; here it may show a processor use
of 0.45, and who takes 1 for full is misled. `micro_batches.json` holds the figures and the command that measures them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FIGURES = Path(__file__).with_suffix(".json")


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCase:
    """One case: a steady load, and where the policy came to rest under it."""

    case: str
    needed: int
    """The fewest workers that keep up."""
    workers: float
    """What the policy has on average in the end."""
    delay_s: float
    """How long the oldest record waits in the end."""
    keeps_up: bool


@cache
def read_figures() -> dict[str, Any]:
    """All of them, and what measured them."""
    found: dict[str, Any] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def find_command() -> str:
    """What measures all of it anew."""
    return str(read_figures()["command"])


def find_measured(name: str) -> tuple[BatchCase, ...]:
    """The cases of a policy; none where it was not measured."""
    needed, cases = read_figures()["cases"], read_figures()["policies"].get(name, {})
    return tuple(BatchCase(case=case, needed=needed[case], **figures) for case, figures in cases.items())


def find_error(name: str) -> str | None:
    """By how much a policy is misled, in words; None where it was not measured."""
    cases = find_measured(name)
    return spell_error(cases) if cases else None


def spell_error(cases: Sequence[BatchCase]) -> str:
    """By how much somebody with these cases is misled."""
    shares = sorted({f"{one.workers / one.needed:.2f}" for one in cases}, key=float)
    size = f"{' to '.join([shares[0], *shares[1:][-1:]])} x need"
    late = [one for one in cases if not one.keeps_up]
    if not late:
        return f"keeps up, {size}"
    return f"misled: {len(late)} of {len(cases)} fall behind, to {max(one.delay_s for one in late):,.0f} s; {size}"
