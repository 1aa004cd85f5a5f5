"""Count a tree: `python -m tools.house [FOLDER]`. Modules are files without `__init__.py`."""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

Function = ast.FunctionDef | ast.AsyncFunctionDef


def main() -> None:
    """Print what ARCHITECTURE.md quotes."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "src")
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))}
    nodes = [node for text in texts.values() for node in ast.walk(ast.parse(text))]
    lines = sorted(len(text.splitlines()) for path, text in texts.items() if path.name != "__init__.py")
    functions = sorted(1 + (node.end_lineno or 0) - node.lineno for node in nodes if isinstance(node, Function))
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    print(f"modules: {len(lines)}, of {median(lines):g} lines in the median and {lines[-1]} at most")
    print(f"functions: {len(functions)}, nine of ten up to {functions[len(functions) * 9 // 10]} lines")
    print(f"class names that stand twice: {sum(times > 1 for times in classes.values())}")
    inside = [one for text in texts.values() for one in imports_inside(ast.parse(text))]
    heavy = sum(name.split(".")[0] in ("pyspark", "py4j", "confluent_kafka") for name in inside)
    print(f"imports inside functions: {len(inside)}, {heavy} of them of pyspark, py4j and confluent_kafka")
    dynamic = {path: len(re.findall(r"^.*\bAny\b", text, re.MULTILINE)) for path, text in texts.items()}
    for room in ("spark", "development"):
        print(f"lines with Any in {room}: {sum(n for path, n in dynamic.items() if room in path.parts)}")
    print(f"lines with Any: {sum(dynamic.values())}")


def imports_inside(tree: ast.Module) -> Iterator[str]:
    """The module of every import statement that stands in a function, once however deep it stands."""
    found = {
        node: node.module or "" if isinstance(node, ast.ImportFrom) else node.names[0].name
        for function in ast.walk(tree)
        if isinstance(function, Function)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    yield from found.values()


if __name__ == "__main__":
    main()
