"""An autoscaler for Spark Structured Streaming, and a laboratory that compares autoscalers.

Names are looked up when they are first used: inside somebody else's job, importing Elastream costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elastream.attachment import attach
    from elastream.core.decision import Decision
    from elastream.core.errors import BadInput, CannotRun, ElastreamError
    from elastream.core.knowledge import Knowledge
    from elastream.core.needs import Need
    from elastream.core.observation import Observation
    from elastream.core.protocols import Guard, Platform, Policy
    from elastream.core.signals import Signal
    from elastream.journal.reader import read
    from elastream.journal.replay import replay
    from elastream.policies import policies
    from elastream.registry import setting
    from elastream.simulator.run import Simulation
    from elastream.spark.session import configure, session_settings
    from elastream.workloads import parse_workload, workloads

    __version__: str

__all__ = [
    "BadInput",
    "CannotRun",
    "Decision",
    "ElastreamError",
    "Guard",
    "Knowledge",
    "Need",
    "Observation",
    "Platform",
    "Policy",
    "Signal",
    "Simulation",
    "__version__",
    "attach",
    "configure",
    "parse_workload",
    "policies",
    "read",
    "replay",
    "session_settings",
    "setting",
    "workloads",
]

_HOMES = {
    "BadInput": "core.errors",
    "CannotRun": "core.errors",
    "Decision": "core.decision",
    "ElastreamError": "core.errors",
    "Guard": "core.protocols",
    "Knowledge": "core.knowledge",
    "Need": "core.needs",
    "Observation": "core.observation",
    "Platform": "core.protocols",
    "Policy": "core.protocols",
    "Signal": "core.signals",
    "Simulation": "simulator.run",
    "attach": "attachment",
    "configure": "spark.session",
    "parse_workload": "workloads",
    "policies": "policies",
    "read": "journal.reader",
    "replay": "journal.replay",
    "session_settings": "spark.session",
    "setting": "registry",
    "workloads": "workloads",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__)
    except PackageNotFoundError:  # shipped to a cluster as a zip
        return "unknown"
