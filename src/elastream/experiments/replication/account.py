"""What a document's evaluation came to, run again: everything that its text and its page tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elastream.experiments.replication.results import PlanResults
from elastream.experiments.replication.scoring import TableScore


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A part of an evaluation: a question, its runs, and tables to agree with, if there are any."""

    title: str
    told: Sequence[str]
    """What to know before its numbers: a sentence or a paragraph each."""
    results: Sequence[PlanResults]
    scores: Sequence[TableScore]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A document's evaluation, run again."""

    document: str
    about: str
    command: str
    """What makes it."""
    chapters: Sequence[Chapter]
