"""The events of the published jobs: what they are made of, and that they are the same bytes wherever they come from."""

import hashlib
import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pytest

from elastream.core.errors import BadInput
from elastream.events.options import events, parse_options
from elastream.events.wire import message_batch, messages

STREAMS: dict[str, dict[str, str]] = {
    "ads": {"generator": "ads"},
    "vehicles": {"generator": "vehicles"},
    "rides": {"generator": "rides"},
    "flow": {"generator": "roads", "measure": "flow"},
    "speed": {"generator": "roads", "measure": "speed"},
    "both": {"generator": "roads", "measure": "both"},
    "words": {"generator": "words"},
}
every_stream = pytest.mark.parametrize("name", STREAMS)


def options(name: str, **more: str) -> dict[str, str]:
    return {"workload": "constant(1k)", "seed": "7", **STREAMS[name], **more}


def column(name: str, field: str, rows: int = 50_000, **more: str) -> np.ndarray[Any, Any]:
    return np.asarray(events(options(name, **more), 0, rows).column(field).to_numpy())


@every_stream
def test_the_embedded_source_and_kafka_give_the_same_bytes(name: str) -> None:
    parsed = parse_options(options(name))
    offsets = range(1, 3_000, 3)
    (batch,) = events(options(name), 0, 3_000).combine_chunks().to_batches()
    some = batch.take(pa.array(offsets))
    key = parsed.generator.key_column
    columns = message_batch(some, key, offsets, 3)
    keys, values = messages(some, key)
    assert columns.column("value").to_pylist() == list(values)
    assert columns.column("key").to_pylist() == list(keys)


@every_stream
def test_an_event_depends_on_its_offset_and_the_seed_alone(name: str) -> None:
    whole = events(options(name), 0, 20_000)
    for first, end in ((0, 1), (12_345, 12_999), (19_999, 20_000)):
        assert (
            events(options(name), first, end).combine_chunks().equals(whole.slice(first, end - first).combine_chunks())
        )
    assert not events(options(name, seed="8"), 0, 100).equals(whole.slice(0, 100))


@every_stream
def test_the_columns_are_those_of_the_schema_in_type_and_order(name: str) -> None:
    kinds = {"BIGINT": "int64", "INT": "int32", "DOUBLE": "double", "STRING": "string"}
    kinds["TIMESTAMP"] = "timestamp[us, tz=UTC]"
    declared = [field.split() for field in parse_options(options(name)).generator.schema.split(", ")]
    found = events(options(name), 0, 5).schema
    assert [(field.name, str(field.type)) for field in found] == [(field, kinds[kind]) for field, kind in declared]


def test_an_ad_is_one_of_a_thousand_and_a_third_of_the_events_are_views() -> None:
    ads = Counter(column("ads", "ad_id").tolist())
    assert set(ads) == {hashlib.md5(f"ad {n}".encode()).hexdigest() for n in range(1_000)}
    assert max(ads.values()) < 100
    kinds = Counter(column("ads", "event_type").tolist())
    assert set(kinds) == {"view", "click", "purchase"}
    assert abs(kinds["view"] / 50_000 - 1 / 3) < 0.01
    assert len(set(column("ads", "ad_id", campaigns="3", adsPerCampaign="4").tolist())) == 12


def test_vehicles_stay_in_their_square_and_move_a_little_between_two_reports() -> None:
    table = events(options("vehicles", vehicles="20"), 0, 50_000)
    north, east = (table.column(name).to_numpy() for name in ("latitude", "longitude"))
    assert np.abs(north - 52.52).max() * 111.2 <= 21.5
    assert np.abs(east - 13.405).max() * 67.7 <= 21.5
    mine = table.column("vehicle").to_numpy() == 7
    assert mine.sum() > 2_000
    steps_km = np.hypot(np.diff(north[mine]) * 111.2, np.diff(east[mine]) * 67.7)
    assert steps_km.max() < 0.01


def test_a_vehicle_heads_where_it_moves_to() -> None:
    table = events(options("vehicles", vehicles="1"), 0, 1_000_000).to_pandas().iloc[::1_000]
    moved_north, moved_east = table["latitude"].diff().to_numpy(), table["longitude"].diff().to_numpy()
    headings = table["heading"].to_numpy()
    same = headings[1:] == headings[:-1]
    told = np.radians(headings[1:])
    assert set(headings.tolist()) == {45, 135, 225, 315}
    assert (np.sign(moved_north[1:])[same] == np.sign(np.cos(told))[same]).all()
    assert (np.sign(moved_east[1:])[same] == np.sign(np.sin(told))[same]).all()


