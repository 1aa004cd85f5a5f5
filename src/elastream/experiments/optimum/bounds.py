"""What keeping a promise costs at least, and a plan that keeps it.

The share of records that may be late binds over the whole run. Each late record gets a price instead, at which dynamic
programming is exact; less what all that may be late would cost, the least total is a lower bound for every price (weak
duality), and the best of them is told. A plan is what the decisions at a price come to without any rounding; the
cheapest that keeps the promise is told, so that its cost is an upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elastream.experiments.optimum.dynamic_program import solve
from elastream.experiments.optimum.problem import Engine, Floats, SizePlan

# Prices of a late record, over what it costs to do it, that are tried first.
_PRICES = np.geomspace(0.03, 3000.0, 11)
_COARSE = 4
# Halvings of the interval of prices in which the cheapest plan is searched for.
_HALVINGS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class CostBounds:
    """In seconds of a worker."""

    lower_s: float
    plan: SizePlan | None
    """None: none that was found keeps the promise."""
    price_s: float
    """Of a late record, where the lower bound is highest."""


def find_bounds(job: Engine) -> CostBounds:
    """The lower bound, and the cheapest plan that was found."""
    lower_s, price_s = find_lower(job)
    return CostBounds(lower_s=lower_s, plan=find_plan(job, price_s), price_s=price_s)


def find_lower(job: Engine) -> tuple[float, float]:
    """The highest of the lower bounds, and its price of a late record."""
    prices = _PRICES * job.record_s
    best = int(np.argmax(_dual(job.coarser(_COARSE), prices)))
    around = np.geomspace(prices[max(0, best - 1)], prices[min(best + 1, len(prices) - 1)], 5)
    found = _dual(job, around)
    return max(0.0, float(found.max())), float(around[int(np.argmax(found))])


def find_plan(job: Engine, price_s: float) -> SizePlan | None:
    """The cheapest plan that keeps the promise, near a price at which it should."""
    problem, found = job.problem, None
    low, high = np.log(price_s / 8), np.log(price_s * 64)
    for tried in range(_HALVINGS + 1):
        middle = (low + high) / 2 if tried else np.log(price_s)
        plan = follow(job, float(np.exp(middle)))
        if plan.keeps(problem.slo):
            found = plan if found is None or plan.cost_s < found.cost_s else found
            high = middle
        else:
            low = middle
    return found if found is not None else _kept(job, float(np.exp(high)))


def follow(job: Engine, price_s: float) -> SizePlan:
    """The plan at a price of a late record."""
    return job.roll_out(solve(job, np.array([price_s]), "up", keep=True).decisions)


def _kept(job: Engine, price_s: float) -> SizePlan | None:
    plan = follow(job, price_s)
    return plan if plan.keeps(job.problem.slo) else None


def _dual(job: Engine, prices: Floats) -> Floats:
    return solve(job, prices, "down").values - prices * job.problem.may_be_late
