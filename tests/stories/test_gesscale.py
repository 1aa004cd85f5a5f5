"""Table III of Gesscale: two days of taxi rides, who costs least and who is nearest to the ideal.

The order of reconfigurations does not come out with the code's drop threshold, and the document has no value of its
own: `experiments/gesscale_table3.py` tells how it hangs on that threshold.
"""

import pytest

from experiments.gesscale_table3 import DELAY_COST, DOWNTIME_S, Row, TwoDays, table

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    """At the pace of the public code, three runs each: two of the policies draw workers at random."""
    return table(TwoDays(), pace="code", delay_cost=DELAY_COST, downtime_s=DOWNTIME_S, seeds=3)


def test_gesscale_costs_least_and_knowing_delays_makes_thresholds_cheaper(rows: dict[str, Row]) -> None:
    costs = {name: row.cost for name, row in rows.items()}
    assert costs["Gesscale"] == min(costs.values())
    assert costs["THR-NLAware"] < costs["THR-NLUnaware"]


def test_gesscale_has_the_fewest_workers_too_many(rows: dict[str, Row]) -> None:
    assert rows["Gesscale"].accuracy_over == min(row.accuracy_over for row in rows.values())
