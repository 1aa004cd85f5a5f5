"""Things chosen by name and built from settings: policies, workloads, jobs, platforms.

A registered class is a frozen dataclass; its fields are its settings. Text from a command line, values from YAML and
parsed quantities all become what the field's type says, or one line tells what is wrong.
"""

from elastream.registry.hints import UNIT_SUFFIXES, without_unit
from elastream.registry.registry import Registry
from elastream.registry.settings import Setting, check_settings, read_settings, setting

__all__ = [
    "UNIT_SUFFIXES",
    "Registry",
    "Setting",
    "check_settings",
    "read_settings",
    "setting",
    "without_unit",
]
