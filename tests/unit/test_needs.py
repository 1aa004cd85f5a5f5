import pytest

from elastream.core.errors import CannotRun
from elastream.core.needs import Need, find_caution, find_lack, find_slowness, find_stand_in, fit, require
from elastream.core.signals import GLOSSARY, Signal
from elastream.policies import SparkDra

BACKPRESSURE = Need(Signal.BACKPRESSURE_TIME, stand_ins=(Signal.QUEUE, Signal.BACKLOG_AGE))


def test_every_signal_is_explained() -> None:
    assert set(GLOSSARY) == set(Signal)


def test_with_everything_provided_a_policy_runs_with_all_its_signals() -> None:
    found = fit((BACKPRESSURE,), {Signal.BACKPRESSURE_TIME, Signal.QUEUE})
    assert found.runs
    assert found.sentence() == "has all signals"


def test_a_policy_without_needs_runs_anywhere() -> None:
    assert fit((), set()).sentence() == "has all signals"


def test_the_best_stand_in_that_is_provided_is_taken() -> None:
    assert BACKPRESSURE.served_by({Signal.BACKLOG_AGE, Signal.QUEUE}) is Signal.QUEUE
    found = fit((BACKPRESSURE,), {Signal.BACKLOG_AGE})
    assert found.sentence() == "runs with backlog-age for backpressure-time"


def test_what_is_missing_is_named_and_what_stands_in_for_it_does_not_hide_it() -> None:
    found = fit((Need(Signal.ARRIVED), BACKPRESSURE), {Signal.QUEUE})
    assert not found.runs
    assert found.sentence() == "cannot run: no arrived"


def test_a_policy_that_cannot_run_is_refused_with_the_reason() -> None:
    with pytest.raises(CannotRun, match="policy ds2 cannot run on spark: it needs queue, which is not provided there"):
        require("ds2", "spark", (Need(Signal.QUEUE),), frozenset())
    assert require("ds2", "spark", (Need(Signal.QUEUE),), {Signal.QUEUE}).runs


def test_a_signal_that_lacks_for_a_while_is_stood_in_for_or_missed_with_the_reason() -> None:
    declared = {Signal.BACKPRESSURE_TIME, Signal.QUEUE, Signal.ARRIVED}
    needs = (Need(Signal.ARRIVED), BACKPRESSURE)
    lacks = {Signal.BACKPRESSURE_TIME: "the gauge is broken"}
    assert find_lack(needs, declared, lacks) is None
    assert find_stand_in(needs, declared, lacks) == "queue stands in for backpressure-time: the gauge is broken"
    gone = {Signal.ARRIVED: "the log is silent"}
    assert find_lack(needs, declared, gone) == ("the policy needs arrived, which cannot be told now: the log is silent")
    assert find_stand_in(needs, declared, gone) is None


def test_what_lacks_and_was_never_provided_or_is_not_needed_is_no_reason_to_hold() -> None:
    assert find_lack((Need(Signal.ARRIVED),), set(), {Signal.ARRIVED: "why"}) is None
    assert find_lack((Need(Signal.ARRIVED),), {Signal.ARRIVED}, {Signal.QUEUE: "why"}) is None
    # What stands in always is nothing new.
    assert find_stand_in((BACKPRESSURE,), {Signal.QUEUE}, {Signal.ARRIVED: "why"}) is None


def test_what_a_policy_says_of_itself_on_micro_batches_is_told_where_there_are_any() -> None:
    class Careful:
        on_batches = "it waits"

    assert find_caution(Careful(), {Signal.BATCHES}) == "on micro-batches it waits"
    assert find_caution(Careful(), {Signal.QUEUE}) is None
    assert find_caution(object(), {Signal.BATCHES}) is None


def test_a_policy_that_is_looked_at_less_often_than_it_decides_says_so() -> None:
    assert find_slowness(SparkDra(), 5.0) == "decides every 5 s, with each look, and not every 1 s"
    assert find_slowness(SparkDra(), 1.0) is None
    assert find_slowness(SparkDra(), 0.5) is None
