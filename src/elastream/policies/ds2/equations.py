"""Equations 1 to 8 of DS2 on plain numbers: how many instances every operator of a graph needs, in one walk.

An operator needs its input rate divided by what one of its instances can do (equation 7). Its input is what those
before it will give out once they keep up with theirs (equation 8), so an operator that is held up today by a slow one
is sized for the rate that will reach it, not for the one that does.

Where an operator has no true rate, nothing can be said of it, nor of what it feeds: the answer is a sentence instead
of a number. What no record will reach needs nothing, whatever its rate.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import NamedTuple, TypeAlias


class TrueRates(NamedTuple):
    """Records per second of useful time, summed over an operator's instances (equations 1, 2, 5 and 6)."""

    instances: float
    processing_rps: float
    output_rps: float | None = None
    """None where nobody counts what comes out; only what feeds others needs it."""


class Required(NamedTuple):
    """What an operator needs to keep up."""

    input_rps: float
    unrounded: float
    """The instances of equation 7 before they are rounded, and without the factor."""
    instances: int
    output_rps: float | None
    """The estimate of equation 8: None where the operator's output is not known."""


Answer: TypeAlias = Required | str
"""What is required, or why that is not known."""


def required(
    feeds: Iterable[tuple[str, str]],
    source_rps: Mapping[str, float],
    rates: Mapping[str, TrueRates | None],
    *,
    factor: float = 0.0,
    parts: Mapping[str, Mapping[str, float]] = MappingProxyType({}),
) -> dict[str, Answer]:
    """Instances for every operator that is no source, in the order in which data reaches them.

    `feeds` are pairs of upstream and downstream. Sources give out what `source_rps` says, whatever their size. Every
    downstream operator receives all that is given out, as in the paper, or where `parts` (downstream -> upstream ->
    part) names the edge that part of it. A size is `1 + factor` times what equation 7 asks for, and at least one.
    """
    way, in_cycles = _walk(tuple(feeds), tuple(rates), tuple(source_rps))
    answers: dict[str, Answer] = {}
    given: dict[str, float | None] = dict(source_rps)
    idle = {name for name, rps in source_rps.items() if rps == 0}
    for name, feeders in way:
        answer: Answer
        if idle and feeders and idle.issuperset(feeders):
            idle.add(name)
            answer = Required(0.0, 0.0, 1, 0.0)
        else:
            arriving = _arriving(feeders, given, parts.get(name))
            answer = arriving if isinstance(arriving, str) else _required(arriving, rates.get(name), factor)
        answers[name] = answer
        given[name] = None if isinstance(answer, str) else answer.output_rps
    return answers | dict.fromkeys(in_cycles, "it stands in a cycle")


def rate_ratio(target_rps: Mapping[str, float], achieved_rps: Mapping[str, float]) -> float | None:
    """The largest ratio over the sources of the rate wanted to the rate achieved; None where one achieves nothing."""
    ratio = 0.0
    for name, target in target_rps.items():
        achieved = achieved_rps.get(name, 0.0)
        if target > 0 and not achieved > 0:
            return None
        ratio = max(ratio, target / achieved if target > 0 else 0.0)
    return ratio


def corrected(
    sizes: Mapping[str, int],
    present: Mapping[str, int],
    ratio: float | None,
    threshold: float,
    unknown: Collection[str] = (),
) -> dict[str, int]:
    """The sizes times the ratio, where the equations want nothing to grow and yet the sources fall short.

    What keeps them from their rate is then a cost that useful time does not show. While the size of one is `unknown`
    it may be that one, and no other is corrected for it.
    """
    if unknown or ratio is None or not threshold < ratio < math.inf:
        return dict(sizes)
    if any(size > present.get(name, size) for name, size in sizes.items()):
        return dict(sizes)
    return {name: math.ceil(ratio * size) for name, size in sizes.items()}


def _required(arriving: float, rates: TrueRates | None, factor: float) -> Answer:
    if rates is None:
        return "no useful time was measured"
    instances, processing, output = rates
    if not (0 < processing < math.inf and instances > 0):
        return f"its true rate of {processing:g}/s says nothing"
    unrounded = arriving / (processing / instances)
    if not unrounded < math.inf:
        return f"its true rate of {processing:g}/s says nothing"
    sized = math.ceil(unrounded * (1.0 + factor)) or 1
    if output is None or not 0 <= output < math.inf:
        return Required(arriving, unrounded, sized, None)
    # What is given out follows the unrounded size: instances that rounding adds will wait, not work.
    return Required(arriving, unrounded, sized, output * unrounded / instances)


def _arriving(
    feeders: Sequence[str], given: Mapping[str, float | None], parts: Mapping[str, float] | None
) -> float | str:
    """The sum of what reaches an operator, or who keeps it from being known."""
    total = 0.0
    for feeder in feeders:
        rps = given[feeder]
        if rps is None or not 0 <= rps < math.inf:
            return f"what {feeder} will give out is not known"
        total += rps * parts.get(feeder, 1.0) if parts else rps
    return total if feeders else "nothing feeds it"


# The graph of a query stays the same for hours, and finding the way through it takes as long as the arithmetic.
@lru_cache(maxsize=64)
def _walk(
    feeds: tuple[tuple[str, str], ...], operators: tuple[str, ...], sources: tuple[str, ...]
) -> tuple[list[tuple[str, list[str]]], list[str]]:
    """Operators after all that feed them, each with those; and operators in cycles, which have no such order."""
    before: dict[str, list[str]] = {name: [] for name in operators}
    after: dict[str, list[str]] = {}
    for upstream, downstream in dict.fromkeys(feeds):
        before.setdefault(downstream, []).append(upstream)
        after.setdefault(upstream, []).append(downstream)
    for source in sources:
        before.pop(source, None)
    waits = {name: len(feeders) for name, feeders in before.items()}
    reached = [*sources, *(name for name, count in waits.items() if count == 0)]
    # The list grows while it is walked: what an operator feeds comes after everything found so far.
    for name in reached:
        for follower in after.get(name, ()):
            if follower in waits:
                waits[follower] -= 1
                if waits[follower] == 0:
                    reached.append(follower)
    way = [(name, before[name]) for name in reached if name in before]
    return way, [name for name, count in waits.items() if count > 0]
