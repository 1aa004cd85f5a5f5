"""A long series in as many points as a screen has columns: the extremes of each, so that spikes stay."""

from collections.abc import Sequence

from elastream.evaluation.measures import Value

Point = tuple[float, float]


def segments(at: Sequence[float], values: Sequence[Value], start: float, end: float, columns: int) -> list[list[Point]]:
    """Points to join by a line, a list for each stretch without a gap."""
    if len(at) <= 2 * columns:
        return _split([(x, value) for x, value in zip(at, values, strict=True)])
    points: list[tuple[float, Value]] = []
    for group in grouped(at, start, end, columns):
        known = [(value, i) for i in group if (value := values[i]) is not None]
        # In the order in which they came. A gap narrower than a column cannot be seen.
        chosen = sorted({min(known)[1], max(known)[1]}) if known else [group[0]]
        points += [(at[i], values[i]) for i in chosen]
    return _split(points)


def grouped(at: Sequence[float], start: float, end: float, columns: int) -> list[range]:
    """Moments that share a column, as ranges of their positions; empty columns are left out."""
    if len(at) <= columns:
        return [range(i, i + 1) for i in range(len(at))]
    found: list[range] = []
    first, last = 0, _column(at[0], start, end, columns)
    for i in range(1, len(at)):
        column = _column(at[i], start, end, columns)
        if column != last:
            found.append(range(first, i))
            first, last = i, column
    return [*found, range(first, len(at))]


def _column(x: float, start: float, end: float, columns: int) -> int:
    return min(columns - 1, int((x - start) / (end - start) * columns))


def _split(points: Sequence[tuple[float, Value]]) -> list[list[Point]]:
    found: list[list[Point]] = []
    is_open = False
    for x, value in points:
        if value is None:
            is_open = False
            continue
        if not is_open:
            found.append([])
        found[-1].append((x, value))
        is_open = True
    return found
