"""A model that makes no sense is refused with a line that says where."""

from dataclasses import replace
from typing import Any

import pytest

from elastream.core.errors import BadInput
from elastream.simulator.catalogue import MODELS, model
from elastream.simulator.microbatch.model import ApplicationModel, QueryModel, SourceModel, StageModel
from elastream.simulator.pool_model import PoolModel

EVENTS = SourceModel(name="events")
ONE = StageModel(name="one", after=("events",), partitions=4, slot_s_per_record=1e-4)
TWO = StageModel(name="two", after=("one",), partitions=4, slot_s_per_record=1e-4, records_out=0.5)


def application(*stages: StageModel, pool: PoolModel | None = None, **query: Any) -> ApplicationModel:
    return ApplicationModel(
        name="m",
        queries=(QueryModel(name="q", stages=stages or (ONE, TWO), **{"sources": (EVENTS,), **query}),),
        pool=pool or PoolModel(),
    )


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda: application(replace(ONE, after=("events", "two")), TWO), r"query q: a cycle through"),
        (lambda: application(replace(ONE, after=("elsewhere",))), r"query q: stage one comes after 'elsewhere'"),
        (lambda: application(replace(ONE, after=())), r"stage one is fed by nothing"),
        (lambda: application(ONE, replace(ONE, slot_s_per_record=2e-4)), r"operator 'one' stands twice"),
        (lambda: application(replace(ONE, partitions=0)), r"operator 'one' has 0 partitions|skew"),
        (lambda: application(replace(ONE, slot_s_per_record=-1.0)), r"stage one: slot_s_per_record is -1"),
        (lambda: application(replace(ONE, slot_s_per_record=float("nan"))), r"stage one: slot_s_per_record is nan"),
        (lambda: application(replace(ONE, skew=9.0)), r"stage one: skew 9 of 4 tasks is impossible"),
        (
            lambda: application(sources=(SourceModel(name="events", read_limit=-1.0),)),
            r"source events: read_limit is -1",
        ),
        (lambda: application(pool=PoolModel(initial_workers=0)), r"pool: starts with 0 workers"),
        (lambda: application(pool=PoolModel(min_workers=0)), r"pool: bounds 0\.\.12"),
        (lambda: application(pool=PoolModel(min_workers=5, max_workers=4)), r"pool: bounds 5\.\.4"),
        (lambda: application(pool=PoolModel(slots_per_worker=0)), r"pool: 0 slots per worker"),
        (lambda: ApplicationModel(name="m", queries=()), r"model m: no queries"),
        (lambda: model("windowed-cout"), r"unknown model 'windowed-cout'; did you mean 'windowed-count'\?"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(broken: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        broken()
    assert "\n" not in str(caught.value)


def test_work_per_record_follows_the_records_through_the_stages() -> None:
    assert application().queries[0].slot_s_per_record() == pytest.approx(2e-4)
    assert application(replace(ONE, records_out=0.5), TWO).queries[0].slot_s_per_record() == pytest.approx(1.5e-4)


@pytest.mark.parametrize("name", MODELS)
def test_every_model_says_what_it_is_and_does_about_ten_thousand_records_per_slot(name: str) -> None:
    assert MODELS[name].doc
    for query in MODELS[name].queries:
        assert 1 / query.slot_s_per_record() == pytest.approx(10_000, rel=0.1)
