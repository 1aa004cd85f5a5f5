"""What `--on` says: where the experiments of a plan run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from elastream.core.errors import BadInput, suggestion
from elastream.development.cluster.finder import NAME, Master, read_master
from elastream.experiments.plan.matrix import Case
from elastream.experiments.runner.runner import Here, Processes, RunnerBackend
from elastream.experiments.store.folder import RUNS, RunStore
from elastream.experiments.sweep.backend import SparkSweep
from elastream.experiments.sweep.session import sweep_session

LOG = "spark"
"""The folder of Spark's log, beside the runs."""
_WORDS = ("local", "processes", "spark", NAME)


def read_on(text: str, *, is_live: bool, environment: Path | None = None) -> RunnerBackend | Master:
    """A way to run experiments on this machine, or a master of Spark; BadInput if it is none, or cannot run these."""
    if text in ("local", "processes"):
        if environment is not None:
            raise BadInput(
                f"--environment: with --on {text} experiments run in the Python of this command; leave it out"
            )
        return Here() if text == "local" or is_live else Processes()
    master = _read_master(text)
    if is_live:
        raise BadInput(
            f"--on {text}: runs on spark have a session each and follow each other; leave --on out, and name a cluster "
            "in the plan: how: live: master"
        )
    return master


@contextmanager
def open_backend(
    found: RunnerBackend | Master,
    store: RunStore,
    cases: Sequence[Case],
    *,
    environment: Path | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[RunnerBackend]:
    """What runs the experiments, with its session if it needs one."""
    if not isinstance(found, Master):
        yield found
        return
    with sweep_session(found, (store.folder / LOG).absolute(), environment=environment) as spark:
        yield SparkSweep(spark, store.folder / RUNS, [case.experiment for case in cases], tell=tell)


def _read_master(text: str) -> Master:
    if text == "spark":
        return Master(url="local[*]")
    if re.fullmatch(r"local\[(\*|[1-9]\d*)\]|yarn|\w+://.+", text) or text == NAME or Path(text).is_dir():
        return read_master(text, "--on")
    raise BadInput(
        f"--on: found {text!r}; it must be local, processes, spark, or a master such as local[4], spark://host:7077 or "
        f"{NAME} (of `elastream cluster up`){suggestion(text, _WORDS)}"
    )
