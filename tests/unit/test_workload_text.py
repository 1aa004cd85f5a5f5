import pytest

from elastream.core.errors import BadInput
from elastream.workloads import Constant, Convergence, Cosine, Pattern, Product, Spike, Sum, Trace, parse_workload

WAVE = Cosine(low_rps=200e3, high_rps=2.2e6, period_s=1800, noise_rps=100e3)
BURST = Spike(rps=1e6, at_s=2400, for_s=300)


@pytest.mark.parametrize(
    ("text", "workload"),
    [
        ("cosine(200k..2.2M, period=30m, noise=100k)", WAVE),
        ("cosine(200k, 2.2M, period_s=1800, noise=100k)", WAVE),
        ("cosine(low=200k, high=2.2M, period=0.5h, noise=100000)", WAVE),
        ("cosine(200k..2.2M, period=30m, noise=100k) + spike(1M, at=40m, for=5m)", WAVE + BURST),
        ("2 * spike(1M, at=40m, for=5m)", Constant(rps=2) * BURST),
        ("50% * (5 + constant(3))", Constant(rps=0.5) * (Constant(rps=5) + Constant(rps=3))),
        ("convergence(0, 2M, 1M, first=10m)", Convergence(levels_rps=(0, 2e6, 1e6))),
        ("trace(dsp_taxi_300s, scale=20k)", Trace(file="dsp_taxi_300s", scale=20e3)),
        ('trace("a b.csv", stretch=2, then=repeat)', Trace(file="a b.csv", stretch=2, then="repeat")),
        ("kanis-cosine-q3", Cosine(low_rps=3e3, high_rps=33e3, noise_rps=1500, step_s=60)),
        ("kanis-cosine-q3(noise=0)", Cosine(low_rps=3e3, high_rps=33e3, step_s=60)),
        ("200k", Constant(rps=200e3)),
    ],
)
def test_a_line_of_text_is_a_workload(text: str, workload: Pattern) -> None:
    assert parse_workload(text) == workload


def test_a_workload_is_written_as_people_would_write_it() -> None:
    assert str(Constant(rps=2) * (WAVE + BURST)) == (
        "2 * (cosine(200k..2.2M, period=30m, noise=100k) + spike(1M, at=40m, for=5m))"
    )
    assert str(Trace(file="a b.csv", peak_rps=2e6)) == 'trace("a b.csv", peak=2M)'


def test_grouping_of_equal_operations_does_not_matter() -> None:
    one, two, three = (Constant(rps=n) for n in (1, 2, 3))
    assert (one + two) + three == one + (two + three) == Sum(terms=(one, two, three))
    assert parse_workload("1 * (2 * 3)") == Product(terms=(one, two, three))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "workload: column 1: expected a name, a number or '(', found the end"),
        ("2 * kanis-cosin", "workload: column 5: unknown workload 'kanis-cosin'; did you mean 'kanis-cosine'?"),
        ("cosine(1..2, perod=3)", "workload: column 14: cosine has no setting 'perod'; did you mean 'period'?"),
        ("cosine(2..1)", "workload: column 1: cosine: low 2 is above high 1"),
        ("cosine(1..2", "workload: column 12: expected ',' or ')', found the end"),
        ("(1 + 2", "workload: column 7: expected '+', '*' or ')', found the end"),
        ("constant(5m)", "workload: column 10: constant: rps: found the duration 5m; it must be a plain number"),
        ("constant(1, 2)", "workload: column 13: constant: a value without a name; only rps may stand without one"),
        ("1 + 5m", "workload: column 5: found the duration 5m; a rate belongs here"),
        ("-1", "workload: column 1: found -1; rates and factors are not negative"),
        ("step(1..2, at=-5)", "workload: column 12: step: at: found -5.0; it must be greater than 0"),
        ("spike", "workload: column 1: spike needs the setting 'rps'"),
        ("2e15", "workload: column 1: found 2000000G; rates end at 1e+15"),
    ],
)
def test_a_mistake_is_told_in_one_line_with_its_column(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_workload(text)
    assert str(caught.value) == message
