"""Classes in a file that is named by its path: `jobs/my_job.py:Mine`.

Such a name is the user's word for that file alone: no folder joins Python's path because of it, and the text that was
read is the text that runs. It is read before it runs, so that a script which has no such class is not started.
"""

import ast
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from elastream.core.errors import BadInput, UnknownName, spell_error

_loaded: dict[str, ModuleType] = {}


@dataclass(frozen=True, slots=True)
class ClassFile:
    """A file of Python as it was read; nothing of it has run."""

    path: Path
    tree: ast.Module

    def classes(self) -> list[str]:
        """Those that stand in it."""
        return [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]

    def classes_with(self, method: str) -> list[str]:
        """Those that have a method, or may have it from another class."""
        return [
            node.name
            for node in self.tree.body
            if isinstance(node, ast.ClassDef)
            and (node.bases or any(isinstance(part, ast.FunctionDef) and part.name == method for part in node.body))
        ]

    def speaks_of_kafka(self) -> bool:
        """Whether it reads or writes Kafka, as far as its text tells."""
        return any(isinstance(node, ast.Constant) and node.value == "kafka" for node in ast.walk(self.tree))

    def may_have(self, name: str) -> bool:
        """Whether there may be a class of that name once the file has run: its own, an imported one, a made one."""
        bound = {word for node in ast.walk(self.tree) for word in _bound(node)}
        return name in bound or "*" in bound


def read_class_file(text: str, label: str) -> ClassFile:
    """The file of that path; BadInput in a line that begins with `label` if it is none."""
    path = Path(text).expanduser()
    try:
        # In bytes, for the file itself says how it is encoded.
        return ClassFile(path.resolve(), ast.parse(path.read_bytes(), str(path)))
    except OSError as wrong:
        raise BadInput(f"{label}: {text}: cannot be read: {wrong.strerror}") from None
    except (SyntaxError, ValueError) as wrong:
        raise BadInput(f"{label}: {text} is no Python that can be read: {spell_error(wrong)}") from None


def load_class_file(text: str, name: str, label: str) -> ModuleType:
    """The module that the file makes, of which `name` is wanted; it runs once in a process."""
    found = read_class_file(text, label)
    key = str(found.path)
    if key in _loaded:
        return _loaded[key]
    if not found.may_have(name):
        raise UnknownName(f"{label}: {text} has no class", name, found.classes())
    module = ModuleType(key)
    module.__file__ = key
    # Dataclasses and type hints look for the module of a class there; nobody can import a name with slashes.
    sys.modules[key] = module
    try:
        exec(compile(found.tree, key, "exec", dont_inherit=True), vars(module))
    except (Exception, SystemExit) as wrong:
        del sys.modules[key]
        remedy = "; what it imports must be installed, beside you or on PYTHONPATH" * isinstance(wrong, ImportError)
        raise BadInput(f"{label}: {text} cannot be run: {spell_error(wrong)}{remedy}") from None
    _loaded[key] = module
    return module


def module_from_file(cls: type) -> ModuleType | None:
    """The module of a class, if it was named by its path; None: it has a name that can be imported."""
    return _loaded.get(cls.__module__)


def run_line(text: str, *, kafka: bool) -> str:
    """The command that runs a script as it is."""
    return f"elastream run {'--kafka ' * kafka}{shlex.quote(text)}"


def _bound(node: ast.AST) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef):
        return (node.name,)
    if isinstance(node, ast.alias):
        return (node.asname or node.name,)
    return (node.id,) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else ()
