"""Every job over a finite input gives exactly the rows that DuckDB gives."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from elastream.development.embedded_source import stream
from elastream.events.wire import message_batch
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import checked, sound, stream_options
from elastream.jobs.job import Job
from elastream.jobs.judging import TIMES, Verdict, answered, inputs_of, judge
from elastream.jobs.output import writer, written
from elastream.jobs.settings import settings_of
from tests.jobs.running import run, run_in_two
from tests.spark.driving import INTERPRETED

pytestmark = pytest.mark.needs("spark")

INPUT = {"workload": "constant(500)", "rows": "20000", "rowsPerBatch": "6000", "partitions": "3", "seed": "3"}
# Within the watermark of every job, so that nothing may be dropped.
UNTIDY = {**INPUT, "disorder": "5"}


def flushed(name: str, options: dict[str, str]) -> dict[str, str]:
    """Results of a job that waits for its watermark come out when the watermark has passed them."""
    return {**options, **jobs.build(name).result.flush}


# One of each kind; the others, and every preset, are in the long matrix.
SELECTED = (
    "aggregation", "enrichment", "nexmark-q1", "nexmark-q11", "nexmark-q5", "nexmark-q8", "wordcount", "yahoo",
)  # fmt: skip
NAMES = [pytest.param(name, marks=() if name in SELECTED else pytest.mark.full) for name in jobs.names()]


@pytest.mark.parametrize("name", NAMES)
def test_its_rows_are_those_of_an_independent_computation(name: str, spark: Any, tmp_path: Path) -> None:
    job, options = jobs.build(name), flushed(name, UNTIDY)
    run_in_two(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


def test_with_the_settings_of_jobs_a_join_has_one_store_and_right_rows_after_a_restart(
    spark: Any, tmp_path: Path
) -> None:
    session, job = spark.newSession(), jobs.build("nexmark-q3")
    for key, value in settings_of(slots=2).items():
        if key.startswith("spark.sql."):
            session.conf.set(key, value)
    options = {**UNTIDY, "rows": "3000", "partitions": "2"}
    tables = inputs_of(job, options)
    for half in (0, 1):
        inputs = {}
        for one in job.streams:
            folder, rows = tmp_path / one.name, tables[one.name].num_rows
            folder.mkdir(exist_ok=True)
            keep_messages(tables[one.name].slice(half * (rows // 2), rows if half else rows // 2), folder / str(half))
            reading = session.readStream.schema(session.read.parquet(str(folder)).schema)
            given = stream_options(job, options)[one.name]
            inputs[one.name] = checked(reading.parquet(str(folder)), one, given)
        writing = writer(job.query(sound(inputs)), job.result, "parquet", name="job", folder=tmp_path / "run")
        writing.trigger(availableNow=True).start().awaitTermination()
    verdict = judge(job, tables, written(job.result, tmp_path / "run"))
    assert verdict.right, verdict.sentence
    assert list(tmp_path.glob("run/checkpoint/state/0/0/*"))
    assert not list(tmp_path.glob("run/checkpoint/state/*/*/left-*"))


def keep_messages(events: pa.Table, file: Path) -> None:
    """As a topic has them; a file that Spark reads without any Python."""
    (batch,) = events.combine_chunks().to_batches()
    message = message_batch(batch, None, range(batch.num_rows), 2)
    pq.write_table(pa.Table.from_batches([message]).append_column("timestamp", events["event_time"]), file)


def judged(spark: Any, job: Job, tables: Mapping[str, pa.Table]) -> Verdict:
    """What a job makes of these very events, all in one go."""
    rows = job.query({name: spark.createDataFrame(table) for name, table in tables.items()}).toArrow()
    assert rows.column_names == [name for name in answered(job, tables).column_names if name not in TIMES]
    return judge(job, tables, rows)


def test_a_person_who_is_there_twice_is_new_once(spark: Any) -> None:
    job = jobs.build("nexmark-q8")
    tables = inputs_of(job, {"workload": "constant(100)", "rows": "2000"})
    persons = tables["persons"]
    # The same message once more, at once and in a later window.
    later = persons.set_column(2, "event_time", pc.add(persons["event_time"], pa.scalar(20_000_000, "duration[us]")))
    tables["persons"] = pa.concat_tables([persons, persons, later])
    verdict = judged(spark, job, tables)
    assert verdict.right, verdict.sentence
    found = answered(job, tables)
    assert found.num_rows == len(set(zip(found["id"].to_pylist(), found["window_start"].to_pylist(), strict=True)))


WHITE = "".join(sign for number in range(0x11_0000) if (sign := chr(number)).isspace())
LINES = (
    "",
    " ",
    "  one  two ",
    "\tone\ntwo\r\n",
    "a\u00a0b\u3000c",
    WHITE,
    WHITE.join("xyz"),
    "one\u200bword",
    "\u00e9t\u00e9",
)


def test_words_are_what_stands_between_white_space_of_any_kind(spark: Any) -> None:
    job = jobs.build("wordcount")
    tables = inputs_of(job, {"workload": "constant(100)", "rows": str(len(LINES))})
    tables["sentences"] = tables["sentences"].set_column(3, "line", pa.array(LINES))
    verdict = judged(spark, job, tables)
    assert verdict.right, verdict.sentence
    found = answered(job, tables)
    counted = Counter(word for line in LINES for word in line.split())
    assert dict(zip(found["word"].to_pylist(), found["count"].to_pylist(), strict=True)) == counted


PUBLISHED = {
    "nexmark-q14": "auction bidder price bid_time_type event_time extra c_counts",
    "nexmark-q20": "auction bidder price channel url bid_event_time bid_extra item_name description initial_bid reserve"
    " auction_event_time expires seller category auction_extra",
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_published_columns_come_out(name: str, spark: Any) -> None:
    job = jobs.build(name)
    # Thirty hours, so that bids come by day and by night.
    tables = inputs_of(job, {"workload": "constant(1)", "rows": "5000", "timeFactor": "21.6"})
    assert [one for one in answered(job, tables).column_names if one not in TIMES] == PUBLISHED[name].split()
    verdict = judged(spark, job, tables)
    assert verdict.right, verdict.sentence
    assert answered(job, tables).num_rows > 100


@pytest.mark.full
@pytest.mark.parametrize("seed", ["11", "12", "13"])
@pytest.mark.parametrize("name", jobs.names())
def test_its_rows_are_right_with_other_seeds(name: str, seed: str, spark: Any, tmp_path: Path) -> None:
    job, options = jobs.build(name), flushed(name, {**UNTIDY, "seed": seed})
    run(spark, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


def test_every_session_of_an_application_can_read_events(spark: Any) -> None:
    for session in (spark, spark.newSession(), spark):
        assert len(stream(session, workload="1k").columns) == 5


@pytest.mark.full
def test_streams_of_equal_pace_give_the_same_rows_when_the_faster_one_sets_the_watermark(
    spark: Any, tmp_path: Path
) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
    job, options = jobs.build("enrichment"), flushed("enrichment", INPUT)
    run(session, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


# Events in steps of 50 ms, in two batches of 15 s, the second with the event that flushes.
SMALL = {"workload": "constant(20)", "rows": "600", "rowsPerBatch": "301", "partitions": "1", "seed": "4"}
# The second day begins in the second batch.
DAYS = {**SMALL, "workload": "constant(0.006)"}
IN_SMALL = {
    "nexmark-q0": SMALL,
    "nexmark-q4": SMALL,
    "nexmark-q6": SMALL,
    "nexmark-q7": SMALL,
    "nexmark-q9": SMALL,
    "nexmark-q10": SMALL,
    "nexmark-q13": SMALL,
    "nexmark-q15": DAYS,
    "nexmark-q16": DAYS,
    "nexmark-q17": DAYS,
    "nexmark-q18": SMALL,
    "nexmark-q19": SMALL,
    "nexmark-q23": SMALL,
}


@pytest.fixture
def interpreted(spark: Any) -> Iterator[Any]:
    """The session, for so few rows that compiling a query takes longer than running it."""
    for key, value in INTERPRETED.items():
        spark.conf.set(key, value)
    yield spark
    for key in INTERPRETED:
        spark.conf.unset(key)


@pytest.mark.parametrize("name", IN_SMALL)
def test_its_rows_are_right_over_a_small_input(name: str, interpreted: Any, tmp_path: Path) -> None:
    job, options = jobs.build(name), flushed(name, IN_SMALL[name])
    run(interpreted, job, options, tmp_path)
    verdict = judge(job, inputs_of(job, options), written(job.result, tmp_path))
    assert verdict.right, verdict.sentence


@pytest.mark.parametrize(
    "name", ["nexmark-q7", "nexmark-q15", "nexmark-q16", "nexmark-q17", "nexmark-q18", "nexmark-q19"]
)
def test_its_rows_are_right_where_bids_are_alike_or_stand_on_an_edge(name: str, interpreted: Any) -> None:
    job, tables = jobs.build(name), {"bids": bids_on_edges()}
    rows = job.query({"bids": interpreted.createDataFrame(tables["bids"])}).toArrow()
    assert rows.num_rows > 1
    verdict = judge(job, tables, rows)
    assert verdict.right, verdict.sentence


def bids_on_edges() -> pa.Table:
    """Every price next to the edge of a rank at every time next to the edge of a window or a day, several times."""
    noon = datetime(2020, 1, 1, 12, tzinfo=UTC)
    midnight, moment = noon + timedelta(hours=12), timedelta(microseconds=1)
    times = [noon, noon + timedelta(seconds=10) - moment, noon + timedelta(seconds=10), midnight - moment, midnight]
    alike = product((0, 1), times, (9_999, 10_000, 999_999, 1_000_000), (1, 2), (5, 6))
    return pa.Table.from_pylist(
        [
            {"offset": offset, "event_time": time, "auction": auction, "bidder": bidder, "price": price}
            | {"channel": f"channel-{bidder}", "url": f"https://{offset}", "extra": f"bid {offset}"}
            for offset, (_, time, price, auction, bidder) in enumerate(alike)
        ]
    )


def test_a_bid_counts_in_the_window_in_which_it_was_read(interpreted: Any, tmp_path: Path) -> None:
    job = jobs.build("nexmark-q12", {"window": "200ms"})
    run_in_two(interpreted, job, SMALL, tmp_path)
    tables, found = inputs_of(job, SMALL), written(job.result, tmp_path)
    expected = Counter(zip(tables["bids"]["bidder"].to_pylist(), windows_read_in(tmp_path, 200), strict=True))
    assert found is not None
    rows = found.to_pylist()
    assert {(row["bidder"], row["window_start"].timestamp() * 1_000): row["bids"] for row in rows} == expected
    assert len({row["window_start"] for row in rows}) > 1
    assert judge(job, tables, found).right
    assert not judge(job, tables, found.slice(1)).right


def windows_read_in(folder: Path, size_ms: int) -> list[int]:
    """For every event, where the window begins in which its batch was begun, from what Spark writes down of batches."""
    found: list[int] = []
    offsets = folder / "checkpoint" / "offsets"
    for file in sorted(offsets.glob("[0-9]*"), key=lambda file: int(file.name)):
        _, batch, source = file.read_text().splitlines()
        read_ms = json.loads(batch)["batchTimestampMs"]
        found += [read_ms // size_ms * size_ms] * (json.loads(source)["offset"] - len(found))
    return found
