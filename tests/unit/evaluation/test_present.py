"""What could be taken in now, and how busy slots are."""

from dataclasses import replace

import pytest

from elastream.core.observation import FinishedBatch, Observation, Reading, Trigger
from elastream.evaluation.present import BusyShare, PresentCapacity
from tests.unit.page_samples import look, query


def batch(number: int, rows: float, *, row_s: float = 0.01, fixed_s: float = 2.0) -> Observation:
    """A batch of so many rows on two workers of one slot, with a second of the driver, under a trigger of 10 s."""
    at_s = 10.0 * number
    done = FinishedBatch(
        id=number, started_s=at_s - 9, ended_s=at_s, rows=rows, busy_s=fixed_s + row_s * rows, driver_s=1.0
    )
    now = look(at_s, replace(query(at_s), finished=done, trigger=Trigger(interval_s=10.0)))
    return replace(now, pools=(replace(now.pools[0], slots_per_worker=1),))


def test_capacity_is_what_fits_between_two_triggers_by_the_slope_of_what_batches_cost() -> None:
    capacity, found = PresentCapacity(), None
    for number, rows in enumerate([9_999, 200, 400, 600, 800]):
        now = batch(number, rows)
        found = capacity.update(now.queries[0], now)

    # (9 s x 2 slots - 2 slot-s) / 0.01 = 1,600 rows in 10 s. The first batch does not count.
    assert found == pytest.approx(160.0)


def test_capacity_is_unknown_where_batches_are_too_alike_and_too_small_to_tell() -> None:
    capacity, found = PresentCapacity(), None
    for number in range(6):
        now = batch(number, 100)
        found = capacity.update(now.queries[0], now)

    assert found is None


def busy(at_s: float, busy_s: float | None, ready: int = 2) -> Observation:
    now = look(at_s, ready=ready)
    reading = None if busy_s is None else Reading(busy_s, at_s)
    return replace(now, pools=(replace(now.pools[0], slots_per_worker=1, busy_slot_s=reading),))


def test_busy_is_the_share_of_the_slots_that_there_were() -> None:
    share = BusyShare(60.0)
    assert share.update(busy(0.0, 0.0)) is None
    assert share.update(busy(10.0, 10.0)) == pytest.approx(0.5)
    # 10 s of four slots, of which half of the time was used.
    assert share.update(busy(20.0, 30.0, ready=4)) == pytest.approx(30.0 / 60.0)


def test_nothing_is_said_across_a_look_that_lost_events() -> None:
    share = BusyShare(60.0)
    share.update(busy(0.0, 0.0))
    assert share.update(busy(10.0, None)) is None
    assert share.update(busy(20.0, 5.0)) is None
