"""Operators and edges of a query: a directed graph without cycles."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from elastream.core.errors import BadInput, suggestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator. On Spark: a stage."""

    name: str
    pool: str
    parallel: bool = True
    """Whether more slots make it faster; others are left alone."""
    partitions: int | None = None
    """Tasks it is cut into: the ceiling of slots it can use."""
    stateful: bool = False
    reads: tuple[str, ...] | None = None
    """The query's sources that it reads, by their names; None: not told, as in journals of before."""


@dataclass(frozen=True, slots=True)
class Edge:
    """Records flow from one operator to the next."""

    upstream: str
    downstream: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """The operators of one query and how they feed each other."""

    operators: tuple[Operator, ...]
    edges: tuple[Edge, ...] = ()

    def sources(self) -> tuple[Operator, ...]:
        """Operators that nothing feeds."""
        fed = {edge.downstream for edge in self.edges}
        return tuple(operator for operator in self.operators if operator.name not in fed)

    def upstream(self, name: str) -> tuple[str, ...]:
        """What feeds an operator."""
        return tuple(edge.upstream for edge in self.edges if edge.downstream == name)

    def levels(self, where: str = "topology") -> tuple[tuple[Operator, ...], ...]:
        """Operators in the order data reaches them; those of one level do not feed each other."""
        waiting = {operator.name: set(self.upstream(operator.name)) for operator in self.operators}
        by_name = {operator.name: operator for operator in self.operators}
        levels: list[tuple[Operator, ...]] = []
        while waiting:
            free = [name for name, feeds in waiting.items() if not feeds]
            if not free:
                raise BadInput(f"{where}: a cycle through {' -> '.join(_cycle(waiting))}; operators must form a DAG")
            levels.append(tuple(by_name[name] for name in free))
            waiting = {name: feeds.difference(free) for name, feeds in waiting.items() if name not in free}
        return tuple(levels)

    def check(self, pools: Collection[str], where: str = "topology") -> None:
        """Raise BadInput where the graph makes no sense."""
        names = [operator.name for operator in self.operators]
        if not names:
            raise BadInput(f"{where}: no operators; a query has at least one")
        for name in names:
            if names.count(name) > 1:
                raise BadInput(f"{where}: operator {name!r} stands twice; names are unique within a query")
        for operator in self.operators:
            if operator.pool not in pools:
                raise BadInput(
                    f"{where}: operator {operator.name!r} is in no pool: {operator.pool!r} does not exist"
                    f"{suggestion(operator.pool, pools)}"
                )
            if operator.partitions is not None and operator.partitions < 1:
                raise BadInput(
                    f"{where}: operator {operator.name!r} has {operator.partitions} partitions; at least 1 is needed"
                )
        for edge in self.edges:
            for end in (edge.upstream, edge.downstream):
                if end not in names:
                    raise BadInput(f"{where}: edge to unknown operator {end!r}{suggestion(end, names)}")
        self.levels(where)


def _cycle(waiting: Mapping[str, set[str]]) -> list[str]:
    """One cycle among operators that all wait for each other."""
    path = [next(iter(waiting))]
    while True:
        # The first by name, so that the message does not depend on the order of a set.
        before = min(name for name in waiting[path[-1]] if name in waiting)
        if before in path:
            return [*path[path.index(before) :], before][::-1]
        path.append(before)
