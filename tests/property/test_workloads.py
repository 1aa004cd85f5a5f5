import math
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elastream.core.errors import BadInput
from elastream.workloads import (
    Constant,
    Convergence,
    Cosine,
    Decreasing,
    Increasing,
    Pattern,
    Ramp,
    RandomWalk,
    RateSeries,
    Sine,
    Spike,
    Spikes,
    Step,
    Trace,
    parse_workload,
)

rates = st.one_of(st.just(0.0), st.floats(1e-3, 1e9), st.integers(0, 10**7).map(float))
moments = st.one_of(st.just(0.0), st.floats(1e-2, 1e5), st.integers(0, 10_000).map(float))
lengths = st.one_of(st.floats(1e-2, 1e5), st.integers(1, 10_000).map(float))
steps = st.one_of(st.floats(1.0, 600.0), st.sampled_from([1.0, 60.0]))
shares = st.floats(0, 1)
seeds = st.integers(0, 2**63)
durations = st.floats(1.0, 5000.0)


@st.composite
def drawn_series(draw: st.DrawFn) -> RateSeries:
    gaps = draw(st.lists(st.floats(1e-3, 1e4), max_size=20))
    values = draw(st.lists(rates, min_size=len(gaps) + 1, max_size=len(gaps) + 1))
    return RateSeries(np.concatenate(([0.0], np.cumsum(gaps))), np.array(values), draw(durations))


@st.composite
def ordered(draw: st.DrawFn) -> tuple[float, float]:
    low, high = sorted((draw(rates), draw(rates)))
    return low, high


@st.composite
def waves(draw: st.DrawFn, kind: Callable[..., Pattern]) -> Pattern:
    low, high = draw(ordered())
    return kind(
        low_rps=low,
        high_rps=high,
        period_s=draw(lengths),
        noise_rps=draw(rates),
        shift_s=draw(moments),
        step_s=draw(steps),
    )


@st.composite
def walks(draw: st.DrawFn) -> Pattern:
    low, start, high = sorted((draw(rates), draw(rates), draw(rates)))
    top = draw(st.sampled_from([None, high]))
    return RandomWalk(
        start_rps=start, rise_rps=draw(rates), fall_rps=draw(rates), low_rps=low, high_rps=top, step_s=draw(steps)
    )


@st.composite
def trends(draw: st.DrawFn) -> Pattern:
    low, high = draw(ordered())
    over_s = draw(st.floats(60.0, 1e5))
    shape = {"over_s": over_s, "hold_s": over_s * draw(st.floats(0, 0.9)), "wander": draw(shares), "step_s": 60.0}
    if draw(st.booleans()):
        return Increasing(from_rps=low, to_rps=high, **shape)
    return Decreasing(from_rps=high, to_rps=low, **shape)


@st.composite
def bursts(draw: st.DrawFn) -> Pattern:
    low, high = draw(ordered())
    return Spikes(
        low_rps=low,
        high_rps=high,
        chance=draw(shares),
        longest_s=draw(lengths),
        base_rps=draw(rates),
        step_s=draw(steps),
    )


patterns: st.SearchStrategy[Pattern] = st.one_of(
    st.builds(Constant, rps=rates),
    st.builds(Step, from_rps=rates, to_rps=rates, at_s=lengths),
    st.builds(Ramp, from_rps=rates, to_rps=rates, at_s=moments, for_s=lengths, step_s=steps),
    st.builds(Convergence, levels_rps=st.lists(rates, min_size=1, max_size=5).map(tuple), first_s=lengths),
    st.builds(Spike, rps=rates, at_s=moments, for_s=lengths, base_rps=rates),
    waves(Sine),
    waves(Cosine),
    walks(),
    trends(),
    bursts(),
)
traces = st.builds(
    Trace,
    file=st.text(min_size=1, max_size=20),
    stretch=st.floats(1e-3, 1e3),
    scale=st.floats(1e-3, 1e6),
    then=st.sampled_from(["hold", "repeat", "stop"]),
    column=st.none() | st.text(max_size=8),
)


def combined(parts: st.SearchStrategy[Pattern]) -> st.SearchStrategy[Pattern]:
    return st.recursive(
        parts,
        lambda inner: st.one_of(
            st.builds(lambda a, b: a + b, inner, inner), st.builds(lambda a, b: a * b, inner, inner)
        ),
        max_leaves=4,
    )


