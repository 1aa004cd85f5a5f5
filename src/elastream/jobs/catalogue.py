"""All jobs: importing this module registers them. A job as people write it."""

import re

from elastream.core.callform import parse_call
from elastream.core.errors import BadInput, UnknownName
from elastream.jobs import aggregation as aggregation
from elastream.jobs import enrichment as enrichment
from elastream.jobs import nexmark as nexmark
from elastream.jobs import passing as passing
from elastream.jobs import taxi as taxi
from elastream.jobs import traffic as traffic
from elastream.jobs import wordcount as wordcount
from elastream.jobs import yahoo as yahoo
from elastream.jobs.job import Job, jobs
from elastream.registry.class_file import read_class_file, run_line

__all__ = ["jobs", "parse_job", "require_class"]

_FILE = re.compile(r"\s*([^(]*\.py)(?::(\w+))?\s*(?:\(.*)?", re.DOTALL)


def parse_job(text: str) -> Job:
    """`wordcount`, `deduplicate(watermark="1 minute")`, `package.module:Class` or `my_job.py:Class`; or BadInput."""
    require_class(text)
    return jobs.build_call(parse_call(text, what="job"))


def require_class(text: str) -> None:
    """A script is no job, and is not run to find that out; who forgot the class is told the line to write."""
    file = _FILE.fullmatch(text)
    if file is None:
        return
    path, name = file[1], file[2]
    found = read_class_file(path, "job")
    known = found.classes_with("query")
    is_imported = name is not None and name not in found.classes() and found.may_have(name)
    if not known and not is_imported:
        run = run_line(path, kafka=found.speaks_of_kafka())
        raise BadInput(f"job {path}: no class in it is a job; a script runs as it is: {run}; a job: docs/extend.md")
    if name is None:
        raise BadInput(f"job {path}: name its class too: {' or '.join(f'{path}:{one}' for one in known)}")
    if name not in known and not is_imported:
        raise UnknownName(f"job {path}: it has no job", name, known)
