"""Nexmark's events: who refers to whom, how often, and that the streams, made apart, are one."""

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pytest

from elastream.core.errors import BadInput
from elastream.events.nexmark import Nexmark
from elastream.events.nexmark_ids import FIRST_ID, Ids, StreamName
from elastream.events.nexmark_prices import price_knots, prices
from elastream.events.options import events, parse_options
from elastream.events.wire import messages

STREAMS: tuple[StreamName, ...] = ("persons", "auctions", "bids")
SEED = 7
SALTS = {"persons": 0x9E45_0000, "auctions": 0xA0C7_0000, "bids": 0xB1D5_0000}


def options_of(stream: str, **more: str) -> dict[str, str]:
    return {"workload": "constant(1k)", "generator": "nexmark", "stream": stream, "seed": str(SEED), **more}


def made(stream: str, first: int, end: int, **more: str) -> pa.Table:
    return events(options_of(stream, **more), first, end).combine_chunks()


def column(table: pa.Table, name: str) -> np.ndarray[Any, Any]:
    return np.asarray(table.column(name).to_numpy())


def all_events(epochs: int, ids: Ids) -> list[tuple[str, int]]:
    """Streams and offsets of all events, in the order in which they happen."""
    order = ["persons"] * ids.persons + ["auctions"] * ids.auctions + ["bids"] * ids.bids
    seen: Counter[str] = Counter()
    found = []
    for name in order * epochs:
        found.append((name, seen[name]))
        seen[name] += 1
    return found


@pytest.mark.parametrize("ids", [Ids(), Ids(persons=2, auctions=5, bids=3), Ids(persons=1, auctions=1, bids=1)])
def test_every_event_of_every_stream_has_its_place_among_all_events(ids: Ids) -> None:
    persons = auctions = 0
    for place, (stream, offset) in enumerate(all_events(7, ids)):
        persons, auctions = persons + (stream == "persons"), auctions + (stream == "auctions")
        number = ids.numbers(stream, np.array([offset]))  # type: ignore[arg-type]
        assert number.tolist() == [place]
        assert ids.newest_person(number).tolist() == [persons - 1]
        assert ids.newest_auction(number).tolist() == [auctions - 1]


def bits(offset: int, stream: str, of_column: int) -> tuple[int, int]:
    """64 random bits in two halves, with whole numbers."""
    mixed = (offset + (SEED + SALTS[stream] + of_column + 1) * 0x9E3779B97F4A7C15) % 2**64
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
    return divmod(mixed ^ (mixed >> 31), 2**32)


