"""The register of one kind of thing."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Generic, TypeVar, cast

from elastream.core.callform import Call, Range, Value, is_class_path, is_file_path
from elastream.core.errors import BadInput, ElastreamError, UnknownName, spell_error
from elastream.registry.foreign import check_members, check_settings_class, import_class
from elastream.registry.hints import hints, is_sequence
from elastream.registry.plugins import Plugins
from elastream.registry.settings import Setting, construct, list_settings, read_settings

T = TypeVar("T")
C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class _Preset:
    of: str
    settings: Mapping[str, object]
    doc: str


class Registry(Generic[T]):
    """Classes and presets of one kind, by name.

    With a `shape`, a protocol or an abstract class, others may add to them: whatever class of that shape is named as
    `package.module:Class` can be built, and so can what installed packages announce in the `group` of entry points.
    With `files`, a class may be named by its file too: `jobs/my_job.py:Class`.
    """

    def __init__(
        self,
        kind: str,
        shape: type | None = None,
        *,
        group: str = "",
        spell: Callable[[str], str] = str,
        files: bool = False,
    ) -> None:
        self.kind = kind
        self._classes: dict[str, type[T]] = {}
        self._presets: dict[str, _Preset] = {}
        self._shape = shape
        self._takes_files = files
        self._plugins = (
            Plugins(kind=kind, group=group, check=self._check, is_ours=self._is_ours, spell=spell) if group else None
        )

    def register(self, name: str) -> Callable[[type[C]], type[C]]:
        """Class decorator. The class must be a frozen dataclass: what is built can be compared, hashed and replayed."""

        def decorate(cls: type[C]) -> type[C]:
            parameters = getattr(cls, "__dataclass_params__", None)
            if parameters is None or not parameters.frozen:
                raise TypeError(f"{cls.__name__} must be a frozen dataclass to be registered as {name!r}")
            self._claim(name)
            self._classes[name] = cast(type[T], cls)
            return cls

        return decorate

    def preset(self, name: str, *, of: str, doc: str = "", **settings: object) -> None:
        """Another name for `of` with other defaults."""
        self._claim(name)
        self._presets[name] = _Preset(of, MappingProxyType(dict(settings)), doc)

    def names(self) -> tuple[str, ...]:
        """All of them, with what others announce and can be loaded."""
        plugins = self._plugins.load_all() if self._plugins is not None else ()
        return tuple(sorted([*self._classes, *self._presets, *plugins]))

    def __contains__(self, name: str) -> bool:
        """Whether something may be behind a name; nothing is imported to find out."""
        if self._is_ours(name) or self._is_path(name):
            return True
        return self._plugins is not None and name in self._plugins.announced()

    def presets(self) -> tuple[str, ...]:
        return tuple(sorted(self._presets))

    def get(self, name: str) -> type[T]:
        """The class behind a name, a preset, `package.module:Class` or a file."""
        name = self._presets[name].of if name in self._presets else name
        if name in self._classes:
            return self._classes[name]
        if self._is_path(name):
            found = import_class(name, f"{self.kind} {name}", files=self._takes_files)
            self._check(found, f"{self.kind} {name}")
            return cast(type[T], found)
        if self._plugins is not None and name in self._plugins.announced():
            return cast(type[T], self._plugins.load(name))
        raise UnknownName(f"unknown {self.kind}", name, self.names())

    def name_of(self, built: T) -> str:
        """The name that an object's class has here; that of its module and its own where it has none."""
        plugins = self._plugins.loaded() if self._plugins is not None else {}
        named = (name for name, cls in {**self._classes, **plugins}.items() if type(built) is cls)
        return next(named, f"{type(built).__module__}:{type(built).__qualname__}")

    def build(self, name: str, settings: Mapping[str, object] = MappingProxyType({})) -> T:
        """An object from its settings; those of a preset may be overridden."""
        cls, label = self.get(name), f"{self.kind} {name}"
        given = read_settings(cls, settings, label)
        if name in self._presets:
            given = read_settings(cls, self._presets[name].settings, label) | given
        try:
            return construct(cls, given, label)
        except ElastreamError:
            raise
        except Exception as wrong:
            if self._is_ours(name):
                raise
            # Others say in their own way that a setting makes no sense.
            raise BadInput(f"{label}: it cannot be built: {spell_error(wrong)}") from None

    def build_call(self, call: Call) -> T:
        """An object from its text form. Values without a key go to the fields that the class names in `positional`."""
        try:
            cls = self.get(call.name)
        except BadInput as wrong:
            raise self._located(wrong, call.column) from None
        given: dict[str, object] = {}
        for key, value, column in _keyed(call, cls, self.kind):
            try:
                read = read_settings(cls, {key: value}, call.name)
                if read.keys() & given.keys():
                    raise BadInput(f"{call.name}: {key} is given twice")
            except BadInput as wrong:
                raise self._located(wrong, column) from None
            given |= read
        try:
            return self.build(call.name, given)
        except BadInput as wrong:
            raise self._located(wrong, call.column) from None

    def settings(self, name: str) -> tuple[Setting, ...]:
        cls = self.get(name)
        preset = self._presets[name].settings if name in self._presets else {}
        overrides = read_settings(cls, preset, f"{self.kind} {name}")
        return list_settings(cls, overrides)

    def doc(self, name: str) -> str:
        """One line about it."""
        cls = self.get(name)
        if name in self._presets and self._presets[name].doc:
            return self._presets[name].doc
        return (cls.__doc__ or "").strip().split("\n")[0]

    def _check(self, cls: type, label: str) -> None:
        if self._shape is not None:
            check_members(cls, self._shape, self.kind, label)
        check_settings_class(cls, label)

    def _located(self, wrong: BadInput, column: int) -> BadInput:
        return BadInput(f"{self.kind}: column {column}: {str(wrong).removeprefix(self.kind + ' ')}")

    def _is_ours(self, name: str) -> bool:
        return name in self._classes or name in self._presets

    def _is_path(self, name: str) -> bool:
        return self._shape is not None and (is_class_path(name) or is_file_path(name))

    def _claim(self, name: str) -> None:
        if self._is_ours(name):
            raise ValueError(f"{self.kind} {name!r} is registered twice")


