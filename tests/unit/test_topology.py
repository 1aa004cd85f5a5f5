import pytest

from elastream.core.errors import BadInput
from elastream.core.topology import Edge, Operator, Topology


def graph(*edges: tuple[str, str], alone: tuple[str, ...] = ()) -> Topology:
    names = dict.fromkeys([*alone, *(end for edge in edges for end in edge)])
    return Topology(
        operators=tuple(Operator(name=name, pool="executors") for name in names),
        edges=tuple(Edge(*edge) for edge in edges),
    )


def names(levels: tuple[tuple[Operator, ...], ...]) -> list[list[str]]:
    return [[operator.name for operator in level] for level in levels]


def test_operators_that_nothing_feeds_are_sources() -> None:
    topology = graph(("bids", "join"), ("persons", "join"), ("join", "sink"))
    assert [operator.name for operator in topology.sources()] == ["bids", "persons"]
    assert topology.upstream("join") == ("bids", "persons")
    assert topology.upstream("bids") == ()


def test_levels_follow_the_data_however_the_edges_are_written() -> None:
    topology = graph(("join", "sink"), ("persons", "join"), ("bids", "map"), ("map", "join"))
    assert names(topology.levels()) == [["persons", "bids"], ["map"], ["join"], ["sink"]]


def test_an_operator_waits_for_the_longest_way_to_it() -> None:
    assert names(graph(("a", "c"), ("a", "b"), ("b", "c")).levels()) == [["a"], ["b"], ["c"]]


def test_a_single_operator_is_a_topology() -> None:
    topology = graph(alone=("map",))
    topology.check({"executors"})
    assert names(topology.levels()) == [["map"]]


def test_a_cycle_is_named_in_the_direction_of_the_data() -> None:
    topology = graph(("source", "a"), ("a", "b"), ("b", "c"), ("c", "a"))
    with pytest.raises(BadInput, match=r"a cycle through (a -> b -> c -> a|b -> c -> a -> b|c -> a -> b -> c);"):
        topology.check({"executors"})


def test_an_operator_that_feeds_itself_is_a_cycle() -> None:
    with pytest.raises(BadInput, match="a cycle through a -> a;"):
        graph(("a", "a")).check({"executors"})


def test_no_operators_make_no_query() -> None:
    with pytest.raises(BadInput, match="plan: no operators"):
        Topology(operators=()).check({"executors"}, where="plan")


def test_names_are_unique() -> None:
    twice = Topology(operators=(Operator(name="map", pool="p"), Operator(name="map", pool="p")))
    with pytest.raises(BadInput, match="'map' stands twice"):
        twice.check({"p"})


def test_an_unknown_pool_comes_with_the_nearest_known_one() -> None:
    lost = Topology(operators=(Operator(name="map", pool="excutors"),))
    with pytest.raises(BadInput, match="'excutors' does not exist; did you mean 'executors'"):
        lost.check({"executors"})


def test_an_edge_to_nowhere_comes_with_the_nearest_operator() -> None:
    topology = Topology(operators=(Operator(name="map", pool="p"),), edges=(Edge("mop", "map"),))
    with pytest.raises(BadInput, match="unknown operator 'mop'; did you mean 'map'"):
        topology.check({"p"})


def test_no_partitions_is_not_a_width() -> None:
    with pytest.raises(BadInput, match="has 0 partitions; at least 1"):
        Topology(operators=(Operator(name="map", pool="p", partitions=0),)).check({"p"})
