"""How far a query is behind, at moments that can be compared."""

import pytest

from elastream.estimators.left_behind import Behind, growth_rps, records_behind, surely_grows, watched
from tests.unit.policies.observing import Dataflow, Doing


def seen(flow: Dataflow) -> Behind:
    behind: Behind | None = None
    for look in flow.looks:
        behind = watched(behind, look.queries[0])
    assert behind is not None
    return behind


def test_of_a_continuous_query_it_is_the_backlog_at_every_look() -> None:
    flow = Dataflow(Doing("scan"), shared=1, tick_s=15.0)
    flow.passes(120, scan={"in_rps": 100.0, "arrival_rps": 150.0})
    query, behind = flow.now.queries[0], seen(flow)
    assert records_behind(behind, query) == pytest.approx(6_000.0)
    assert growth_rps(behind, query, flow.at_s, 60.0) == pytest.approx(50.0)


def test_the_line_goes_through_all_looks_of_the_window() -> None:
    flow = Dataflow(Doing("scan"), shared=1, tick_s=10.0)
    flow.passes(100, scan={"in_rps": 0.0, "arrival_rps": 100.0})
    flow.passes(20, scan={"arrival_rps": 0.0})
    query, behind = flow.now.queries[0], seen(flow)
    # Four looks that rise by 1,000 each and two that stand still: less than 100/s, more than nothing.
    rate = growth_rps(behind, query, flow.at_s, 60.0)
    assert rate is not None
    assert 40 < rate < 90


def healthy(tick_s: float) -> Dataflow:
    """Batches of 6 s every 10 s, seen at any time: the backlog rises and falls by 100,000."""
    flow = Dataflow(Doing("scan", in_rps=0.0, arrival_rps=10_000.0), shared=1, tick_s=tick_s, trigger_s=10.0)
    for _ in range(12):
        flow.passes(6.0)
        flow.totals["scan", "in"] = flow.totals["scan", "arrived"] - 60_000.0
        flow.batch(6.0)
        flow.passes(4.0)
    return flow


@pytest.mark.parametrize("tick_s", [1.0, 4.0, 7.0])
def test_batches_that_end_within_their_trigger_interval_leave_nothing_behind(tick_s: float) -> None:
    flow = healthy(tick_s)
    query, behind = flow.now.queries[0], seen(flow)
    assert (query.backlog or 0.0) > 50_000.0
    assert records_behind(behind, query) == pytest.approx(0.0, abs=1.0)
    assert growth_rps(behind, query, flow.at_s, 60.0) == pytest.approx(0.0, abs=1.0)


def test_a_batch_twice_as_long_as_its_interval_leaves_half_of_what_came_behind() -> None:
    flow = Dataflow(Doing("scan", in_rps=0.0, arrival_rps=1_000.0), shared=1, tick_s=5.0, trigger_s=10.0)
    for _ in range(4):
        flow.passes(20.0)
        flow.totals["scan", "in"] = flow.totals["scan", "arrived"] - 20_000.0
        flow.batch(20.0)
        flow.passes(5.0)
    assert records_behind(seen(flow), flow.now.queries[0]) == pytest.approx(10_000.0)


@pytest.mark.parametrize(
    ("left", "is_sure"),
    [
        ((0.0, 100.0), False),
        ((0.0, 100.0, 200.0), True),
        ((0.0, 0.0, 100.0), False),
        ((0.0, 50.0, 40.0, 90.0, 80.0, 130.0, 120.0), True),
        ((50.0, 90.0, 40.0, 80.0, 60.0, 95.0), False),
        ((100.0, 50.0, 0.0), False),
    ],
)
def test_growth_beyond_doubt_is_more_than_samples_scatter_and_takes_three(
    left: tuple[float, ...], is_sure: bool
) -> None:
    samples = [[10.0 * number, records] for number, records in enumerate(left)]
    behind: Behind = {"arrived": None, "began": None, "batch": None, "samples": samples}
    assert surely_grows(behind, 60.0, 100.0) is is_sure


def test_totals_that_fell_begin_anew() -> None:
    flow = Dataflow(Doing("scan"), shared=1)
    flow.passes(60, scan={"in_rps": 100.0, "arrival_rps": 150.0})
    flow.totals["scan", "arrived"] = flow.totals["scan", "in"] = 0.0
    flow.passes(15)
    query, behind = flow.now.queries[0], seen(flow)
    assert len(behind["samples"]) == 1
    assert growth_rps(behind, query, flow.at_s, 60.0) is None


def test_what_is_kept_is_bounded() -> None:
    flow = Dataflow(Doing("scan", in_rps=1.0), shared=1, tick_s=1.0)
    flow.passes(500)
    assert len(seen(flow)["samples"]) == 128
