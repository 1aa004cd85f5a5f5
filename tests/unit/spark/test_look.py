"""Raw looks are read whatever is wrong with them."""

import json
from typing import Any

import pytest

from elastream.spark.jvm.snapshot import Snapshot
from elastream.spark.jvm.snapshot_parser import parse_snapshot
from tests.unit.spark.reading import NAMES, lines


def changed(**fields: Any) -> Snapshot:
    look: dict[str, Any] = {**lines("windowed")[-3]["look"], **fields}
    return parse_snapshot(json.dumps(look))


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_look_is_read_without_a_flaw(name: str) -> None:
    looks = [parse_snapshot(json.dumps(line["look"])) for line in lines(name)]
    assert all(look.malformed == 0 and look.failures == 0 for look in looks)
    assert any(look.stages for look in looks)
    assert any(look.executors for look in looks)
    assert [look.note for look in looks] == sorted(look.note for look in looks)


@pytest.mark.parametrize("part", ["executors", "queries", "stages", "events", "shapes"])
@pytest.mark.parametrize("rubbish", [None, 7, "text", [None], [[]], {"a": 1}, [{"id": 3}]])
def test_a_malformed_part_leaves_the_others_as_they_are(part: str, rubbish: Any) -> None:
    look, whole = changed(**{part: rubbish}), changed()
    for other in {"executors", "queries", "stages", "events", "shapes"} - {part}:
        assert getattr(look, other) == getattr(whole, other)


def test_a_malformed_event_is_counted_and_the_next_one_is_read() -> None:
    ended = {"event": "terminated", "id": "q", "run": "r"}
    look = changed(events=[{"event": "progress"}, {"event": "unheard-of", "id": "q", "run": "r"}, ended])
    assert look.malformed == 2
    assert [event.kind for event in look.events] == ["terminated"]


def test_what_is_no_look_is_refused() -> None:
    for text in ("[]", "{}", "nonsense", '{"at_ms": "now"}'):
        with pytest.raises(ValueError, match=r"."):
            parse_snapshot(text)


def test_lost_and_unread_events_are_told() -> None:
    assert changed(dropped=2, lost=1, failures=4, failure="NullPointerException").failures == 7


def test_waiting_for_a_shuffle_is_no_useful_time_and_lost_tasks_are_neither() -> None:
    raw = {
        "stage": 1,
        "attempt": 0,
        "run_ms": 900,
        "deserialise_ms": 60,
        "serialise_ms": 40,
        "fetch_ms": 300,
        "lost_ms": 50,
    }
    stage = changed(stages=[raw]).stages[0]
    assert stage.busy_s == pytest.approx(1.05)
    assert stage.useful_s == pytest.approx(0.7)
