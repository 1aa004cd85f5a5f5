"""The rules of the baseline policies."""

import math
from dataclasses import replace

import pytest

from elastream.core.errors import BadInput
from elastream.core.observation import FinishedBatch
from elastream.loop.planner import Planner
from elastream.policies import Fixed, LagProportional, Threshold
from elastream.policies.catalogue import policies
from elastream.simulator.microbatch.platform import PROVIDES
from elastream.testing import application, knowing, observation, query, size, tell


def test_fixed_sets_what_it_was_told_and_else_keeps_what_is_there() -> None:
    story = tell(application(initial_workers=3), "constant(1k)", "fixed", minutes=5, workers=7)
    assert set(story.wanted()) == {7}
    assert set(tell(application(initial_workers=3), "constant(1k)", "fixed", minutes=5).wanted()) == {3}


def test_threshold_adds_one_above_the_band_and_takes_one_below_it() -> None:
    high = tell(application(initial_workers=2), "constant(40k)", "threshold", minutes=4)
    assert high.wanted()[-1] > 2
    assert all(abs(b - a) <= 1 for a, b in zip(high.wanted(), high.wanted()[1:], strict=False))
    low = tell(application(initial_workers=6), "constant(2k)", "threshold", minutes=5)
    assert low.wanted()[-1] < 6


def test_threshold_refuses_a_band_upside_down() -> None:
    with pytest.raises(BadInput, match=r"low 0\.9 must be at least 0 and below high 0\.8"):
        Threshold(low=0.9)


def test_threshold_does_not_ask_again_for_what_is_still_coming() -> None:
    app = application(initial_workers=2, start_s=100.0, start_spread=0.0)
    story = tell(app, "constant(60k)", "threshold", minutes=3, interval_s=15.0, window_s=15.0, low=0.1)
    assert max(story.wanted(to_s=100)) == 3


def test_lag_proportional_counts_what_waits_beyond_one_batch() -> None:
    reasons = tell(application(initial_workers=1), "constant(30k)", "lag-proportional", minutes=5).reasons()
    assert any("records wait beyond one batch" in reason for reason in reasons)


def test_lag_proportional_sizes_for_the_arrival_rate_with_headroom() -> None:
    story = tell(application(initial_workers=5), "constant(30k)", "lag-proportional", minutes=30, headroom=1.0)
    generous = tell(application(initial_workers=5), "constant(30k)", "lag-proportional", minutes=30, headroom=2.0)
    # 30,000/s at 10,000/s per slot, and the fixed cost of tasks.
    assert story.wanted()[-1] == 4
    # Seven would do on paper; 24 tasks on seven slots take four waves, as on six.
    assert generous.wanted()[-1] == 8


def test_lag_proportional_begins_on_what_tasks_have_cost_when_the_first_batch_is_long() -> None:
    story = tell(application("two-queries", initial_workers=1), "constant(40k)", "lag-proportional", minutes=5)
    assert story.wanted()[-1] > 4


def test_lag_proportional_adds_up_what_each_query_needs_and_says_which_needs_what() -> None:
    app = application("two-queries", initial_workers=4)
    last = tell(app, "constant(20k)", "lag-proportional", minutes=10).ticks[-1].decision
    assert last is not None
    slots = {query.name: last.evidence[f"slots/{query.name}"] for query in app.queries}
    assert len(slots) == 2
    for name, need in slots.items():
        assert f"{name}: " in last.reason
        assert f": {need:.1f} slots" in last.reason
    assert size(last) == math.ceil(sum(slots.values()))  # type: ignore[arg-type]


def test_lag_proportional_counts_a_query_without_input_as_idle_and_not_as_unknown() -> None:
    looks = [replace(observation(at_s), queries=(query(at_s, arrived=10, committed=10),)) for at_s in (0.0, 60.0)]
    known = knowing(*looks, provides=PROVIDES)
    decision = LagProportional().decide(looks[-1], known, {})
    assert (decision.kind, decision.reason, size(decision)) == ("set", "q is idle", 1)


def test_lag_proportional_tells_of_queries_that_have_ended_only_where_no_other_runs() -> None:
    looks = [
        replace(
            observation(at_s),
            queries=(
                query(at_s, arrived=10, committed=10),
                replace(query(at_s, arrived=10, committed=10), id="o", name="o", phase="terminated"),
            ),
        )
        for at_s in (0.0, 60.0)
    ]
    assert LagProportional().decide(looks[-1], knowing(*looks, provides=PROVIDES), {}).reason == "q is idle"
    looks = [replace(look, queries=look.queries[1:]) for look in looks]
    assert LagProportional().decide(looks[-1], knowing(*looks, provides=PROVIDES), {}).reason == "o has ended"


def test_lag_proportional_holds_and_says_which_source_keeps_silent() -> None:
    batch = FinishedBatch(id=3, started_s=0.0, ended_s=50.0)
    silent = replace(query(60.0, committed=10), finished=batch)
    now = replace(observation(60.0, ready=3), queries=(silent,))
    decision = LagProportional().decide(now, knowing(now, provides=PROVIDES), {})
    assert (decision.kind, size(decision)) == ("hold", 3)
    assert decision.reason == "arrival rate of q is not known: s does not tell how much has arrived"


def test_policies_are_built_by_name_with_their_settings() -> None:
    assert policies.build("fixed", {"workers": "4"}) == Fixed(workers=4)
    assert policies.build("lag-proportional", {"drain": "5m"}) == LagProportional(drain_s=300.0)
    with pytest.raises(BadInput, match="policy threshold has no setting 'hgih'; did you mean 'high'"):
        policies.build("threshold", {"hgih": 0.9})


def test_the_sentence_of_a_decision_has_its_numbers() -> None:
    planner = Planner(Threshold(), {}, PROVIDES)
    for now in tell(application(initial_workers=4), "constant(5k)", "fixed", minutes=4).looks():
        sentence = planner.plan(now).decision.reason
    assert sentence.startswith("cpu use of executors is 0.")
