"""What runs in a probe: a job of the catalogue over the embedded source, or a user's own script over Kafka."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from elastream.core.errors import BadInput
from elastream.experiments.scalability import job_script
from elastream.experiments.scalability.asked import ScalabilityOrder
from elastream.experiments.scalability.layout import PUBLISHED, Layout
from elastream.experiments.scalability.probe import ProbeTerms, find_read_limit
from elastream.jobs.benching import own_pace
from elastream.jobs.catalogue import parse_job
from elastream.jobs.inputs import stream_options
from elastream.jobs.settings import settings_of

ORDERS = "orders.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobApplication:
    """A job of the catalogue, or a class of somebody's. The embedded source makes its events in its tasks."""

    job: str
    events: Mapping[str, str] = field(default_factory=dict)
    slot_rps: float | None = None
    trigger_s: float | None = None
    seed: int = 0
    here: Path = field(default_factory=Path.cwd)

    @property
    def options(self) -> Sequence[str]:
        """None."""
        return ()

    def settings(self, layout: Layout) -> Mapping[str, str]:
        """Those of all our jobs, and the published ones that do not follow the layout."""
        return {**settings_of(layout.slots), **PUBLISHED, "spark.ui.showConsoleProgress": "false"}

    def command(self, terms: ProbeTerms, folder: Path) -> list[str]:
        """The script that runs it, with its orders."""
        orders = {
            "job": _from_anywhere(self.job, self.here), "events": self.options_of(terms), "slot_rps": self.slot_rps,
            "trigger_s": self.trigger_s,
        }  # fmt: skip
        file = folder / ORDERS
        file.write_text(json.dumps(orders, indent=2) + "\n", encoding="utf-8")
        return [str(Path(job_script.__file__)), str(file)]

    def options_of(self, terms: ProbeTerms) -> dict[str, str]:
        """Of the events at this rate; a partition for each slot, and a batch reads 20 s of input at most."""
        return {
            "workload": f"constant({terms.rate_rps:g})", "seed": str(self.seed), "partitions": str(terms.cores),
            "rowsPerBatch": str(find_read_limit(terms)), **own_pace(parse_job(self.job), terms.rate_rps), **self.events,
        }  # fmt: skip

    def load(self, terms: ProbeTerms, folder: Path) -> None:
        """The source is the load."""

    def check(self, terms: ProbeTerms) -> None:
        """BadInput if no events can be made with these options."""
        stream_options(parse_job(self.job), self.options_of(terms))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptApplication:
    """Somebody's script, unchanged, over a topic that is written at the probe's rate.

    In its arguments, and in the command of a producer, {folder} is the folder of the probe, where a checkpoint belongs:
    one that is shared would have the backlog of the probe before. It runs in that folder, so that relative paths are
    new in each probe too.
    """

    script: Path
    arguments: tuple[str, ...]
    topic: str
    bootstrap: str
    source: str | None
    """What `elastream produce` writes."""
    producer: str | None = None
    """Somebody's own producer, as a command line; {rate} is the rate."""

    @property
    def options(self) -> Sequence[str]:
        """The connector."""
        return ("--kafka",)

    def settings(self, layout: Layout) -> Mapping[str, str]:
        """The script's own."""
        return {}

    def command(self, terms: ProbeTerms, folder: Path) -> list[str]:
        """The script with its arguments."""
        return [str(self.script.absolute()), *(_filled(one, terms, folder, self) for one in self.arguments)]

    def load(self, terms: ProbeTerms, folder: Path) -> list[str]:
        """Who writes."""
        if self.producer is not None:
            return [_filled(word, terms, folder, self) for word in shlex.split(self.producer)]
        return [
            sys.executable, "-m", "elastream", "produce", self.source or "keyed", "--workload",
            f"constant({terms.rate_rps:g})", "--topic", self.topic, "--bootstrap", self.bootstrap,
        ]  # fmt: skip


def find_application(order: ScalabilityOrder) -> JobApplication | ScriptApplication:
    """What an order runs; BadInput if it cannot be run."""
    if order.script is not None:
        given = order.script
        if given.producer is not None:
            check_producer(given.producer)
        return ScriptApplication(
            script=Path(order.job), arguments=given.arguments, topic=given.topic, bootstrap=given.bootstrap,
            source=given.source, producer=given.producer,
        )  # fmt: skip
    application = JobApplication(
        job=order.job, events=order.events, slot_rps=order.slot_rps, trigger_s=order.trigger_s, seed=order.seed
    )
    application.check(order.terms)
    return application


def check_producer(command: str) -> None:
    """BadInput if it cannot be told at which rate to write."""
    try:
        words = shlex.split(command)
    except ValueError as wrong:
        raise BadInput(f"--producer: {wrong}") from None
    if not any("{rate}" in word for word in words):
        raise BadInput(f"--producer: found {command!r}; it must say where the rate goes: --rate {{rate}}")


def _filled(text: str, terms: ProbeTerms, folder: Path, application: ScriptApplication) -> str:
    known = {"{rate}": f"{terms.rate_rps:g}", "{folder}": str(folder), "{topic}": application.topic,
             "{bootstrap}": application.bootstrap}  # fmt: skip
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def _from_anywhere(job: str, here: Path) -> str:
    """A file of jobs is named from where the user stands, and a probe runs elsewhere."""
    path, colon, name = job.partition(".py:")
    return f"{(here / path).absolute()}.py:{name}" if colon else job
