"""Slot-seconds per record, apart from slot-seconds per batch."""

import numpy as np
import pytest

from elastream.estimators.batch_cost import BatchCost, Doubt, batch_cost


def test_batches_of_different_sizes_tell_the_two_costs_apart() -> None:
    cost = batch_cost([[rows, 2.0 + rows * 1e-4] for rows in (1_000, 20_000, 50_000)])
    assert cost == pytest.approx(BatchCost(1e-4, 2.0, 3, 50_000, told_apart=True))


def test_the_fit_agrees_with_least_squares_of_relative_errors() -> None:
    random = np.random.default_rng(3)
    rows = random.uniform(1e3, 1e5, 50)
    busy = (1.5 + rows * 2e-4) * random.lognormal(0, 0.1, 50)
    slope, fixed = np.polyfit(rows, busy, 1, w=1 / busy)
    cost = batch_cost([[float(r), float(b)] for r, b in zip(rows, busy, strict=True)])
    assert cost is not None
    assert (cost.per_record_s, cost.per_batch_s) == pytest.approx((float(slope), float(fixed)))


def test_single_accidents_do_not_move_the_estimate() -> None:
    batches = [[rows, 2.0 + rows * 1e-4] for rows in (1_000.0, 5_000.0, 20_000.0, 50_000.0, 60_000.0)]
    cost = batch_cost([*batches, [40_000.0, 60.0]])
    assert cost is not None
    assert (cost.per_record_s, cost.per_batch_s) == pytest.approx((1e-4, 2.0))


def test_an_estimate_says_on_how_little_it_rests() -> None:
    few = batch_cost([[10.0, 0.5], [12.0, 0.5]])
    assert few is not None
    assert few.doubt(12.0) == Doubt("only 2 batches of at most 12 rows", 0.25)
    alike = batch_cost([[10.0, 0.5], [10.0, 0.5], [10.0, 0.5]])
    assert alike is not None
    assert alike.doubt(12.0) is None
    assert alike.doubt(1_000.0) == Doubt("no batch of more than 10 rows was seen", 0.01)
    apart = batch_cost([[rows, 2.0 + rows * 1e-4] for rows in (1_000, 20_000, 50_000)])
    assert apart is not None
    assert apart.doubt(500_000.0) is None


def test_batches_that_are_alike_put_everything_on_the_rows() -> None:
    assert batch_cost([[1_000, 3.0], [1_010, 3.1]]) == pytest.approx(BatchCost(6.1 / 2_010, 0.0, 2, 1_010))


def test_a_fixed_part_below_zero_is_none_and_no_doubt() -> None:
    # Large batches ran on cold executors: the line through them begins below zero.
    cost = batch_cost([[1_000, 0.1], [1_000, 0.1], [50_000, 6.0]])
    assert cost == pytest.approx(BatchCost(6.2 / 52_000, 0.0, 3, 50_000, told_apart=True))
    assert cost is not None
    assert cost.doubt(500_000.0) is None
    assert cost.likely_slot_s(500_000.0) == cost.slot_s(500_000.0)


def test_a_slope_that_cannot_be_is_not_believed() -> None:
    cost = batch_cost([[1_000, 5.0], [50_000, 1.0]])
    assert cost == pytest.approx(BatchCost(6.0 / 51_000, 0.0, 2, 50_000))


@pytest.mark.parametrize("batches", [[], [[0.0, 0.0]], [[0.0, 1.0], [0.0, 2.0]]])
def test_without_rows_there_is_no_cost(batches: list[list[float]]) -> None:
    assert batch_cost(batches) is None


def test_a_batch_that_cost_next_to_nothing_is_weighed_as_one_that_cost_a_little() -> None:
    cost = batch_cost([[1_000.0, 5e-324], [20_000.0, 4.0], [50_000.0, 7.0]])
    assert cost is not None
    assert cost.per_record_s > 0
