"""A policy that takes part in an experiment, as its user wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from elastream.core.protocols import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A policy as the user wrote it."""

    label: str
    """What to call it: its name, with the settings if some were given."""
    name: str
    policy: Policy[Any]


def folder_names(contenders: Sequence[Contender]) -> dict[str, str]:
    """Label -> folder: the policy's name, with its settings only where a name stands twice."""
    names = [one.name for one in contenders]
    return {
        one.label: re.sub(r"[^\w.]+", "-", one.name if names.count(one.name) == 1 else one.label).strip("-")
        for one in contenders
    }
