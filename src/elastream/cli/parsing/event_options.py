"""Options of a job's events as a user gives them: those with a flag, and those that no stream knows, are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from elastream.cli.parsing.texts import read_pairs
from elastream.core.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from elastream.jobs.job import Job

_FIXED = ("generator", "payload", "start")


def read_event_options(texts: Sequence[str], job: Job, flags: Mapping[str, str]) -> dict[str, str]:
    """What stands behind every `--option`; `flags` are the options that the command has as flags of its own."""
    from elastream.jobs.inputs import known_options

    given = read_pairs(texts, "--option")
    known = known_options(job)
    decided = {*_FIXED, *(name.lower() for stream in job.streams for name in stream.options)}
    for name in given:
        if flag := flags.get(name.lower()):
            raise BadInput(f"--option {name}: give it as {flag}")
        if name.lower() in decided:
            raise BadInput(f"--option {name}: the job itself decides that")
        if name.lower() not in (one.lower() for one in known):
            raise UnknownName("--option: the events of this job have no option", name, known)
    return given
