"""The highest rate that passes, in as few probes as can be."""

import math
from collections.abc import Callable, Mapping

import pytest

from elastream.core.errors import BadInput
from elastream.experiments.scalability.probe import ProbeState
from elastream.experiments.scalability.search import FoundRate, ProbedRate, RateSearch, find_next


def run(search: RateSearch, answer: Callable[[float, int], ProbeState]) -> tuple[FoundRate, list[ProbedRate]]:
    """All probes of a search; `answer` is told the rate, and how often it was asked before."""
    probes: list[ProbedRate] = []
    while isinstance(rate := find_next(probes, search), float):
        state = answer(rate, sum(one.rate_rps == rate for one in probes))
        probes.append(ProbedRate(rate_rps=rate, state=state))
        assert len(probes) < 100
    return rate, probes


def up_to(most: float) -> Callable[[float, int], ProbeState]:
    return lambda rate, times: "sustained" if rate <= most else "unsustained"


@pytest.mark.parametrize("start", [100.0, 1_000.0, 3_000.0, 50_000.0])
@pytest.mark.parametrize("most", [1_234.0, 9_999.0])
def test_the_highest_rate_is_found_to_the_precision_from_wherever_it_starts(start: float, most: float) -> None:
    found, probes = run(RateSearch(start_rps=start), up_to(most))
    assert found.rate_rps is not None
    assert found.below_rps is not None
    assert found.rate_rps <= most < found.below_rps <= 1.1 * found.rate_rps
    assert found.runs == 3
    assert len(probes) <= 16


def test_a_good_guess_saves_probes() -> None:
    _, few = run(RateSearch(start_rps=1_000.0), up_to(1_050.0))
    _, many = run(RateSearch(start_rps=50.0), up_to(1_050.0))
    assert len(few) < len(many)


def test_bisection_finds_what_the_list_finds() -> None:
    found, _ = run(RateSearch(start_rps=700.0, precision=0.05), up_to(1_700.0))
    listed, probes = run(RateSearch(start_rps=0.0 + 1, rates=tuple(100.0 * n for n in range(1, 31))), up_to(1_700.0))
    assert listed.rate_rps == 1_700.0
    assert found.rate_rps == pytest.approx(1_700.0, rel=0.05)
    # Every rate that passed was run three times, and one that failed once.
    assert len(probes) == 17 * 3 + 13


def test_one_failed_run_of_three_fails_the_rate() -> None:
    def answer(rate: float, times: int) -> ProbeState:
        return "sustained" if rate <= 800 or (rate <= 1_000 and times == 0) else "unsustained"

    found, probes = run(RateSearch(start_rps=1_000.0), answer)
    assert found.rate_rps is not None
    assert found.rate_rps <= 800
    assert sum(one.rate_rps == found.rate_rps for one in probes) == 3


def test_an_interrupted_search_asks_for_what_it_would_have_asked_for() -> None:
    search = RateSearch(start_rps=300.0)
    found, probes = run(search, up_to(2_000.0))
    for count in range(len(probes)):
        assert find_next(probes[:count], search) == probes[count].rate_rps
    assert find_next(probes, search) == found


def test_a_job_that_sustains_nothing_is_told_so() -> None:
    found, _ = run(RateSearch(start_rps=1_000.0, least_rps=50.0), up_to(0.0))
    assert (found.rate_rps, found.below_rps) == (None, 50.0)
    assert found.sentence() == "does not sustain 50/s, the lowest rate that was tried"


def test_a_job_that_sustains_all_is_told_so() -> None:
    found, _ = run(RateSearch(start_rps=1_000.0, most_rps=4_000.0), up_to(math.inf))
    assert found.sentence() == "sustains 4k/s in 3 runs, the highest rate that was tried: it may be more"


def test_an_answer_that_is_not_monotonic_is_told() -> None:
    states: Mapping[float, ProbeState] = {100.0: "sustained", 200.0: "unsustained", 300.0: "sustained"}
    found, _ = run(RateSearch(start_rps=1.0, rates=(100.0, 200.0, 300.0)), lambda rate, times: states[rate])
    assert found.rate_rps == 100.0
    assert "not monotonic: 300/s passed, above a rate that failed" in found.sentence()


def test_a_rate_that_cannot_be_measured_is_tried_again_and_ends_the_search_as_what_it_is() -> None:
    def answer(rate: float, times: int) -> ProbeState:
        return "invalid" if rate > 1_500 else "sustained"

    found, probes = run(RateSearch(start_rps=1_000.0), answer)
    assert sum(one.rate_rps == 2_000.0 for one in probes) == 3
    assert found.below_rps is None
    assert found.unmeasured_rps is not None
    assert "cannot be measured here, so it may be more" in found.sentence()


def test_a_probe_that_broke_is_as_if_it_had_not_been() -> None:
    broken = ProbedRate(rate_rps=100.0, state="broken")
    assert find_next([broken], RateSearch(start_rps=100.0)) == 100.0


@pytest.mark.parametrize(
    "wrong", [{"factor": 1.0}, {"precision": 0.0}, {"repeat": 0}, {"rates": (0.0,)}, {"least_rps": 0.0}]
)
def test_a_search_that_cannot_end_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="search: "):
        RateSearch(start_rps=100.0, **wrong)  # type: ignore[arg-type]
