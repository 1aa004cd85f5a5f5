"""Classes of others, named by their module or, where a kind allows it, by their file: found, and held to its shape.

Whoever calls this has the user's word: a name from a command line, a settings file or a program. A journal is nobody's
word, and what it names is never imported because of it.
"""

import importlib
import sys
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

from elastream.core.callform import is_class_path, is_file_path
from elastream.core.errors import BadInput, UnknownName, spell_error
from elastream.core.module_search import searched_folders
from elastream.registry.class_file import load_class_file
from elastream.registry.hints import hints


def import_class(path: str, label: str, *, files: bool = False) -> type:
    """The class behind `package.module:Class`, or one line that begins with `label` and says why there is none.

    With `files`, the class may be named by its file: `jobs/my_job.py:Class`.
    """
    where, _, name = path.rpartition(":")
    if is_file_path(path):
        if not files:
            raise BadInput(f"{label}: a class of this kind is named by its module: {Path(where).stem}:{name}")
        _search()
        module = load_class_file(where, name, label)
    elif is_class_path(path):
        module = _import(where, label)
    else:
        raise BadInput(f"{label}: a class is named as package.module:Class")
    found = getattr(module, name, None)
    if found is None:
        classes = [key for key, value in vars(module).items() if isinstance(value, type) and key[:1] != "_"]
        what = where if is_file_path(path) else f"module {where}"
        raise UnknownName(f"{label}: {what} has no class", name, classes)
    if not isinstance(found, type):
        raise BadInput(f"{label}: it is a {type(found).__name__} and not a class")
    return found


def _search() -> None:
    """Behind all that is installed, look where the user stands."""
    sys.path += [folder for folder in searched_folders() if folder not in sys.path]
    # A file that was written a moment ago is found too.
    importlib.invalidate_caches()


def _import(name: str, label: str) -> ModuleType:
    _search()
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as wrong:
        missing = wrong.name if isinstance(wrong, ModuleNotFoundError) else None
        if missing is not None and f"{name}.".startswith(f"{missing}."):
            remedy = "its folder must be on PYTHONPATH, or be the one a command is started in"
            raise BadInput(f"{label}: there is no module {missing!r}; {remedy}") from None
        raise BadInput(f"{label}: module {name} cannot be imported: {spell_error(wrong)}") from None


def check_members(cls: type, shape: type, kind: str, label: str) -> None:
    """Raise BadInput with what a class lacks of a protocol or an abstract class."""
    if not getattr(shape, "_is_protocol", False) and not issubclass(cls, shape):
        raise BadInput(f"{label}: it is no {kind}; derive it from elastream.{shape.__name__}")
    lacking = [name for name in _members(shape) if not _has(cls, name, shape)]
    if lacking:
        whole = _listed(_members(shape))
        raise BadInput(f"{label}: it is no {kind}: it lacks {_listed(lacking)}; a {kind} has {whole}")


def check_settings_class(cls: type, label: str) -> None:
    """Raise BadInput if a class cannot be built from settings."""
    parameters = getattr(cls, "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise BadInput(
            f"{label}: it is not a frozen dataclass; write @dataclass(frozen=True, kw_only=True) above it, and its "
            "settings as fields, such as target: float = 0.7"
        )
    try:
        hints(cls)
    except Exception as wrong:
        raise BadInput(f"{label}: the types of its settings cannot be read: {spell_error(wrong)}") from None


def _members(shape: type) -> tuple[str, ...]:
    if getattr(shape, "_is_protocol", False):
        return tuple(name for name in vars(shape) if name[:1] != "_")
    return tuple(sorted(getattr(shape, "__abstractmethods__", ())))


def _has(cls: type, name: str, shape: type) -> bool:
    """Whether a class has a member of its own, as an attribute or as a setting; a protocol's own is a mere promise."""
    if is_dataclass(cls) and any(field.name == name for field in fields(cls)):
        return True
    return hasattr(cls, name) and getattr(cls, name) is not getattr(shape, name)


def _listed(names: Iterable[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
