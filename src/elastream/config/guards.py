"""Guards from settings, and back."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from elastream.core.decision import Json
from elastream.core.errors import BadInput
from elastream.core.guards import ORDER
from elastream.core.protocols import Guard
from elastream.registry import Registry, read_settings
from elastream.registry.hints import hints, is_sequence
from elastream.registry.settings import field_named, shown_name

C = TypeVar("C")


def guard_name(key: str) -> str:
    """How a guard is called: `cool-down`. Both spellings are read everywhere; a class of others has one name."""
    return key if ":" in key else key.replace("_", "-")


def guard_key(name: str) -> str:
    """How the same is spelt in the paths of settings and in journals: `cool_down`."""
    return name if ":" in name else name.replace("-", "_")


guards: Registry[Guard[Any]] = Registry("guard", Guard, group="elastream.guards", spell=guard_name)
"""Guards by name; what can be asked of policies (`names`, `settings`, `doc`) can be asked of them."""

for _key, _guard in ORDER.items():
    guards.register(guard_name(_key))(_guard)


def register_guard(name: str) -> Callable[[type[C]], type[C]]:
    """Class decorator: the guard can be switched on by this name in this process, and stands with those of others."""
    return guards.register(guard_name(name))


def build_guards(settings: Mapping[str, Mapping[str, object]]) -> dict[str, Guard[Any]]:
    """Guards from name -> settings; an empty mapping means the guard's defaults."""
    return {
        guard_key(name): guards.build(
            guard_name(name), dict(guard_setting(name, key, value) for key, value in given.items())
        )
        for name, given in settings.items()
    }


def guard_setting(guard: str, key: str, value: object) -> tuple[str, object]:
    """The full name and the typed value of one setting, or BadInput."""
    cls, label = guards.get(guard_name(guard)), f"guard {guard_name(guard)}"
    name = field_named(cls, key, label)
    if isinstance(value, str) and is_sequence(hints(cls)[name]):
        # `22:00-06:00,12:00-13:00`: in a properties file or the environment there is only text.
        value = [part.strip() for part in value.split(",") if part.strip()]
    read = read_settings(cls, {name: value}, label)[name]
    # None of ours has a setting that makes sense below zero; durations, shares and counts are all they have.
    if guard_key(guard) in ORDER and isinstance(read, (int, float)) and read < 0:
        raise BadInput(f"{label}: {shown_name(cls, name)}: found {read:g}; it must not be negative")
    return name, read


def settings_of(built: object) -> dict[str, Json]:
    """The settings a policy or guard was built with, as plain values from which it can be built again."""
    if not is_dataclass(built) or isinstance(built, type):
        return {}
    return {f.name: _plain(getattr(built, f.name)) for f in fields(built) if f.init}


def _plain(value: object) -> Json:
    if is_dataclass(value) and not isinstance(value, type):
        return settings_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)