@given(drawn_series(), st.lists(st.floats(-10, 1e6), min_size=2, max_size=20))
def test_arrivals_never_decrease(series: RateSeries, times: list[float]) -> None:
    arrived = [series.arrived(t) for t in sorted(times)]
    assert arrived == sorted(arrived)
    assert arrived[0] >= 0


@given(drawn_series(), st.floats(0, 1e6))
def test_arrivals_are_the_exact_integral_of_the_rate(series: RateSeries, at_s: float) -> None:
    edges = [*(t for t in series.times_s.tolist() if t < at_s), at_s]
    pieces = [series.rate(a) * (b - a) for a, b in pairwise(edges)]
    assert series.arrived(at_s) == pytest.approx(math.fsum(pieces), rel=1e-12)


@given(drawn_series(), st.lists(st.floats(-10, 1e6), max_size=20))
def test_one_by_one_and_all_at_once_agree(series: RateSeries, times: list[float]) -> None:
    at_s = np.array(times, dtype=np.float64)
    assert series.arrived(at_s).tolist() == [series.arrived(t) for t in times]
    assert series.rate(at_s).tolist() == [series.rate(t) for t in times]


@given(drawn_series(), st.floats(0, 1e6))
def test_a_record_had_arrived_no_later_than_when_it_was_counted(series: RateSeries, at_s: float) -> None:
    # A large count is not known to the record: after it, few records per second blur the time.
    blur = 2 * math.ulp(series.arrived(at_s)) / min((r for r in series.rates.tolist() if r > 0), default=1.0)
    assert series.when(series.arrived(at_s)) <= at_s * (1 + 1e-9) + 1e-6 + blur


@given(drawn_series(), st.floats(0, 1e12))
def test_so_many_have_arrived_when_so_many_have_arrived(series: RateSeries, records: float) -> None:
    when = series.when(records)
    if math.isinf(when):
        assert series.rates[-1] == 0
        assert series.arrived(1e12) < records
    else:
        # A time is known to about 1e-15 of itself, so a count to that much of all that could have arrived.
        blur = float(series.rates.max()) * when * 1e-15
        assert series.arrived(when) == pytest.approx(records, rel=1e-9, abs=1e-6 + blur)


@given(drawn_series(), drawn_series(), st.floats(0, 1e6))
def test_sums_add_and_products_multiply(one: RateSeries, other: RateSeries, at_s: float) -> None:
    assert (one + other).rate(at_s) == one.rate(at_s) + other.rate(at_s)
    assert (one * other).rate(at_s) == one.rate(at_s) * other.rate(at_s)
    assert (one + other).arrived(at_s) == pytest.approx(one.arrived(at_s) + other.arrived(at_s), rel=1e-9)


@given(patterns, durations, seeds)
def test_every_pattern_draws_possible_rates(pattern: Pattern, duration_s: float, seed: int) -> None:
    series = pattern.series(duration_s=duration_s, seed=seed)
    assert np.isfinite(series.rates).all()
    assert (series.rates >= 0).all()
    assert series.duration_s == duration_s


@given(combined(patterns), durations, seeds)
def test_the_same_seed_draws_the_same_series(workload: Pattern, duration_s: float, seed: int) -> None:
    assert workload.series(duration_s=duration_s, seed=seed) == workload.series(duration_s=duration_s, seed=seed)


@given(seeds, seeds)
def test_another_seed_draws_another_series(one: int, other: int) -> None:
    for noisy in ("cosine(1k..2k, noise=100)", "random(500, rise=5, fall=5)", "increasing(0..1k)"):
        first, second = (parse_workload(noisy).series(duration_s=3600, seed=seed) for seed in (one, other))
        assert (first == second) == (one == other)


@given(combined(st.one_of(patterns, traces)))
def test_the_text_of_a_workload_reads_back_as_the_same_workload(workload: Pattern) -> None:
    assert parse_workload(str(workload)) == workload


scraps = st.sampled_from(
    [
        "cosine",
        "kanis-random",
        "(",
        ")",
        "..",
        ",",
        "=",
        "+",
        "*",
        "5k",
        "1e999",
        "9e999999",
        '"',
        "at",
        "5%",
        "-1",
        "3m",
    ]
)


@given(st.one_of(st.text(), st.lists(scraps, max_size=12).map("".join)))
def test_any_text_is_a_workload_or_a_mistake_told_in_one_line(text: str) -> None:
    try:
        told = str(parse_workload(text))
    except BadInput as wrong:
        told = str(wrong)
    assert told
    assert "\n" not in told
