"""What runs in a probe: a job of the catalogue, or a class of a user's, over the embedded source."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

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
    trigger_s: float | None = None
    seed: int = 0
    here: Path = field(default_factory=Path.cwd)

    def settings(self, layout: Layout) -> Mapping[str, str]:
        """Those of all our jobs, and the published ones that do not follow the layout."""
        return {**settings_of(layout.slots), **PUBLISHED, "spark.ui.showConsoleProgress": "false"}

    def command(self, terms: ProbeTerms, folder: Path) -> list[str]:
        """The script that runs it, with its orders."""
        orders = {
            "job": _from_anywhere(self.job, self.here), "events": self.options_of(terms),
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

    def check(self, terms: ProbeTerms) -> None:
        """BadInput if no events can be made with these options."""
        stream_options(parse_job(self.job), self.options_of(terms))


def find_application(order: ScalabilityOrder) -> JobApplication:
    """What an order runs; BadInput if it cannot be run."""
    application = JobApplication(job=order.job, events=order.events, trigger_s=order.trigger_s, seed=order.seed)
    application.check(order.terms)
    return application


def _from_anywhere(job: str, here: Path) -> str:
    """A file of jobs is named from where the user stands, and a probe runs elsewhere."""
    path, colon, name = job.partition(".py:")
    return f"{(here / path).absolute()}.py:{name}" if colon else job
