"""How records flow from logs through operators: which origins reach which operator, and where they are through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from elastream.simulator.continuous.instances import Instances
from elastream.simulator.continuous.log import SimulatedLog
from elastream.simulator.continuous.model import DataflowModel


class Out(NamedTuple):
    """An edge to an operator downstream."""

    to: Instances
    selectivity: float
    place: int
    """Among all that feed it."""
    ways: tuple[tuple[int, int], ...]
    """From which origin here to which there, by their places in both."""


def connect(model: DataflowModel, logs: Sequence[SimulatedLog]) -> list[Instances]:
    """The operators in the order data reach them, with their edges.

    A window gives out results and not the records it took in, so it is an origin of its own.
    """
    by_log = {log.model.name: (number, log) for number, log in enumerate(logs)}
    found: dict[str, Instances] = {}
    for number, operator in enumerate(model.ordered()):
        one = Instances(operator, number)
        one.logs = [by_log[feed.name][1] for feed in operator.after if feed.name in by_log]
        gains = {by_log[feed.name][0]: 1.0 for feed in operator.after if feed.name in by_log}
        for feed in operator.after:
            if feed.name in found and feed.selectivity > 0:
                for origin, gain in given(found[feed.name], len(logs)).items():
                    gains[origin] = gains.get(origin, 0.0) + gain * feed.selectivity
        one.origins, one.gains = list(gains), list(gains.values())
        one.single = len(operator.after) == 1
        one.bounded = model.stops_sources_until is None
        one.weights = [1.0] * len(operator.after)
        one.passed, one.waiting, one.inbox = ([0.0] * len(gains) for _ in range(3))
        found[operator.name] = one
    for one in found.values():
        for place, feed in enumerate(one.model.after):
            if feed.name in found:
                up = found[feed.name]
                one.ups.append((up, feed.selectivity))
                reaching = list(given(up, len(logs))) if feed.selectivity > 0 else []
                ways = tuple((here, one.origins.index(origin)) for here, origin in enumerate(reaching))
                up.outs.append(Out(one, feed.selectivity, place, ways))
    return list(found.values())


def given(operator: Instances, logs: int) -> dict[int, float]:
    """Origins of what an operator gives out, with their gains."""
    if operator.window is not None:
        return {logs + operator.number: 1.0}
    return dict(zip(operator.origins, operator.gains, strict=True))


def ends(operators: Sequence[Instances], log: int) -> list[tuple[Instances, int, float]]:
    """Where the records of a log are through: at sinks, or where a window takes them in."""
    return [
        (operator, operator.origins.index(log), operator.gains[operator.origins.index(log)])
        for operator in operators
        if log in operator.origins
        and (operator.window is not None or not any(out.selectivity > 0 for out in operator.outs))
    ]
