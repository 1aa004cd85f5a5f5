"""The streams of a job: which options each is given, and that streams which refer to each other belong together."""

from typing import Any

import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from elastream.core.errors import BadInput, UnknownName
from elastream.events.nexmark_ids import FIRST_ID, Ids
from elastream.events.options import parse_options
from elastream.jobs.catalogue import jobs
from elastream.jobs.inputs import shares, stream_options
from elastream.jobs.judging import inputs_of

LOAD = {"workload": "constant(1k)", "seed": "5"}
# Job, the stream that refers, its column, the stream that is referred to.
REFERENCES = [
    ("nexmark-q3", "auctions", "seller", "persons"),
    ("nexmark-q8", "auctions", "seller", "persons"),
    ("nexmark-q20", "bids", "auction", "auctions"),
]
proportions = some.fixed_dictionaries(
    {name: some.integers(1, 60).map(str) for name in ("personProportion", "auctionProportion", "bidProportion")}
)


def references(job: str, options: dict[str, str], stream: str, column: str, to: str) -> tuple[Any, int]:
    """The ids that rows of a stream refer to, and the first id that nobody has any more."""
    tables = inputs_of(jobs.build(job), {**LOAD, **options})
    return tables[stream][column], FIRST_ID + tables[to].num_rows


@given(
    options=proportions, rows=some.integers(200, 3_000), seed=some.integers(0, 99), which=some.sampled_from(REFERENCES)
)
@settings(max_examples=60, deadline=None)
def test_whatever_the_proportions_nobody_refers_to_those_who_do_not_come_soon(
    options: dict[str, str], rows: int, seed: int, which: tuple[str, str, str, str]
) -> None:
    job, stream, column, to = which
    ids, end = references(job, {**options, "rows": str(rows), "seed": str(seed)}, stream, column, to)
    turn = max(int(number) for number in options.values())
    # Ten ahead as published, and what is left of the last turn.
    assert (pc.max(ids).as_py() or 0) < end + Ids().lead + turn


@pytest.mark.parametrize("persons", ["1", "10", "30"])
@pytest.mark.parametrize("ends", [{"rows": "20000"}, {"duration": "20s"}], ids=str)
def test_sellers_who_never_come_are_those_of_the_last_few_auctions(persons: str, ends: dict[str, str]) -> None:
    ids, end = references("nexmark-q3", {**ends, "personProportion": persons}, "auctions", "seller", "persons")
    # Few of the last ten or so refer to one who would come next.
    assert pc.sum(pc.greater_equal(ids, end)).as_py() <= 5
    assert len(ids) == round(20_000 * 3 / (3 + int(persons)))


@given(
    job=some.sampled_from(("nexmark-q3", "nexmark-q20", "enrichment", "wordcount")),
    rows=some.integers(1, 10**9),
    limit=some.integers(1, 10**6),
)
def test_streams_share_the_rows_of_a_job_and_each_may_read_some(job: str, rows: int, limit: int) -> None:
    found = stream_options(jobs.build(job), {**LOAD, "rows": str(rows), "rowsPerBatch": str(limit)})
    assert sum(int(one["rows"]) for one in found.values()) == rows
    for name, share in shares(jobs.build(job), {}).items():
        assert int(found[name]["rowsPerBatch"]) == max(1, round(limit * share))


def test_shares_follow_the_options_and_are_of_the_streams_that_are_read() -> None:
    query = jobs.build("nexmark-q3")
    assert shares(query, {}) == {"persons": 0.25, "auctions": 0.75}
    assert shares(query, {"PERSONPROPORTION": "9"}) == {"persons": 0.75, "auctions": 0.25}
    assert shares(jobs.build("nexmark-q20"), {}) == {"auctions": 3 / 49, "bids": 46 / 49}
    assert shares(jobs.build("nexmark-q1"), {"bidProportion": "7"}) == {"bids": 1.0}
    assert shares(jobs.build("enrichment"), {}) == {"flow": 0.5, "speed": 0.5}


@pytest.mark.parametrize("name", [name for name in jobs.presets() if name.startswith("nexmark-")])
def test_the_thesis_has_ten_bids_for_a_person(name: str) -> None:
    for given_options in stream_options(jobs.build(name), LOAD).values():
        ids = parse_options(given_options).generator.ids  # type: ignore[attr-defined]
        assert (ids.persons, ids.auctions, ids.bids) == (1, 3, 10)


def test_ten_bids_for_a_person_have_four_and_a_half_times_as_many_keys_as_forty_six() -> None:
    cold = {**LOAD, "rows": "92000"}
    many, few = (
        {
            key: len(pc.unique(inputs_of(jobs.build("nexmark-q11", {"hot": "false", **more}), cold)["bids"][key]))
            for key in ("auction", "bidder")
        }
        for more in ({"bid_proportion": 10}, {})
    )
    assert many["auction"] / few["auction"] == pytest.approx(4.6, rel=0.1)
    # A thousand are active from the beginning.
    assert many["bidder"] / few["bidder"] == pytest.approx((9_200 + 10) / (2_000 + 10), rel=0.1)


@pytest.mark.parametrize(
    ("job", "option", "message"),
    [
        ("nexmark-q3", "personProportions", "did you mean 'personProportion'?"),
        ("wordcount", "vocabular", "did you mean 'vocabulary'?"),
        # Others have it.
        ("wordcount", "keys", "job wordcount: its events have no option 'keys'; known: "),
        ("enrichment", "hotAuctionRatio", "job enrichment: its events have no option 'hotAuctionRatio'; known: "),
    ],
)
def test_an_option_that_no_stream_of_the_job_has_is_refused(job: str, option: str, message: str) -> None:
    with pytest.raises(UnknownName) as wrong:
        stream_options(jobs.build(job), {**LOAD, option: "3"})
    assert message in str(wrong.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": "many"}, "source: rows: 'many' is not a number"),
        ({"rowsPerBatch": "1.5"}, "source: rowsPerBatch: found 1.5; it must be a whole number from 1"),
        ({"personProportion": "0"}, "source: personProportion: found 0; it must be a whole number from 1"),
    ],
)
def test_values_that_cannot_be_shared_are_told_in_one_line(options: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as wrong:
        stream_options(jobs.build("nexmark-q3"), {**LOAD, **options})
    assert str(wrong.value) == message


def test_options_may_be_spelt_in_any_case_and_with_units() -> None:
    found = stream_options(jobs.build("nexmark-q3"), {"Workload": "1k", "ROWS": "4k", "rowsperbatch": "1k"})
    assert found["persons"]["rows"] == "1000"
    assert found["auctions"]["rowsPerBatch"] == "750"
    assert found["auctions"]["workload"] == "(1k) * 0.75"


def test_a_stream_without_events_lets_the_watermark_pass_all_the_same() -> None:
    options = {**LOAD, "rows": "1", "flush": "1h", "partitions": "2"}
    found = {name: parse_options(one) for name, one in stream_options(jobs.build("enrichment"), options).items()}
    assert sorted(one.rows_to_come or 0 for one in found.values()) == [0, 1]
    assert [one.total for one in found.values()] == [2 + (one.rows_to_come or 0) for one in found.values()]
    assert all(one.newest(10.0) == one.total for one in found.values())
