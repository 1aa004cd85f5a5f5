import pytest

from elastream.core.errors import CannotRun
from elastream.core.needs import Need, fit, require
from elastream.core.signals import GLOSSARY, Signal

BACKPRESSURE = Need(Signal.BACKPRESSURE_TIME, stand_ins=(Signal.QUEUE, Signal.BACKLOG_AGE))


def test_every_signal_is_explained() -> None:
    assert set(GLOSSARY) == set(Signal)


def test_with_everything_provided_a_policy_runs_as_published() -> None:
    found = fit((BACKPRESSURE,), {Signal.BACKPRESSURE_TIME, Signal.QUEUE})
    assert found.runs
    assert found.sentence() == "runs as published"


def test_a_policy_without_needs_runs_anywhere() -> None:
    assert fit((), set()).sentence() == "runs as published"


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
