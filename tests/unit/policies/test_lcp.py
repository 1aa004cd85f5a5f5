"""Lazy capacity provisioning against the cheapest schedule that knew the future."""

import itertools
import random

import pytest

from elastream.core.errors import BadInput
from elastream.policies import Lcp
from elastream.policies.lcp import be_lazy
from elastream.testing import application, tell

CHANGE_S = 60.0


def interval_cost(workers: int, needed: float) -> float:
    return 15.0 * (workers + 10.0 * max(0.0, needed - workers))


def cheapest(load: list[float], most: int, start: int) -> float:
    """Over all schedules, one by one."""
    found = float("inf")
    for sizes in itertools.product(range(1, most + 1), repeat=len(load)):
        rises = sum(CHANGE_S * max(0, after - before) for before, after in itertools.pairwise((start, *sizes)))
        found = min(found, rises + sum(map(interval_cost, sizes, load)))
    return found


def follow(load: list[float], most: int, start: int) -> tuple[float, list[int]]:
    costs, size, paid, sizes = [CHANGE_S * max(0, n - start) for n in range(1, most + 1)], start, 0.0, []
    for needed in load:
        spent = [interval_cost(n, needed) for n in range(1, most + 1)]
        lazy = be_lazy(costs, spent, size, least=1, change_s=CHANGE_S)
        assert lazy.low <= lazy.high
        paid += CHANGE_S * max(0, lazy.workers - size) + interval_cost(lazy.workers, needed)
        costs, size = lazy.costs, lazy.workers
        sizes.append(size)
    return paid, sizes


def test_it_never_costs_more_than_three_times_the_cheapest_schedule() -> None:
    draw, worst = random.Random("lcp"), 0.0
    for _ in range(60):
        load = [draw.choice((0.0, 0.5, 1.0, 2.5, 4.0)) for _ in range(6)]
        worst = max(worst, follow(load, 4, 1)[0] / cheapest(load, 4, 1))
    assert 1.0 < worst <= 3.0 + 1e-9


def test_it_waits_until_giving_up_a_worker_has_paid_for_getting_it_back() -> None:
    _, sizes = follow([4.0] * 8 + [1.0] * 12, 4, 1)
    assert sizes[7] == 4
    # A worker costs 15 s in each interval, and 60 s to get back.
    assert sizes[8:] == [4, 4, 4, 4, *[1] * 8]


def test_on_the_simulator_it_follows_a_load_that_lasts() -> None:
    story = tell(application(initial_workers=2), "step(10k, 60k, at=10m)", "lcp", minutes=30)
    assert max(story.wanted(to_s=590)) <= 2
    assert 7 <= story.wanted()[-1] <= 10
    assert "the cheapest schedules so far end between" in story.reasons()[-1]


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(BadInput, match="short 1, full"):
        Lcp(short=1.0)
