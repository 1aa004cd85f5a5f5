"""What might have been, from a recorded run: with its error, or not at all."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from elastream.advice.advice import Advice, AdviceOption, Adviser, find_phase, parse_option
from elastream.advice.document import describe_advice
from elastream.advice.estimate import UncertainNumber
from elastream.advice.figures import RunSpan
from elastream.advice.recorded_load import find_loads
from elastream.advice.sentences import tell_advice, tell_error, tell_run
from elastream.core.errors import BadInput
from elastream.core.observation import Reading
from elastream.core.slo import Slo
from elastream.journal.reader import Recording
from tests.unit.advice.advice_samples import SLO, changed, record, taken

DRAWS = 3


@cache
def recorded() -> Recording:
    return record()


def option(text: str, *, bounds: tuple[int, int] | None = None, slo: Slo | None = None) -> AdviceOption:
    return replace(parse_option(text), bounds=bounds, slo=slo)


def advise(*options: AdviceOption, recording: Recording | None = None, last_s: float | None = None) -> Advice:
    return Adviser(taken(recording or recorded(), last_s), draws=DRAWS).advise(options)


@cache
def usual() -> Advice:
    return advise(option("fixed(workers=6)"), option("fixed(workers=2)"))


def test_what_really_happened_lies_in_the_interval_of_the_same_policy_simulated() -> None:
    found = usual()
    hours, said = found.real.executor_hours, found.same.prediction.executor_hours
    assert hours is not None
    assert said is not None
    assert found.same.label == "lag-proportional"
    assert said.low <= hours <= said.high
    assert said.high < 2 * said.low
    assert found.error.executor_hours is not None
    assert found.error.executor_hours < 0.3
    assert found.error.parts == 4


def test_a_size_that_nothing_moves_costs_what_it_costs() -> None:
    hours = usual().options[0].prediction.executor_hours
    assert hours is not None
    assert hours.low == hours.value == hours.high
    # It begins with three, and has six as soon as they have started; they are paid for from their request.
    assert hours.value == pytest.approx(6 * 600 / 3600, rel=0.01)


def test_the_cheapest_that_keeps_the_slo_for_sure_is_named_and_one_that_breaks_it_is_not() -> None:
    found = usual()
    enough, few = found.options
    assert enough.keeps is True
    assert few.keeps is False
    [told] = tell_advice(found)
    # What was recorded kept it, and paid for less.
    assert told.startswith(
        "what happened kept it for less: fixed(workers=6) keeps 99 % of records within 30 s for 0.99"
    )
    assert told.endswith("% more than the 0.661 that were paid")


def test_batches_that_ended_between_two_looks_are_told_apart() -> None:
    run = taken(record("fixed(workers=6)", tick_s=20.0))
    loads = find_loads(run, ["enrich"])
    rarely = RunSpan(run.ticks, loads, 20.0, 60.0).measure(0.0, 600.0, SLO)
    often = RunSpan(taken(record("fixed(workers=6)")).ticks, loads, 10.0, 60.0).measure(0.0, 600.0, SLO)
    # A batch every ten seconds: twice as many looks see no shorter delays, as long as sizes are the same.
    assert rarely.delay_p95_s == pytest.approx(often.delay_p95_s, rel=0.1)


def test_batches_begin_where_they_began_between_two_looks() -> None:
    assert find_phase([3.2, 13.2, 23.21, 47.9, 53.2], 10.0) == pytest.approx(3.2)
    # A little before a multiple and a little after it are near each other.
    assert find_phase([9.9, 20.1, 30.0, 39.9], 10.0) in (0.0, 9.9, 0.1)
    assert find_phase([0.0, 12.5, 25.0, 37.5], 10.0) is None
    assert find_phase([], 10.0) is None
    query = Adviser(taken(recorded())).model.queries[0]
    assert (query.is_aligned, query.phase_s) == (True, 0.0)


def test_what_is_kept_within_part_of_the_interval_is_kept_perhaps() -> None:
    found = usual().options[0]
    for low, high, keeps in ((0.991, 1.0, True), (0.98, 1.0, None), (0.97, 0.98, False)):
        within = UncertainNumber(value=high, low=low, high=high)
        assert replace(found, prediction=replace(found.prediction, within=within)).keeps is keeps


def test_where_none_keeps_it_that_is_said() -> None:
    [told] = tell_advice(advise(option("fixed(workers=1)")))
    assert told == "none of these keeps 99 % of records within 30 s for sure"


def test_other_bounds_hold_for_what_is_simulated() -> None:
    found = advise(option("fixed(workers=6)", bounds=(1, 4)))
    hours = found.options[0].prediction.executor_hours
    assert hours is not None
    assert hours.value == pytest.approx(4 * 600 / 3600, rel=0.01)
    assert found.options[0].bounds == (1, 4)


def test_another_slo_is_what_is_kept_and_what_happened_is_counted_by_it_too() -> None:
    found = advise(option("fixed(workers=6)", slo=Slo(delay_s=8.0)))
    assert found.asked == Slo(delay_s=8.0)
    assert found.real.within is not None
    assert found.real_within is not None
    # Batches are ten seconds apart: many a record waits for longer than eight.
    assert found.real_within < found.real.within - 0.05
    within = found.options[0].prediction.within
    assert within is not None
    assert within.high < 0.99


def test_what_was_promised_to_nobody_is_judged_by_nobody() -> None:
    found = advise(option("fixed(workers=6)"), recording=record(slo=None, policy="fixed(workers=5)"))
    assert found.options[0].keeps is None
    assert "no SLO was promised" in next(tell_advice(found))
    assert "no SLO" in tell_run(found)


def test_of_a_long_run_only_the_end_is_counted() -> None:
    found = advise(last_s=240.0)
    assert found.run.counted_s == pytest.approx(240.0)
    assert tell_run(found).startswith("4m under lag-proportional, 1..8 executors")
    assert found.real.executor_hours is not None
    whole = usual().real.executor_hours
    assert whole is not None
    assert found.real.executor_hours < 0.7 * whole


def test_the_load_is_what_was_recorded_look_by_look() -> None:
    run = taken(recorded())
    [load] = find_loads(run, ["enrich"]).values()
    last = run.looks[-1].queries[0].sources[0].arrived
    assert last is not None
    assert load.arrived(load.duration_s) == pytest.approx(last.value, rel=1e-6)
    middle = run.looks[len(run.looks) // 2]
    arrived = middle.queries[0].sources[0].arrived
    assert arrived is not None
    assert load.arrived(middle.at_s - run.start_s) == pytest.approx(arrived.value, rel=1e-6)


def test_what_waited_when_a_recording_began_comes_first_and_what_began_anew_counts_on() -> None:
    whole = taken(recorded())
    later = replace(whole, ticks=whole.ticks[20:], is_whole=False)
    source = later.looks[0].queries[0].sources[0]
    assert source.backlog
    [load] = find_loads(later, ["enrich"]).values()
    assert load.arrived(1.0) == pytest.approx(source.backlog, rel=0.2)

    def restarted(at: int) -> Reading:
        return Reading(10.0 * (at - 30), 10.0 * at)

    ticks = []
    for at, tick in enumerate(whole.ticks):
        assert tick.observation is not None
        [query] = tick.observation.queries
        if at >= 30:
            query = replace(query, sources=(replace(query.sources[0], arrived=restarted(at), committed=restarted(at)),))
        ticks.append(replace(tick, observation=replace(tick.observation, queries=(query,))))
    [load] = find_loads(replace(whole, ticks=tuple(ticks)), ["enrich"]).values()
    before = whole.looks[29].queries[0].sources[0].arrived
    assert before is not None
    assert load.arrived(load.duration_s) == pytest.approx(before.value + 10.0 * (len(ticks) - 31), rel=1e-3)


def test_a_class_of_others_is_not_imported_because_a_journal_names_it() -> None:
    foreign = changed(recorded(), policy="somewhere_else:Mine", policy_settings={}, guards={"their:Guard": {}})
    found = advise(recording=foreign)
    assert found.same.label == "the same sizes"
    assert any("somewhere_else:Mine is a class outside of Elastream; --trust" in note for note in found.notes)
    assert any("guard their:Guard is not run" in note for note in found.notes)
    hours, said = found.real.executor_hours, found.same.prediction.executor_hours
    assert said is not None
    # The very sizes that were wanted, at their times.
    assert said.value == pytest.approx(hours, rel=0.05)


def test_what_no_model_can_be_made_of_is_refused_with_the_reason() -> None:
    with pytest.raises(BadInput, match="run: less than 120 s were recorded; record a longer run"):
        taken(record(minutes=1, policy="fixed(workers=2)"))
    whole = taken(recorded())
    mute = [
        replace(tick, observation=replace(
            tick.observation,
            queries=tuple(
                replace(query, sources=tuple(replace(source, arrived=None) for source in query.sources))
                for query in tick.observation.queries
            ),
        ))
        for tick in whole.ticks
        if tick.observation is not None
    ]  # fmt: skip
    with pytest.raises(BadInput, match="it is not known what arrived while it was recorded"):
        Adviser(replace(whole, ticks=tuple(mute)))


def test_plain_values_have_every_number_with_its_interval_and_money_only_for_a_price() -> None:
    plain: Any = describe_advice(usual(), price=0.5)
    six, two = plain["options"]
    hours = six["executor_hours"]["value"]
    assert six["executor_hours"] == {"value": hours, "low": hours, "high": hours}
    assert six["cost"]["value"] == pytest.approx(hours / 2)
    assert (six["keeps_slo"], two["keeps_slo"]) == ("yes", "no")
    assert plain["recorded"]["slo"] == {"delay_s": SLO.delay_s, "share": 0.99}
    assert tell_error(usual()) == plain["error"]["sentence"]
    unpriced: Any = describe_advice(usual())
    assert "cost" not in unpriced["happened"]
    assert "cost" not in unpriced["options"][0]
