"""An autoscaler for Spark Structured Streaming, and a laboratory that compares autoscalers.

Names are looked up when they are first used: inside somebody else's job, importing Elastream costs nothing. What stands
here is public, with `elastream.testing`; `tests/unit/public_api.txt` pins it. No public name is that of a module.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elastream.attachment import Attachment, Status, attach
    from elastream.config.guards import register_guard
    from elastream.core.decision import Decision
    from elastream.core.errors import BadInput, CannotRun, ElastreamError
    from elastream.core.knowledge import Knowledge
    from elastream.core.needs import Need
    from elastream.core.observation import Observation
    from elastream.core.protocols import Forgetful, Guard, Platform, Policy
    from elastream.core.signals import Signal
    from elastream.jobs.job import Job, Result, Stream, register_job
    from elastream.journal.reader import read
    from elastream.journal.replay import replay
    from elastream.policies import register_policy
    from elastream.registry import setting
    from elastream.simulator.run import Simulation
    from elastream.spark.jvm.snapshot import SourceSeen
    from elastream.spark.observe.offsets import Sample
    from elastream.spark.observe.probes import Probe, Reported, register_probe
    from elastream.spark.session import configure, session_settings
    from elastream.workloads import Pattern, RateSeries, parse_workload, register_workload
    from elastream.workloads.pattern import Streams

    __version__: str

__all__ = [
    "Attachment",
    "BadInput",
    "CannotRun",
    "Decision",
    "ElastreamError",
    "Forgetful",
    "Guard",
    "Job",
    "Knowledge",
    "Need",
    "Observation",
    "Pattern",
    "Platform",
    "Policy",
    "Probe",
    "RateSeries",
    "Reported",
    "Result",
    "Sample",
    "Signal",
    "Simulation",
    "SourceSeen",
    "Status",
    "Stream",
    "Streams",
    "__version__",
    "attach",
    "configure",
    "parse_workload",
    "read",
    "register_guard",
    "register_job",
    "register_policy",
    "register_probe",
    "register_workload",
    "replay",
    "session_settings",
    "setting",
]

_HOMES = {
    "Attachment": "attachment",
    "BadInput": "core.errors",
    "CannotRun": "core.errors",
    "Decision": "core.decision",
    "ElastreamError": "core.errors",
    "Forgetful": "core.protocols",
    "Guard": "core.protocols",
    "Job": "jobs.job",
    "Knowledge": "core.knowledge",
    "Need": "core.needs",
    "Observation": "core.observation",
    "Pattern": "workloads",
    "Platform": "core.protocols",
    "Policy": "core.protocols",
    "Probe": "spark.observe.probes",
    "RateSeries": "workloads",
    "Reported": "spark.observe.probes",
    "Result": "jobs.job",
    "Sample": "spark.observe.offsets",
    "Signal": "core.signals",
    "Simulation": "simulator.run",
    "SourceSeen": "spark.jvm.snapshot",
    "Status": "attachment",
    "Stream": "jobs.job",
    "Streams": "workloads.pattern",
    "attach": "attachment",
    "configure": "spark.session",
    "parse_workload": "workloads",
    "read": "journal.reader",
    "register_guard": "config.guards",
    "register_job": "jobs.job",
    "register_policy": "policies",
    "register_probe": "spark.observe.probes",
    "register_workload": "workloads",
    "replay": "journal.replay",
    "session_settings": "spark.session",
    "setting": "registry",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # shipped to a cluster as a zip
        return "unknown"