def _keyed(call: Call, cls: type, kind: str) -> Iterator[tuple[str, object, int]]:
    """Every argument with a key: its own, or the next of the class' positional ones. A range counts as two values."""
    nested = next((a for a in call.arguments if isinstance(a.value, Call) and not a.value.is_bare), None)
    if nested is not None:
        raise BadInput(f"{kind}: column {nested.column}: {call.name}: a setting cannot have settings of its own")
    positional: tuple[str, ...] = getattr(cls, "positional", ())
    unnamed = [(part, a.column) for a in call.arguments if a.key is None for part in _parts(a.value)]
    if len(positional) == 1 and unnamed and is_sequence(hints(cls)[positional[0]]):
        unnamed = [([part for part, _ in unnamed], unnamed[0][1])]
    if len(unnamed) > len(positional):
        accepted = f"only {', '.join(positional)} may" if positional else "no value of it may"
        column = unnamed[len(positional)][1]
        raise BadInput(f"{kind}: column {column}: {call.name}: a value without a name; {accepted} stand without one")
    for key, (value, column) in zip(positional, unnamed, strict=False):
        yield key, value, column
    for argument in call.arguments:
        if argument.key is not None:
            parts = _parts(argument.value)
            yield argument.key, parts[0] if len(parts) == 1 else parts, argument.column


def _parts(value: Value) -> list[object]:
    if isinstance(value, Range):
        return [value.low, value.high]
    return [value.name] if isinstance(value, Call) and value.is_bare else [value]
