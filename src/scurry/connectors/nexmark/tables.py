"""The three tables of NEXMark as columns: a row of a table is a function of its number there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scurry.connectors.nexmark.draws import Draws, Longs
from scurry.connectors.nexmark.shape import AUCTIONS, BIDS, PERSONS, ROUND, NexmarkShape

#: The first identities of people, auctions and categories, and how many categories there are.
FIRST_PERSON, FIRST_AUCTION, FIRST_CATEGORY, CATEGORIES = 1000, 1000, 10, 5
#: How many of the newest people may not have registered yet when they are referred to.
_AHEAD = 10
_TIME = pa.timestamp("ms")

_FIRST_NAMES = ["Ada", "Bela", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jun", "Kay"]
_LAST_NAMES = ["Adler", "Brook", "Cruz", "Dahl", "Engel", "Frost", "Gray", "Hill", "Ito"]
_CITIES = ["Tucson", "Fresno", "Oakland", "Boise", "Salem", "Eugene", "Tacoma", "Yakima", "Casper"]
_STATES = ["AZ", "CA", "ID", "OR", "WA", "WY"]
_HOT_CHANNELS = ["Google", "Facebook", "Baidu", "Apple"]
_CHANNELS = 10_000

PERSON = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("emailAddress", pa.string()),
        ("creditCard", pa.string()),
        ("city", pa.string()),
        ("state", pa.string()),
        ("dateTime", _TIME),
        ("extra", pa.string()),
    ]
)
AUCTION = pa.schema(
    [
        ("id", pa.int64()),
        ("itemName", pa.string()),
        ("description", pa.string()),
        ("initialBid", pa.int64()),
        ("reserve", pa.int64()),
        ("dateTime", _TIME),
        ("expires", _TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("extra", pa.string()),
    ]
)
BID = pa.schema(
    [
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("channel", pa.string()),
        ("url", pa.string()),
        ("dateTime", _TIME),
        ("extra", pa.string()),
    ]
)
#: Each table's columns, how many of its rows are in a round, and which event of it comes first.
TABLES: dict[str, tuple[pa.Schema, int, int]] = {
    "person": (PERSON, PERSONS, 0),
    "auction": (AUCTION, AUCTIONS, PERSONS),
    "bid": (BID, BIDS, PERSONS + AUCTIONS),
}


def rows_of(table: str, first: int, end: int, shape: NexmarkShape) -> pa.RecordBatch:
    """The rows ``first`` up to, but not including, ``end`` of a table."""
    schema, share, offset = TABLES[table]
    rows = np.arange(first, end, dtype=np.int64)
    events = rows // share * ROUND + offset + rows % share
    columns = _MAKERS[table](rows, events, Draws(shape.seed, events), shape)
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def rows_among(table: str, events: int) -> int:
    """How many rows of a table are among the first ``events`` events."""
    _, share, offset = TABLES[table]
    return events // ROUND * share + min(max(events % ROUND - offset, 0), share)


def _persons(rows: Longs, events: Longs, draws: Draws, shape: NexmarkShape) -> list[pa.Array]:
    first, last = draws.pick(0, _FIRST_NAMES), draws.pick(1, _LAST_NAMES)
    name = pc.binary_join_element_wise(first, last, " ")
    mail = pc.binary_join_element_wise(draws.text(2, 7), draws.text(3, 5), "@")
    cards = [_digits(draws.below(10 + part, 10_000)) for part in range(4)]
    return [
        pa.array(rows + FIRST_PERSON),
        name,
        pc.binary_join_element_wise(mail, "com", "."),
        pc.binary_join_element_wise(*cards, " "),
        draws.pick(4, _CITIES),
        draws.pick(5, _STATES),
        _times(events, draws, shape),
        draws.text(40, shape.extra),
    ]


def _auctions(rows: Longs, events: Longs, draws: Draws, shape: NexmarkShape) -> list[pa.Array]:
    first_bid = _price(draws, 6)
    newest = events // ROUND
    hot = newest // 100 * 100
    seller = np.where(
        draws.below(7, shape.hot_sellers) > 0, hot, _recent(draws, 8, newest, shape.active_people)
    )
    times = _millis(events, draws, shape)
    # how long it takes until as many auctions have begun as are in flight, twice at most
    horizon = shape.auctions_in_flight * ROUND * 1000 // (AUCTIONS * shape.events_per_second)
    lasts = 1 + draws.below(9, max(2 * horizon, 1))
    return [
        pa.array(rows + FIRST_AUCTION),
        draws.text(20, 20),
        draws.text(24, 40),
        pa.array(first_bid),
        pa.array(first_bid + _price(draws, 10)),
        pa.array(times, _TIME),
        pa.array(times + lasts, _TIME),
        pa.array(seller + FIRST_PERSON),
        pa.array(draws.below(11, CATEGORIES) + FIRST_CATEGORY),
        draws.text(40, shape.extra),
    ]


def _bids(rows: Longs, events: Longs, draws: Draws, shape: NexmarkShape) -> list[pa.Array]:
    people = events // ROUND
    auctions = people * AUCTIONS + AUCTIONS - 1
    auction = np.where(
        draws.below(6, shape.hot_auctions) > 0,
        auctions // 100 * 100,
        _recent(draws, 7, auctions, shape.auctions_in_flight, ahead=0),
    )
    bidder = np.where(
        draws.below(8, shape.hot_bidders) > 0,
        people // 100 * 100 + 1,
        _recent(draws, 9, people, shape.active_people),
    )
    channel, url = _channels(draws)
    return [
        pa.array(auction + FIRST_AUCTION),
        pa.array(bidder + FIRST_PERSON),
        pa.array(_price(draws, 10)),
        channel,
        url,
        _times(events, draws, shape),
        draws.text(40, shape.extra),
    ]


def _channels(draws: Draws) -> tuple[pa.Array, pa.Array]:
    """The channels of bids, half of them well known, and the addresses that bids came from: those
    of other channels say the channel's number."""
    hot = draws.below(11, 2) > 0
    numbers = draws.below(12, _CHANNELS)
    named = pc.binary_join_element_wise("channel", pc.cast(pa.array(numbers), pa.string()), "-")
    channel = pc.if_else(pa.array(hot), draws.pick(13, _HOT_CHANNELS), named)
    page = pc.binary_join_element_wise(
        "https://www.nexmark.com", *(draws.text(20 + 2 * at, 3 + at) for at in range(3)), "/"
    )
    address = pc.binary_join_element_wise(page, "item.htm?query=1", "/")
    told = pc.binary_join_element_wise(
        address, pc.cast(pa.array(numbers * 7 % 65_536), pa.string()), "&channel_id="
    )
    return channel, pc.if_else(pa.array(hot), address, told)


def _recent(draws: Draws, salt: int, newest: Longs, among: int, ahead: int = _AHEAD) -> Longs:
    """One of the ``among`` latest up to ``newest``, or one of those that come ``ahead``."""
    active = np.minimum(newest + 1, among)
    return newest - active + 1 + draws.below(salt, active + ahead)


def _price(draws: Draws, salt: int) -> Longs:
    return np.round(10.0 ** (draws.unit(salt) * 6.0) * 100.0).astype(np.int64)


def _millis(events: Longs, draws: Draws, shape: NexmarkShape) -> Longs:
    turn = shape.first_time + events * 1000 // shape.events_per_second
    return turn - draws.below(60, shape.disorder_ms + 1) if shape.disorder_ms else turn


def _times(events: Longs, draws: Draws, shape: NexmarkShape) -> pa.Array:
    return pa.array(_millis(events, draws, shape), _TIME)


def _digits(numbers: Longs) -> pa.Array:
    return pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width=4, padding="0")


_MAKERS: dict[str, Callable[[Longs, Longs, Draws, NexmarkShape], list[pa.Array]]] = {
    "person": _persons,
    "auction": _auctions,
    "bid": _bids,
}
