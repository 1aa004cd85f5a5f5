"""How fast a running total grows, also one that stands still for a while and then jumps, as commits do."""

from bisect import bisect_right
from collections import defaultdict
from typing import Literal

from elastream.core.observation import Query, Reading
from elastream.evaluation.measures import Value, sum_known


class Total:
    """A running total, as the moments at which it had moved.

    Differences over a fixed window would count two jumps in one place and three in the next. From jump to jump there is
    no such doubt.
    """

    def __init__(self) -> None:
        self._moves: list[Reading] = []

    def rate(self, reading: Reading, window_s: float) -> float | None:
        """Take in a reading, and tell the growth per second lately: over the window, or from the last jump but one."""
        moves, now_s = self._moves, reading.at_s
        if moves and reading.value < moves[-1].value:
            # It was reset: nothing can be said across the break.
            moves.clear()
        if not moves or reading.value > moves[-1].value:
            moves.append(reading)
        before = bisect_right(moves, now_s - window_s, key=lambda move: move.at_s) - 1
        del moves[: max(0, min(before, len(moves) - 2))]
        first, last = moves[0], moves[-1]
        # For as long as it last took from jump to jump, it may stand still without having become slower.
        usual_s = last.at_s - moves[-2].at_s if len(moves) > 1 else 0.0
        still_s = now_s - last.at_s
        if still_s > max(window_s, 2 * usual_s):
            return 0.0
        elapsed_s = max(last.at_s, now_s - usual_s) - first.at_s
        return (last.value - first.value) / elapsed_s if elapsed_s > 0 else None


class QueryRates:
    """Running totals of all sources, and how fast they grew lately."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, str, str], Total] = defaultdict(Total)

    def update(self, query: Query, total: Literal["arrived", "committed"], window_s: float) -> Value:
        """Take in one look, and tell records per second over all sources of a query."""
        found: list[Value] = []
        for source in query.sources:
            reading = source.arrived if total == "arrived" else source.committed
            kept = self._totals[query.id, source.name, total]
            found.append(None if reading is None else kept.rate(reading, window_s))
        return sum_known(found)
