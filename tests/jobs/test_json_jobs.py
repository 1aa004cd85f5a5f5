"""The published jobs over JSON: what their settings do, and that their answers say what the jobs are to do."""

import math
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from elastream.events.ads import name_of
from elastream.events.options import events
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import stream_options
from elastream.jobs.judging import answered, inputs_of, judge
from elastream.jobs.output import written
from elastream.jobs.taxi import HOTSPOTS
from tests.jobs.running import run

OPTIONS = {"workload": "constant(100)", "rows": "3000", "partitions": "2", "seed": "4"}


def answer(name: str, settings: Mapping[str, object], options: Mapping[str, str]) -> tuple[list[Any], dict[str, Any]]:
    """The rows of an answer, and the events that it is made of, as plain rows."""
    job = jobs.build(name, settings)
    tables = inputs_of(job, options)
    return answered(job, tables).to_pylist(), {stream: table.to_pylist() for stream, table in tables.items()}


def second(time: datetime, length_s: int = 1) -> datetime:
    return datetime.fromtimestamp(math.floor(time.timestamp()) // length_s * length_s, UTC)


def test_a_campaign_has_the_views_of_its_own_ads() -> None:
    rows, streams = answer("yahoo", {"campaigns": 7, "ads_per_campaign": 3}, OPTIONS)
    campaign = {name_of("ad", n): name_of("campaign", n % 7) for n in range(21)}
    views = [event for event in streams["ads"] if event["event_type"] == "view"]
    counts = Counter((campaign[event["ad_id"]], second(event["event_time"], 10)) for event in views)
    assert {(row["campaign_id"], row["window_start"]): row["count"] for row in rows} == counts
    assert len({row["campaign_id"] for row in rows}) == 7


def test_a_ride_comes_out_with_its_nearest_sight() -> None:
    rows, streams = answer("taxi", {}, {**OPTIONS, "rows": "300"})
    found = {row["offset"]: (row["hotspot"], row["distance"]) for row in rows}
    assert len(rows) == 300
    for ride in streams["rides"]:
        place = ride["pickup_latitude"], ride["pickup_longitude"]
        distances = {name: math.dist(place, sight) for name, sight in HOTSPOTS.items()}
        name = min(distances, key=lambda name: distances[name])
        assert found[ride["offset"]] == (name, pytest.approx(distances[name], rel=1e-12))
    assert {name for name, _ in found.values()} == set(HOTSPOTS)


def test_only_vehicles_near_the_place_are_in_the_means() -> None:
    rows, streams = answer("traffic", {"vehicles": 50, "radius_km": 10}, OPTIONS)

    def is_near(event: Mapping[str, Any]) -> bool:
        north_km = (event["latitude"] - 52.52) * 111.195
        east_km = (event["longitude"] - 13.405) * 111.195 * math.cos(math.radians(52.52))
        return math.hypot(north_km, east_km) < 10

    near = [event for event in streams["vehicles"] if is_near(event)]
    assert sum(row["events"] for row in rows) == pytest.approx(len(near), abs=3)
    assert 0.05 < len(near) / len(streams["vehicles"]) < 0.4
    assert all(row["plate"] and row["kind"] for row in rows)


def test_flow_and_speed_of_a_point_are_those_of_all_its_lanes_in_a_second() -> None:
    # As many lanes as events: each reports once a second.
    rows, streams = answer("enrichment", {"ids": 50}, {**OPTIONS, "workload": "constant(158)", "rows": "1580"})
    flows, speeds = Counter[Any](), dict[Any, list[float]]()
    for flow, speed in zip(streams["flow"], streams["speed"], strict=True):
        key = flow["id"], second(flow["event_time"])
        flows[key] += flow["flow"]
        speeds.setdefault(key, []).append(speed["speed_kmh"])
    assert {(row["id"], row["window_start"]): row["flow"] for row in rows} == dict(flows)
    means = {key: sum(found) / len(found) for key, found in speeds.items()}
    assert {(row["id"], row["window_start"]): row["mean_speed_kmh"] for row in rows} == means


def test_every_measurement_is_in_five_windows() -> None:
    rows, streams = answer("aggregation", {}, {**OPTIONS, "workload": "constant(10)"})
    assert sum(row["flow"] for row in rows) == 5 * sum(event["flow"] for event in streams["roads"])
    assert {(row["window_end"] - row["window_start"]).total_seconds() for row in rows} == {300}
    assert {row["window_start"].second for row in rows} == {0}
    assert len({row["window_start"] for row in rows}) == 5 + 5


@pytest.mark.needs("spark")
def test_sums_instead_of_events_give_the_same_rows(spark: Any, tmp_path: Path) -> None:
    job, options = jobs.build("aggregation", {"incremental": "true"}), {**OPTIONS, "flush": "1h"}
    run(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


@pytest.mark.needs("spark")
@pytest.mark.parametrize("name", ["yahoo", "traffic"])
def test_a_window_ends_with_events_that_the_job_leaves_out(name: str, spark: Any, tmp_path: Path) -> None:
    # With this seed the only event behind the windows is a click, and of a vehicle 20 km away.
    job, options = jobs.build(name), {**OPTIONS, "seed": "5", "partitions": "1", "flush": "1h"}
    last = events(stream_options(job, options)[job.streams[0].name], 3_000, 3_001).to_pylist()[0]
    assert last.get("event_type") != "view"
    assert abs(last.get("latitude", 0) - 52.52) * 111 > 15
    run(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence
