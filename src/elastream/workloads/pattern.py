"""What a workload is, how workloads are added and multiplied, and the register of their patterns."""

import math
import re
import zlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from functools import reduce
from operator import add, mul
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import numpy as np
from pydantic import Field

from elastream.core.callform import NAME, quoted
from elastream.core.errors import BadInput
from elastream.core.quantity import spell_number, spell_seconds
from elastream.registry import Registry, check_settings, without_unit
from elastream.workloads.series import FloatArray, RateSeries

C = TypeVar("C")

# A double counts single records up to 9e15: one second at this rate still fits.
HIGHEST_RPS = 1e15
Rate = Annotated[float, Field(ge=0, le=HIGHEST_RPS)]
Duration = Annotated[float, Field(gt=0, le=1e10)]
Moment = Annotated[float, Field(ge=0, le=1e10)]
Share = Annotated[float, Field(ge=0, le=1)]

# 80 MB for each array: more is a slip of the unit and not a workload.
MAX_POINTS = 10_000_000


class Streams:
    """Hands one generator to each part, named by the part's pattern and how many of that pattern came before it.

    So the noise of a part is the same whatever other patterns stand beside it, and when only its settings change.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._seen: Counter[str] = Counter()

    def next(self, pattern: str) -> np.random.Generator:
        key = (zlib.crc32(pattern.encode()), self._seen[pattern])
        self._seen[pattern] += 1
        # PCG64 by name: default_rng may change its choice in a later numpy.
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(self._seed, spawn_key=key)))


class Workload(Protocol):
    """A seeded recipe for a rate of arrivals over time."""

    def series(self, *, duration_s: float, seed: int) -> RateSeries:
        """The rates of one run; equal seeds give equal series, on every machine."""


class Pattern(ABC):
    """A workload that can be added to others, multiplied with them, and written as one line of text."""

    positional: ClassVar[tuple[str, ...]] = ()
    """The settings that stand without a name in the text form; two of them make a range."""

    def __post_init__(self) -> None:
        check_settings(self, f"workload {workloads.name_of(self)}")

    @abstractmethod
    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        """The rates of one run, with random numbers from `streams`."""

    def series(self, *, duration_s: float, seed: int) -> RateSeries:
        if not (math.isfinite(duration_s) and duration_s > 0):
            raise BadInput(f"workload: a duration of {duration_s:g} s; it must be longer than 0")
        if seed < 0:
            raise BadInput(f"workload: the seed {seed}; it must be zero or more")
        return self.draw(duration_s=duration_s, streams=Streams(seed))

    def __add__(self, other: "Pattern") -> "Sum":
        return Sum(terms=(self, other))

    def __mul__(self, other: "Pattern") -> "Product":
        return Product(terms=(self, other))

    def __str__(self) -> str:
        return _spell_call(workloads.name_of(self), self)


workloads: Registry[Pattern] = Registry("workload", Pattern, group="elastream.workloads")


def register_workload(name: str) -> Callable[[type[C]], type[C]]:
    """Class decorator: the workload can be written by this name in this process, as ours can."""
    return workloads.register(name)


@dataclass(frozen=True, kw_only=True)
class Sum(Pattern):
    """The rates of several workloads added."""

    terms: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", _flat(self.terms, Sum))

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        return reduce(add, (term.draw(duration_s=duration_s, streams=streams) for term in self.terms))

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms))


@dataclass(frozen=True, kw_only=True)
class Product(Pattern):
    """The rates of several workloads multiplied; mostly a number and a workload."""

    terms: tuple[Pattern, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "terms", _flat(self.terms, Product))

    def draw(self, *, duration_s: float, streams: Streams) -> RateSeries:
        return reduce(mul, (term.draw(duration_s=duration_s, streams=streams) for term in self.terms))

    def __str__(self) -> str:
        return " * ".join(f"({term})" if isinstance(term, Sum) else str(term) for term in self.terms)


def grid(duration_s: float, step_s: float) -> FloatArray:
    """The starts of the steps that a sampled pattern is made of."""
    points = math.ceil(duration_s / step_s)
    if points > MAX_POINTS:
        raise BadInput(f"workload: {points} steps of {step_s:g} s in {duration_s:g} s are too many; make them longer")
    return np.arange(max(points, 1), dtype=np.float64) * step_s


def sampled(rates: FloatArray, *, step_s: float, duration_s: float) -> RateSeries:
    """A series of held values. Rates stop at zero from below.

    Rounded to a millionth: the last bits of a cosine differ between processors, and the same seed must give the same
    bytes everywhere.
    """
    floored: FloatArray = np.maximum(rates, 0.0)
    return RateSeries.steps(floored.round(6), step_s=step_s, duration_s=duration_s)


def _flat(terms: tuple[Pattern, ...], kind: type[Sum] | type[Product]) -> tuple[Pattern, ...]:
    """(a + b) + c and a + (b + c) are the same workload."""
    if len(terms) < 2:
        raise BadInput(f"workload: a {kind.__name__.lower()} of {len(terms)} terms; it needs two or more")
    return tuple(part for term in terms for part in (term.terms if isinstance(term, kind) else (term,)))


def _spell_call(name: str, built: Any) -> str:
    """`name(low..high, key=value)`, which reads back as the same; settings that have their default are left out."""
    unnamed = [part for key in built.positional for part in _spell_all(key, getattr(built, key))]
    named = [
        f"{without_unit(f.name)}={','.join(_spell_all(f.name, getattr(built, f.name)))}"
        for f in fields(built)
        if f.name not in built.positional and (f.default is MISSING or getattr(built, f.name) != f.default)
    ]
    first = [("..".join(unnamed))] if len(built.positional) == 2 else unnamed
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
