"""Operators and edges as lines of text, in the order data passes them: every open line runs down to who reads it."""

from dataclasses import dataclass

from elastream.core.topology import Topology

LINES = "│├╯─╮●"
ASCII = "|+'-.*"


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what is drawn, and the operator that it stands for, if any."""

    drawn: str
    operator: str | None = None


def graph(topology: Topology, characters: str = LINES) -> list[Row]:
    """The rows of the picture, sources first."""
    down, fork, join, across, split, node = tuple(characters)
    readers = {
        one.name: [edge.downstream for edge in topology.edges if edge.upstream == one.name]
        for one in topology.operators
    }
    rows: list[Row] = []
    lanes: list[str] = []
    for name in _in_order(topology):
        mine = [lane for lane, reader in enumerate(lanes) if reader == name]
        for lane in reversed(mine[1:]):
            # Another line ends here: it bends over to the first one.
            rows.append(Row(_bent(lanes, mine[0], lane, down, fork, join, across)))
            del lanes[lane]
        if rows and rows[-1].operator in topology.upstream(name):
            rows.append(Row(" ".join(down for _ in lanes)))
        at = mine[0] if mine else len(lanes)
        lanes[at : at + 1] = [name]
        rows.append(Row(" ".join(node if lane == at else down for lane in range(len(lanes))), name))
        onward = readers[name]
        lanes[at : at + 1] = onward
        for extra in range(1, len(onward)):
            rows.append(Row(_bent(lanes[: at + extra + 1], at, at + extra, down, fork, split, across)))
    return rows


def _bent(lanes: list[str], to: int, lane: int, down: str, fork: str, corner: str, across: str) -> str:
    drawn = ""
    for place in range(len(lanes)):
        inside = to <= place < lane
        mark = fork if place == to else corner if place == lane else across if inside else down
        drawn += mark + (across if inside else " ")
    return drawn.rstrip()


def _in_order(topology: Topology) -> list[str]:
    """Every operator after those that feed it, and as soon after them as can be: few lines are open at a time."""
    topology.levels()
    order: list[str] = []

    def visit(name: str) -> None:
        if name not in order:
            for before in topology.upstream(name):
                visit(before)
            order.append(name)

    feeding = {edge.upstream for edge in topology.edges}
    for operator in topology.operators:
        if operator.name not in feeding:
            visit(operator.name)
    return order