def chosen(halves: tuple[int, int], ratio: int, hot: int, oldest: int, count: int) -> int:
    """The hot one, but once in `ratio`; otherwise one of `count` from the oldest on."""
    decides, draws = halves
    return 1_000 + (hot if decides * ratio // 2**32 else oldest + draws * count // 2**32)


@pytest.mark.parametrize("offset", [0, 1, 45, 46, 4_600, 45_999, 1_000_000])
def test_a_bid_is_that_of_an_independent_computation(offset: int) -> None:
    (bid,) = made("bids", offset, offset + 1).to_pylist()
    epoch = offset // 46
    newest_auction, people = epoch * 3 + 2, epoch + 1
    oldest = max(newest_auction - 100, 0)
    hot_auction, hot_bidder = newest_auction // 100 * 100, (people - 1) // 100 * 100 + 1
    assert bid["auction"] == chosen(bits(offset, "bids", 0), 2, hot_auction, oldest, newest_auction - oldest + 11)
    active = min(people, 1_000)
    assert bid["bidder"] == chosen(bits(offset, "bids", 1), 4, hot_bidder, people - active, active + 10)
    exact = 100 * 10 ** (6 * bits(offset, "bids", 3)[1] / 2**32)
    # A knot is rounded and a price cut off; a chord over a step of h = 6 ln(10) / 4096 is off by up to h * h / 8.
    assert abs(bid["price"] - exact) <= 1.5 + exact * 1.43e-6


@pytest.mark.parametrize("offset", [0, 2, 3, 299, 5_000, 300_000])
def test_an_auction_is_that_of_an_independent_computation(offset: int) -> None:
    (auction,) = made("auctions", offset, offset + 1, auctionLength="30s").to_pylist()
    people = offset // 3 + 1
    active, hot = min(people, 1_000), (people - 1) // 100 * 100
    assert auction["id"] == 1_000 + offset
    assert auction["seller"] == chosen(bits(offset, "auctions", 0), 4, hot, people - active, active + 10)
    assert auction["category"] == 10 + bits(offset, "auctions", 2)[1] * 5 // 2**32
    lasts_us = (auction["expires"] - auction["event_time"]).total_seconds() * 1e6
    assert round(lasts_us) == 1 + bits(offset, "auctions", 2)[0] * 60_000_000 // 2**32


@pytest.mark.parametrize("stream", STREAMS)
def test_an_event_is_the_same_whatever_else_is_made_with_it(stream: str) -> None:
    whole = made(stream, 0, 40_000)
    for first, end in ((0, 1), (12_345, 12_999), (39_999, 40_000)):
        assert made(stream, first, end).equals(whole.slice(first, end - first).combine_chunks())
    every_third = np.arange(1, 40_000, 3)
    times = column(whole, "event_time").astype("datetime64[us]").astype(np.int64)
    apart = parse_options(options_of(stream)).generator.batch(every_third, times[every_third])
    assert pa.Table.from_batches([apart]).equals(whole.take(pa.array(every_third)).combine_chunks())


@pytest.mark.parametrize("stream", STREAMS)
def test_the_columns_are_those_of_the_schema(stream: str) -> None:
    spark = {"int64": "BIGINT", "int32": "INT", "string": "STRING", "timestamp[us, tz=UTC]": "TIMESTAMP"}
    generator = parse_options(options_of(stream)).generator
    schema = made(stream, 0, 10).schema
    assert generator.schema == ", ".join(f"{field.name} {spark[str(field.type)]}" for field in schema)
    assert generator.key_column in schema.names
    assert all(not made(stream, 0, 5_000).column(name).null_count for name in schema.names)
    assert made(stream, 5, 5).schema == schema


@pytest.mark.parametrize("stream", STREAMS)
def test_another_seed_makes_other_events(stream: str) -> None:
    one, other = made(stream, 0, 1_000), made(stream, 0, 1_000, seed="8")
    for name in set(one.schema.names) - {"offset", "partition", "event_time", "id"}:
        assert one.column(name).to_pylist() != other.column(name).to_pylist()


def test_ids_are_those_of_persons_and_auctions_that_are_there_or_at_most_the_lead_ahead() -> None:
    auctions, bids = made("auctions", 0, 30_000), made("bids", 0, 460_000)
    newest_seller = FIRST_ID + np.arange(30_000) // 3
    ahead = column(auctions, "seller") - newest_seller
    assert -1_000 <= ahead.min() < -900
    assert ahead.max() == 10
    epoch = np.arange(460_000) // 46
    ahead = column(bids, "bidder") - (FIRST_ID + epoch)
    assert -1_000 <= ahead.min() < -900
    assert ahead.max() == 10
    ahead = column(bids, "auction") - (FIRST_ID + epoch * 3 + 2)
    assert ahead.min() == -100
    assert ahead.max() == 10
    for name, table in (("seller", auctions), ("bidder", bids), ("auction", bids)):
        assert column(table, name).min() == FIRST_ID


@pytest.mark.parametrize(("ratio", "share"), [(1, 0.0), (2, 1 / 2), (4, 3 / 4), (10, 9 / 10)])
def test_the_hot_ones_have_their_share_and_a_ratio_of_one_makes_none_hot(ratio: int, share: float) -> None:
    ratios = {name: str(ratio) for name in ("hotAuctionRatio", "hotSellersRatio", "hotBiddersRatio")}
    first, end = 4_600_000, 4_700_000
    bids, auctions = made("bids", first, end, **ratios), made("auctions", 300_000, 400_000, **ratios)
    epoch = np.arange(first, end) // 46
    found = {
        "bidder": (column(bids, "bidder") == FIRST_ID + epoch // 100 * 100 + 1, 1 / 1_010),
        "auction": (column(bids, "auction") == FIRST_ID + (epoch * 3 + 2) // 100 * 100, 1 / 111),
        "seller": (column(auctions, "seller") == FIRST_ID + np.arange(300_000, 400_000) // 3 // 100 * 100, 1 / 1_010),
    }
    for name, (is_hot, by_chance) in found.items():
        assert abs(is_hot.mean() - share - (1 - share) * by_chance) < 0.01, name


@pytest.mark.parametrize(("stream", "option", "size"), [
    ("persons", "avgPersonByteSize", 200), ("auctions", "avgAuctionByteSize", 500), ("bids", "avgBidByteSize", 100),
])  # fmt: skip
def test_events_have_the_published_size_and_filler_can_be_switched_off(stream: str, option: str, size: int) -> None:
    def sizes(**more: str) -> np.ndarray[Any, Any]:
        table = made(stream, 0, 20_000, **more)
        # Channel and address do not count in the published size.
        counted = [name for name in table.schema.names if name not in ("offset", "partition", "channel", "url")]
        texts = [name for name in counted if pa.types.is_string(table.schema.field(name).type)]
        numbers = len(counted) - len(texts) - (stream == "persons")
        lengths = [column(pa.table({name: pc.utf8_length(table[name])}), name) for name in texts]
        return np.asarray(8 * numbers + np.sum(lengths, axis=0))

    assert abs(sizes().mean() - size) < 0.02 * size
    assert abs(sizes(**{option: "1000"}).mean() - 1_000) < 10
    assert set(made(stream, 0, 100, **{option: "0"}).column("extra").to_pylist()) == {""}
    lengths = column(pa.table({"n": pc.utf8_length(made(stream, 0, 50_000)["extra"])}), "n")
    assert 0.79 < lengths.min() / lengths.mean() < 0.82
    assert 1.18 < lengths.max() / lengths.mean() < 1.21


def test_half_of_the_bids_come_from_four_channels_and_most_others_have_their_number_in_the_address() -> None:
    bids = made("bids", 0, 100_000)
    channels, urls = bids.column("channel").to_pylist(), bids.column("url").to_pylist()
    hot = [name in ("Google", "Facebook", "Baidu", "Apple") for name in channels]
    assert abs(sum(hot) / len(hot) - 0.5) < 0.01
    assert all(80 < 100 * count / 12_500 < 120 for name, count in Counter(channels).items() if "-" not in name)
    assert len(set(channels)) > 9_900
    cold = ["&channel_id=" in url for url, is_hot in zip(urls, hot, strict=True) if not is_hot]
    assert abs(sum(cold) / len(cold) - 0.9) < 0.02
    assert not any("channel_id" in url for url, is_hot in zip(urls, hot, strict=True) if is_hot)
    assert len(set(zip(channels, urls, strict=True))) == len(set(channels))


def test_categories_and_states_are_even() -> None:
    categories = Counter(made("auctions", 0, 50_000).column("category").to_pylist())
    assert sorted(categories) == [10, 11, 12, 13, 14]
    assert max(categories.values()) < 1.1 * min(categories.values())
    states = Counter(made("persons", 0, 60_000).column("state").to_pylist())
    assert sorted(states) == ["AZ", "CA", "ID", "OR", "WA", "WY"]
    assert max(states.values()) < 1.1 * min(states.values())


def test_credit_cards_have_four_groups_and_mail_goes_to_a_host() -> None:
    persons = made("persons", 0, 5_000)
    cards, mails = persons.column("credit_card"), persons.column("email")
    assert pc.all(pc.match_substring_regex(cards, r"^\d{4} \d{4} \d{4} \d{4}$")).as_py()
    assert pc.all(pc.match_substring_regex(mails, r"^[a-z]{3,6}@[a-z]{3,4}\.com$")).as_py()
    assert len(set(cards.to_pylist())) == 5_000


def test_prices_are_as_many_of_one_order_as_of_another_and_never_depend_on_a_rounding() -> None:
    found = np.log10(column(made("bids", 0, 600_000), "price") / 100)
    assert max(abs(np.histogram(found, bins=6, range=(0, 6))[0] / 100_000 - 1)) < 0.02
    knots = price_knots()
    assert (knots[0], knots[-1]) == (100, 10**8)
    # So far from a half that no machine's power function can be on the other side of it.
    exact = 100 * 10 ** (6 * np.arange(4_097) / 4_096)
    assert np.abs(exact - np.floor(exact) - 0.5).min() > 1e-6
    ends = prices(np.array([0, 2**32 - 1], dtype=np.uint64), knots).tolist()
    assert ends[0] == 100
    assert Fraction(ends[1], 10**8) > Fraction(999_999, 10**6)


def test_the_streams_of_one_seed_draw_apart() -> None:
    sellers, bidders = (
        column(made(stream, 0, 3_000, activePeople="1", idLead="1000", hotSellersRatio="1", hotBiddersRatio="1"), name)
        for stream, name in (("auctions", "seller"), ("bids", "bidder"))
    )
    assert abs(np.corrcoef(sellers - np.arange(3_000) // 3, bidders - np.arange(3_000) // 46)[0, 1]) < 0.1


def test_an_event_is_a_message_of_kafka() -> None:
    for stream, key in (("persons", "id"), ("auctions", "id"), ("bids", "auction")):
        (batch,) = made(stream, 0, 50).to_batches()
        assert list(messages(batch, key).keys) == [str(number).encode() for number in batch.column(key).to_pylist()]


def test_tables_are_no_part_of_what_a_generator_is() -> None:
    fresh, used = Nexmark(seed=1, partitions=4), Nexmark(seed=1, partitions=4)
    used.batch(np.arange(3), np.arange(3))
    assert (repr(fresh), fresh) == (repr(used), used)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"stream": "bid"}, "source: unknown stream 'bid'; did you mean 'bids'?"),
        ({"hotAuctionRatio": "0"}, "source: hotAuctionRatio: found 0; it must be a whole number from 1"),
        ({"personProportion": "0.5"}, "source: personProportion: found 0.5; it must be a whole number from 1"),
        ({"activePeople": "5G"}, "source: activePeople: found 5000000000; it may be up to 2147483647"),
        ({"auctionLength": "1h"}, "source: auctionLength: found 1h; it must be more than 0s, up to 2000s"),
        ({"avgBidByteSize": "-1"}, "source: avgBidByteSize: found -1; it must be a whole number from 0"),
        ({"hotAuctionRation": "1"}, "source: no option 'hotauctionration'; did you mean 'hotAuctionRatio'?"),
    ],
)
def test_wrong_options_are_told_in_one_line(more: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as wrong:
        parse_options({**options_of("bids"), **more})
    assert str(wrong.value) == message
