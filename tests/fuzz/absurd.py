"""Values that nobody should write, and ways to damage what somebody wrote."""

import random
from collections.abc import Sequence
from typing import Any

TEXTS = (
    "", " ", "nan", "inf", "-1", "1e999", "0", "true", "null", "~", "..", "a" * 5000, "\x00", "\ud7ff", "名前",
    "<b>&\"'",
    "{", "[", "%s", "2026-01-01", "1h30m", "5%", "-5%", "1_000", "line\nbreak", "../../etc", "*x", "&x", "!!python/x",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 0.0, -0.0, 0.5, 1e-300, 1e300, 2**31, 2**63, 10**40, -(10**40), float("nan"), float("inf"), -float("inf"),
    253402300800, 4096, 3.7,
)  # fmt: skip


def value(draw: random.Random, depth: int = 3) -> Any:
    """Something of any kind."""
    kind = draw.randrange(8 if depth else 5)
    if kind < 2:
        return draw.choice(NUMBERS)
    if kind < 4:
        return draw.choice(TEXTS)
    if kind == 4:
        return draw.choice((None, True, False))
    if kind == 5:
        return [value(draw, depth - 1) for _ in range(draw.randrange(4))]
    if kind == 6:
        return {draw.choice(TEXTS): value(draw, depth - 1) for _ in range(draw.randrange(4))}
    return deep(draw.choice((10, 200, 3000)), as_list=draw.random() < 0.5)


def deep(levels: int, *, as_list: bool = True) -> Any:
    """Lists in lists, or the same with names."""
    nested: Any = []
    for _ in range(levels):
        nested = [nested] if as_list else {"a": nested}
    return nested


def bend(draw: random.Random, tree: Any, changes: int = 1) -> Any:
    """The same tree with some places of it replaced, removed or doubled."""
    for _ in range(changes):
        tree = _bend_once(draw, tree)
    return tree


def _bend_once(draw: random.Random, tree: Any) -> Any:
    if isinstance(tree, dict) and tree and draw.random() < 0.9:
        key = draw.choice(list(tree))
        kind = draw.randrange(12)
        if kind == 0:
            return {name: item for name, item in tree.items() if name != key}
        if kind == 1:
            return {**tree, draw.choice(TEXTS): value(draw)}
        return {**tree, key: _bend_once(draw, tree[key])}
    if isinstance(tree, list) and tree and draw.random() < 0.9:
        at = draw.randrange(len(tree))
        kind = draw.randrange(12)
        if kind == 0:
            return tree[:at] + tree[at + 1 :]
        if kind == 1:
            return [*tree[:at], tree[at], *tree[at:]]
        return [*tree[:at], _bend_once(draw, tree[at]), *tree[at + 1 :]]
    # Of the right kind more often than not: what is refused at once shows little.
    if isinstance(tree, (int, float)) and draw.random() < 0.7:
        return draw.choice(NUMBERS)
    if isinstance(tree, str) and draw.random() < 0.7:
        return draw.choice(TEXTS)
    return value(draw)


def tear(draw: random.Random, text: bytes) -> bytes:
    """The same bytes, damaged: cut, flipped, doubled, or with something between them."""
    at = draw.randrange(len(text) + 1)
    kind = draw.randrange(5)
    if kind == 0:
        return text[:at]
    if kind == 1:
        return text[at:]
    if kind == 2 and text:
        at %= len(text)
        return text[:at] + bytes([draw.randrange(256)]) + text[at + 1 :]
    if kind == 3:
        until = draw.randrange(at, len(text) + 1)
        return text[:until] + text[at:]
    return text[:at] + draw.choice((b"\x00" * 40, b"[" * 5000, b'{"a":' * 3000, b"\n", b"\xff\xfe", b"NaN")) + text[at:]


def shuffle_lines(draw: random.Random, lines: Sequence[bytes]) -> list[bytes]:
    """The same lines in another order, some of them left out or twice."""
    found = list(lines)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(found)) if found else 0
        kind = draw.randrange(3)
        if kind == 0 and found:
            del found[at]
        elif kind == 1 and found:
            found.insert(draw.randrange(len(found) + 1), found[at])
        else:
            draw.shuffle(found)
    return found
