"""What being watched costs, from rounds with and without."""

import pytest

from elastream.experiments.statistics import ConfidenceInterval, Estimate
from experiments.watching import ORDER, Overhead, Round, compare, judge


def rounds(cost: float, *, noise: tuple[float, ...] = (0.0,) * 8) -> list[Round]:
    """Eight of them, of a machine that becomes slower all the while."""
    found = []
    for number, (watched, more) in enumerate(zip(ORDER * 2, noise, strict=True)):
        took_s = (1.0 + 0.001 * number + more) * (1.0 + cost * watched)
        found.append(Round(watched=watched, batches_s=(took_s,) * 20, rows=20_000.0))
    return found


def verdicts(overhead: Overhead) -> set[str]:
    return {judge(overhead.throughput), judge(overhead.p95)}


def test_a_cost_below_the_goal_meets_it_though_the_machine_drifts() -> None:
    overhead = compare(rounds(0.005))
    assert overhead.p95.mean == pytest.approx(0.005, abs=1e-4)
    assert overhead.throughput.mean == pytest.approx(0.005, abs=1e-4)
    assert verdicts(overhead) == {"met"}


def test_a_cost_above_it_misses_it_and_one_that_drowns_in_noise_is_inconclusive() -> None:
    assert verdicts(compare(rounds(0.1))) == {"MISSED"}
    noisy = (0.3, 0.0, 0.2, 0.0, -0.2, 0.1, 0.0, 0.4)
    assert verdicts(compare(rounds(0.005, noise=noisy))) == {"inconclusive"}
    assert judge(Estimate(mean=0.0, repetitions=1, interval=None, variation=None)) == "inconclusive"


def test_it_is_told_with_its_interval() -> None:
    found = Estimate(mean=0.011, repetitions=4, interval=ConfidenceInterval(0.002, 0.019), variation=None)
    assert Overhead(throughput=found, p95=found).tell()[0] == "throughput less by +1.1 % (+0.2..+1.9): met"
