"""The choice of the worker to add or remove, and the baselines that differ in it."""

import math
from dataclasses import replace

import pytest

from elastream.core.observation import Worker
from elastream.policies import ThrNLAware, ThrNLUnaware
from elastream.policies.catalogue import policies
from elastream.policies.gesscale.nodes import NodePlaces, places
from elastream.testing import POOL, observation, pool
from tests.unit.policies.observing import Dataflow, Doing

# a and b are close to each other, c is close to b only, d is far from everybody.
TABLE_MS = {
    ("a", "b"): 10.0, ("a", "c"): 80.0, ("a", "d"): 200.0,
    ("b", "c"): 20.0, ("b", "d"): 150.0, ("c", "d"): 160.0,
}  # fmt: skip


def delay_ms(one: str, other: str) -> float:
    return TABLE_MS.get((one, other)) or TABLE_MS[other, one]


def on(*nodes: str) -> tuple[Worker, ...]:
    """Workers on nodes, with their delays to all nodes there are."""
    return tuple(
        Worker(
            id=node.upper(),
            state="ready",
            since_s=0.0,
            node=node,
            delays_ms={other: delay_ms(node, other) for other in "abcd" if other != node},
        )
        for node in nodes
    )


def placed(workers: tuple[Worker, ...]) -> NodePlaces | None:
    seen = replace(pool(ready=len(workers)), workers=workers)
    return places(seen, observation(pools=(seen,)))


def known(*nodes: str) -> NodePlaces:
    found = placed(on(*nodes))
    assert found is not None
    return found


def test_the_greatest_delay_is_that_of_the_pair_farthest_apart() -> None:
    assert known("a", "b", "c").max_delay_ms == 80.0
    assert known("a").max_delay_ms == 0.0


def test_the_node_that_keeps_the_greatest_delay_least_is_added() -> None:
    assert known("b").nearest() == "a"
    assert known("b", "c").nearest() == "a"
    assert known("a", "b", "c").nearest() == "d"
    assert known("a", "b", "c", "d").nearest() is None


def test_the_worker_whose_leaving_makes_the_greatest_delay_least_goes() -> None:
    assert known("a", "b", "c", "d").farthest() == "D"
    # Without a the pair b, c is left with 20 ms; without c the pair a, b with 10 ms.
    assert known("a", "b", "c").farthest() == "C"


def test_among_equals_the_one_with_the_greatest_delay_to_all_others_goes() -> None:
    two = known("a", "d")
    assert two.without("A").max_delay_ms == two.without("D").max_delay_ms == 0.0
    assert two.farthest() == "A"


def test_a_node_that_another_pool_uses_is_not_free() -> None:
    mine = replace(pool("mine", ready=1), workers=on("b"))
    other = replace(pool("other", ready=1), workers=on("a"))
    found = places(mine, observation(pools=(mine, other)))
    assert found is not None
    assert found.nearest() == "c"


def test_a_leaving_worker_does_not_count_and_its_node_is_not_free() -> None:
    staying, leaving = on("b", "a")
    found = placed((staying, replace(leaving, state="leaving")))
    assert found is not None
    assert (found.workers, found.nearest()) == ((("B", "b"),), "c")


def test_where_the_ends_of_a_link_do_not_agree_the_greater_delay_counts() -> None:
    one, other = on("a", "b")
    found = placed((one, replace(other, delays_ms={"a": 30.0})))
    assert found is not None
    assert found.max_delay_ms == 30.0


@pytest.mark.parametrize("delay", [None, {}, {"a": math.nan}, {"a": math.inf}, {"a": -1.0}])
def test_a_delay_that_is_not_known_or_cannot_be_leaves_the_places_unknown(delay: dict[str, float] | None) -> None:
    one, other = on("a", "b")
    assert placed((replace(one, delays_ms=None), replace(other, delays_ms=delay))) is None


def test_workers_without_a_node_leave_the_places_unknown() -> None:
    one, other = on("a", "b")
    assert placed((one, replace(other, node=None))) is None
    assert placed(()) is None


def under_threshold(cpu: float, *nodes: str) -> Dataflow:
    flow = Dataflow(Doing("map", in_rps=10.0, cpu=cpu), shared=len(nodes))
    workers = [replace(worker, id=str(number)) for number, worker in enumerate(on(*nodes))]
    flow.passes(60)
    flow.looks = [
        replace(look, pools=(replace(look.pools[0], workers=_with_cpu(look.pools[0].workers, workers)),))
        for look in flow.looks
    ]
    return flow


def _with_cpu(seen: tuple[Worker, ...], nodes: list[Worker]) -> tuple[Worker, ...]:
    return tuple(
        replace(worker, node=there.node, delays_ms=there.delays_ms) for worker, there in zip(seen, nodes, strict=True)
    )


def test_the_thresholds_are_ninety_and_fifty_percent() -> None:
    for cpu, size in ((0.91, 4), (0.9, 3), (0.5, 3), (0.49, 2)):
        assert under_threshold(cpu, "a", "b", "d").decides(ThrNLUnaware()).allocation == {POOL: size}


def test_the_thresholds_of_the_code_are_a_preset() -> None:
    unaware, aware = policies.build("thr-nlunaware-code"), policies.build("thr-nlaware-code")
    assert unaware == ThrNLUnaware(high=0.5, low=0.3, interval_s=30.0, window_s=30.0, warm_up_s=300.0)
    assert aware == ThrNLAware(high=0.5, low=0.3, interval_s=30.0, window_s=30.0, warm_up_s=300.0)


def test_the_aware_one_adds_the_nearest_and_removes_the_farthest() -> None:
    grown = under_threshold(0.95, "a", "b").decides(ThrNLAware())
    assert (grown.allocation, grown.add_on, grown.leave_first) == ({POOL: 3}, ("c",), ())
    shrunk = under_threshold(0.3, "a", "b", "d").decides(ThrNLAware())
    assert (shrunk.allocation, shrunk.add_on, shrunk.leave_first) == ({POOL: 2}, (), ("2",))
    assert shrunk.reason.endswith("; farthest: 2")


def test_the_unaware_one_names_nobody() -> None:
    for cpu in (0.95, 0.3):
        decision = under_threshold(cpu, "a", "b", "d").decides(ThrNLUnaware())
        assert (decision.kind, decision.add_on, decision.leave_first) == ("set", (), ())
