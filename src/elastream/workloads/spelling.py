"""A workload's settings as text that reads back as the same workload."""

import re
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any

from elastream.core.callform import NAME, quoted
from elastream.core.quantity import spell_number, spell_seconds
from elastream.registry import UNIT_SUFFIXES


def spell_call(name: str, built: Any, positional: Sequence[str]) -> str:
    """`name(low..high, key=value)`; settings that have their default are left out."""
    unnamed = [part for key in positional for part in _spell_all(key, getattr(built, key))]
    named = [
        f"{_short(f.name)}={','.join(_spell_all(f.name, getattr(built, f.name)))}"
        for f in fields(built)
        if f.name not in positional and (f.default is MISSING or getattr(built, f.name) != f.default)
    ]
    first = [("..".join(unnamed))] if len(positional) == 2 else unnamed
    return f"{name}({', '.join([*first, *named])})"


def _spell_all(key: str, value: object) -> list[str]:
    return [_spell(key, item) for item in value] if isinstance(value, tuple) else [_spell(key, value)]


def _spell(key: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return spell_seconds(value) if key.endswith("_s") else spell_number(value)
    text = str(value)
    plain = re.fullmatch(NAME, text, re.ASCII) and text not in ("true", "false", "none", "null")
    return text if plain else quoted(text)


def _short(name: str) -> str:
    return next((name.removesuffix(unit) for unit in UNIT_SUFFIXES if name.endswith(unit)), name)
