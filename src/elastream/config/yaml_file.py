"""YAML files, read as plain values: no dates, no bombs, nothing deeper than people write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elastream.core.errors import BadInput, spell_error
from elastream.core.input_file import read_input

if TYPE_CHECKING:
    import yaml

MOST_LEVELS = 30
MOST_VALUES = 20_000
"""With what aliases stand for: nine lines of them can spell out a billion values."""


_DATE, _TIME = "tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:str"
_SEXAGESIMAL = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")


KeyPath = tuple[str | int, ...]
"""Where a value stands: keys of mappings and places in lists."""


@dataclass(frozen=True, slots=True)
class LocatedYaml:
    """The content of a file, and the line of each of its values."""

    content: object
    lines: Mapping[KeyPath, int]


def load_yaml(path: Path) -> object:
    """The content of a file, or BadInput with the line of what is wrong."""
    return load_located_yaml(path).content


def load_located_yaml(path: Path) -> LocatedYaml:
    """The content of a file with its lines, or BadInput with the line of what is wrong."""
    try:
        # The base install has no YAML reader: `attach` inside a Spark job needs none.
        import yaml
    except ImportError:
        raise BadInput(f"{path}: reading YAML needs PyYAML; install it with: pip install 'elastream[cli]'") from None
    text = read_text(path)
    try:
        loader = _loader()(text)
        node = loader.get_single_node()
        if node is None:
            return LocatedYaml(None, {})
        return LocatedYaml(loader.construct_document(node), dict(_find_lines(node, ())))
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise BadInput(f"{path}{line}: {getattr(wrong, 'problem', None) or wrong}") from None
    except Exception as wrong:
        # What is tagged as a number and is none ends in an error of any kind.
        raise BadInput(f"{path}: cannot be read: {spell_error(wrong)}") from None


def read_text(path: Path) -> str:
    """The text of a file, or BadInput."""
    try:
        return read_input(path, may_be_pipe=True)
    except (OSError, ValueError) as wrong:
        raise BadInput(f"{path}: cannot be read: {getattr(wrong, 'strerror', None) or wrong}") from None


def _loader() -> type[yaml.SafeLoader]:
    import yaml

    class Loader(yaml.SafeLoader):
        """Counts while it reads."""

        def __init__(self, text: str) -> None:
            super().__init__(text)
            self._levels = 0
            self._sizes: dict[int, int] = {}

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]
            self._levels += 1
            if self._levels > MOST_LEVELS:
                raise _refused(f"nested more than {MOST_LEVELS} levels deep", event)
            node = super().compose_node(parent, index)
            self._levels -= 1
            if isinstance(node, yaml.MappingNode):
                _refuse_twice(node)
            if isinstance(event, yaml.AliasEvent):
                if id(node) not in self._sizes:
                    raise _refused("an alias that stands for itself", event)
            elif node is not None:
                self._sizes[id(node)] = size = 1 + sum(self._sizes[id(part)] for part in _parts(node))
                if size > MOST_VALUES:
                    raise _refused(f"more than {MOST_VALUES:,} values", event)
            return node

    # A date is text here: whoever wants a number or a duration then says so. So is `1:12`, which YAML 1.1 takes for 72.
    Loader.yaml_implicit_resolvers = {
        first: [(_TIME, _SEXAGESIMAL), *((tag, pattern) for tag, pattern in found if tag != _DATE)]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    Loader.yaml_constructors = {tag: made for tag, made in yaml.SafeLoader.yaml_constructors.items() if tag != _DATE}
    return Loader


def _find_lines(node: yaml.Node, path: KeyPath) -> Iterator[tuple[KeyPath, int]]:
    """Every value and its line; that of an entry is the line of its key."""
    yield path, node.start_mark.line + 1
    if not isinstance(node.value, list):
        return
    for place, item in enumerate(node.value):
        key, value = (item[0].value, item[1]) if isinstance(item, tuple) else (place, item)
        if not isinstance(key, str | int):
            continue
        yield from _find_lines(value, (*path, key))
        if isinstance(item, tuple):
            yield (*path, key), item[0].start_mark.line + 1


def _refuse_twice(node: yaml.MappingNode) -> None:
    """Of two values for one key the last would count, and the other go unnoticed."""
    import yaml

    seen: set[str] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
            if key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key.value!r} stands twice", problem_mark=key.start_mark)
            seen.add(key.value)


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if not isinstance(node.value, list):
        return []
    return [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]


def _refused(problem: str, event: yaml.Event) -> yaml.YAMLError:
    import yaml

    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)  # type: ignore[arg-type]
