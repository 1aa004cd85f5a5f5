"""The settings of a run: what can be set, where it may be written, and which of several writers wins."""

from elastream.config.guards import build_guards, guard_key, guard_name, guards, settings_of
from elastream.config.resolve import Resolution, Resolved, resolve
from elastream.config.settings import (
    ExecutorSettings,
    JournalSettings,
    PrometheusSettings,
    Settings,
    SloSettings,
    leaves,
)
from elastream.config.sources import set_arguments, spark_arguments, spark_defaults

__all__ = [
    "ExecutorSettings",
    "JournalSettings",
    "PrometheusSettings",
    "Resolution",
    "Resolved",
    "Settings",
    "SloSettings",
    "build_guards",
    "guard_key",
    "guard_name",
    "guards",
    "leaves",
    "resolve",
    "set_arguments",
    "settings_of",
    "spark_arguments",
    "spark_defaults",
]
