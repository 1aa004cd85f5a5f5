"""The settings of a class: its dataclass fields, read from text, YAML values or parsed quantities."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, TypeVar

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError

from elastream.core.errors import BadInput, UnknownName
from elastream.core.quantity import Quantity, parse_quantity
from elastream.registry.hints import UNIT_SUFFIXES, hints, is_sequence, leaves, type_words, unit_words, without_unit

T = TypeVar("T")

_CONFIG = ConfigDict(allow_inf_nan=False, arbitrary_types_allowed=True)


def setting(default: Any = MISSING, *, doc: str) -> Any:
    """A dataclass field with a line of explanation. Without a default the setting must be given."""
    return field(default=default, metadata={"doc": doc})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting, as `elastream policies` and the documentation list it."""

    name: str
    type: str
    default: object
    required: bool
    doc: str


def read_settings(cls: type, settings: Mapping[str, object], label: str) -> dict[str, object]:
    """Field names and typed values for what the user wrote. `label` opens every error: `policy threshold`."""
    read: dict[str, object] = {}
    for key, value in settings.items():
        name = field_named(cls, key, label)
        if name in read:
            raise BadInput(f"{label}: {shown_name(cls, name)} is given twice")
        read[name] = _read(value, hints(cls)[name], name, f"{label}: {shown_name(cls, name)}")
    return read


def check_settings(built: object, label: str) -> None:
    """Hold an object built in code to the same rules as one built from text."""
    cls: Any = type(built)
    for f in _settable(cls):
        _validate(getattr(built, f.name), hints(cls)[f.name], f"{label}: {shown_name(cls, f.name)}")


def field_named(cls: type, key: str, label: str) -> str:
    """The field a key means: its name, with or without its unit, dashes or underscores."""
    names = [f.name for f in _settable(cls)]
    plain = key.replace("-", "_")
    for name in (plain, *(plain + suffix for suffix in UNIT_SUFFIXES)):
        if name in names:
            return name
    raise UnknownName(f"{label} has no setting", key, [shown_name(cls, name) for name in names])


def shown_name(cls: type, name: str) -> str:
    """A setting as people write it."""
    return without_unit(name, [f.name for f in _settable(cls)])


def construct(cls: type[T], given: Mapping[str, object], label: str) -> T:
    """An object from values that were read; the first one that is missing is named."""
    missing = [f.name for f in _settable(cls) if _is_required(f) and f.name not in given]
    if missing:
        raise BadInput(f"{label} needs the setting {shown_name(cls, missing[0])!r}")
    return cls(**given)


def _read(value: object, hint: object, name: str, label: str) -> object:
    plain = leaves(hint)
    nested = next((leaf for leaf in plain if isinstance(leaf, type) and is_dataclass(leaf)), None)
    if nested is not None and isinstance(value, Mapping):
        return construct(nested, read_settings(nested, value, label), label)
    if isinstance(value, str) and str not in plain:
        if NoneType in plain and value.strip().lower() in ("none", "null"):
            return None
        if is_sequence(hint):
            value = [part for part in value.split(",") if part.strip()]
    if plain & {int, float} and str not in plain:
        value = _numbers(value, name, label, is_bool=bool in plain)
    return _validate(value, hint, label)


def _numbers(value: object, name: str, label: str, *, is_bool: bool) -> object:
    """Text and quantities as plain numbers, in seconds where the field's name says seconds."""
    if isinstance(value, (list, tuple)):
        return [_numbers(item, name, label, is_bool=is_bool) for item in value]
    if isinstance(value, bool) and not is_bool:
        raise BadInput(f"{label}: found {value}; it must be a number")
    if isinstance(value, str):
        try:
            value = parse_quantity(value)
        except BadInput as wrong:
            raise BadInput(f"{label}: {wrong}") from None
    if not isinstance(value, Quantity):
        return value
    if value.unit == "s" and not name.endswith("_s"):
        raise BadInput(f"{label}: found the duration {value}; it must be a plain number")
    if value.unit == "%" and name.endswith(UNIT_SUFFIXES):
        raise BadInput(f"{label}: found the share {value}; it must be a {unit_words(name)}")
    return value.value


def _validate(value: object, hint: object, label: str) -> object:
    try:
        return _adapter(hint).validate_python(value)
    except ValidationError as wrong:
        message = wrong.errors(include_url=False)[0]["msg"].replace("Input should be", "it must be")
        found = str(value) if isinstance(value, Quantity) else repr(value)
        raise BadInput(f"{label}: found {found}; {message[0].lower()}{message[1:]}") from None


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(hint, config=_CONFIG)
    except PydanticUserError:  # dataclasses and models bring their own configuration
        return TypeAdapter(hint)


def list_settings(cls: type, overrides: Mapping[str, object]) -> tuple[Setting, ...]:
    """All settings of a class, with the defaults that a preset gives it."""
    return tuple(_describe(f, hints(cls)[f.name], overrides) for f in _settable(cls))


def _settable(cls: Any) -> list[Field[Any]]:
    return [f for f in fields(cls) if f.init]


def _is_required(f: Field[Any]) -> bool:
    return f.default is MISSING and f.default_factory is MISSING


def _describe(f: Field[Any], hint: Any, overrides: Mapping[str, object]) -> Setting:
    default = f.default_factory() if f.default_factory is not MISSING else f.default
    default = overrides.get(f.name, None if default is MISSING else default)
    required = _is_required(f) and f.name not in overrides
    doc = f.metadata.get("doc", "")
    return Setting(name=f.name, type=type_words(f.name, hint), default=default, required=required, doc=doc)
