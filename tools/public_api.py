"""The public names of Elastream with their signatures, as they are written: `python -m tools.public_api`.

`tests/unit/public_api.txt` holds the answer, so that nobody changes a public signature unawares.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import elastream
import elastream.testing

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def render() -> str:
    """All of it, a block per name."""
    lines = []
    for module in (elastream, elastream.testing):
        for name in module.__all__:
            if name == "__version__":
                lines.append("elastream.__version__: str")
                continue
            found = getattr(module, name)
            lines += _described(f"{module.__name__}.{name}", found)
    return "\n".join(lines) + "\n"


def _described(path: str, found: object) -> Iterator[str]:
    home, name = getattr(found, "__module__", None), getattr(found, "__name__", None)
    if home is None or name is None:
        yield f"{path}: {type(found).__name__} = {found!r}"
        return
    tree = ast.parse(Path(str(sys.modules[home].__file__)).read_text(encoding="utf-8"))
    node = next(node for node in tree.body if isinstance(node, Definition | ast.ClassDef) and node.name == name)
    if isinstance(node, Definition):
        yield f"def {path}{_signature(node)}"
        return
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    yield f"class {path}({bases})"
    for part in node.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.target.id[0] != "_":
            default = f" = {ast.unparse(part.value)}" if part.value is not None else ""
            yield f"    {part.target.id}: {ast.unparse(part.annotation)}{default}"
        if isinstance(part, ast.Assign):
            yield from (f"    {ast.unparse(target)} = {ast.unparse(part.value)}" for target in part.targets)
        if isinstance(part, Definition) and (part.name[0] != "_" or part.name == "__init__"):
            marks = "".join(f"@{ast.unparse(mark)} " for mark in part.decorator_list)
            yield f"    {marks}def {part.name}{_signature(part)}"


def _signature(node: Definition) -> str:
    returns = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    return f"({ast.unparse(node.args)}){returns}"


if __name__ == "__main__":
    sys.stdout.write(render())