@pytest.mark.parametrize(("given", "copies"), [({}, 3), ({"repeat": "1"}, 1), ({"repeat": "5"}, 5)])
def test_a_ride_is_sent_as_often_as_asked_and_the_copies_are_alike(given: dict[str, str], copies: int) -> None:
    rows = events(options("rides", **given), 0, 600).to_pylist()
    for row in rows:
        for name in ("offset", "partition", "event_time"):
            del row[name]
    assert [row["ride"] for row in rows] == [n // copies for n in range(600)]
    assert all(rows[n] == rows[n // copies * copies] for n in range(600))
    assert len({tuple(row.values()) for row in rows}) == 600 // copies


def test_points_have_the_published_number_of_lanes_and_each_reports_in_turn() -> None:
    for ids, lanes in ((120, 190), (50, 79), (1_000, 1_580), (1, 1)):
        rows = events(options("flow", ids=str(ids)), 0, 2 * lanes).to_pylist()
        pairs = [(row["id"], row["lane"]) for row in rows]
        assert len(set(pairs[:lanes])) == lanes
        assert pairs[:lanes] == pairs[lanes:]
        assert len({row["id"] for row in rows}) == ids
        assert all(1 <= row["lane"] <= row["lanes"] for row in rows)
        most = Counter(point for point, _ in set(pairs))
        assert all(most[row["id"]] == row["lanes"] for row in rows)


def test_flow_and_speed_tell_of_the_same_lane_at_the_same_time() -> None:
    flow, speed, both = (
        events(options(name, disorder="5", lateShare="10%", lateBy="1s"), 0, 5_000)
        for name in ("flow", "speed", "both")
    )
    for name in ("event_time", "id", "lane", "latitude"):
        assert flow.column(name).equals(speed.column(name))
    assert both.column("flow").equals(flow.column("flow"))
    assert both.column("speed_kmh").equals(speed.column("speed_kmh"))


@pytest.mark.parametrize("name", ["flow", "speed", "both"])
def test_a_measurement_has_ten_fields_and_about_two_hundred_bytes(name: str) -> None:
    (batch,) = events(options(name), 100_000, 101_000).combine_chunks().to_batches()
    values = messages(batch, "id").values
    assert all(len(json.loads(value)) == 10 for value in values)
    assert 175 <= sum(map(len, values)) / len(values) <= 225


@pytest.mark.parametrize(("name", "field"), [("vehicles", "speed_kmh"), ("speed", "speed_kmh"), ("both", "speed_kmh")])
def test_speeds_are_quarters_so_that_their_sums_are_exact(name: str, field: str) -> None:
    speeds = column(name, field)
    assert ((speeds * 4) % 1 == 0).all()
    assert speeds.min() >= 0
    assert 129 <= speeds.max() <= 130


def test_all_words_are_equally_frequent_unless_one_is_hot() -> None:
    assert all(len(line.split()) == 20 for line in column("words", "line", rows=100).tolist())
    assert len(column("words", "line", rows=1, words="3")[0].split()) == 3
    even = counted_words()
    assert len(even) == 10
    assert max(even.values()) < 1.05 * min(even.values())


@pytest.mark.parametrize("share", ["0.2", "0.5", "0.7", "1"])
def test_the_hot_word_has_its_share_of_all_words(share: str) -> None:
    words = counted_words(hotShare=share)
    assert abs(words["word0"] / 200_000 - float(share)) < 0.005
    cold = [count for word, count in words.items() if word != "word0"]
    assert not cold or (len(cold) == 9 and max(cold) < 1.1 * min(cold))


def test_a_vocabulary_of_one_word_is_that_word() -> None:
    assert set(counted_words(vocabulary="1", hotShare="0.5")) == {"word0"}


def counted_words(**more: str) -> Counter[str]:
    lines = column("words", "line", rows=10_000, **{"vocabulary": "10", **more})
    return Counter(" ".join(lines.tolist()).split())


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("ads", {"campaigns": "0"}, "source: campaigns: found 0; it must be a whole number from 1"),
        ("vehicles", {"vehicles": "some"}, "source: vehicles: 'some' is not a number"),
        ("rides", {"repeat": "2.5"}, "source: repeat: found 2.5; it must be a whole number from 1"),
        ("flow", {"measure": "sped"}, "source: unknown measure 'sped'; did you mean 'speed'?"),
        ("flow", {"ids": "0"}, "source: ids: found 0; it must be a whole number from 1"),
        ("words", {"words": "0"}, "source: words: found 0; it must be a whole number from 1"),
        ("words", {"hotShare": "2"}, "source: hotShare: found 2; it must be between 0 and 1"),
    ],
)
def test_wrong_options_are_told_in_one_line(name: str, given: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as wrong:
        parse_options(options(name, **given))
    assert str(wrong.value) == message
