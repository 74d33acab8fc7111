"""NEXMark's events: the same for the same numbers, related to each other, read exactly once."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scurry.common.errors import ProgramError
from scurry.connectors.nexmark import TABLES, NexmarkShape, NexmarkSource, rows_of
from scurry.connectors.nexmark.tables import FIRST_AUCTION, FIRST_PERSON, rows_among
from scurry.datastream import StreamExecutionEnvironment
from scurry.testing import ListSink, LocalJob

SHAPE = NexmarkShape(seed=5, events_per_second=1000, disorder_ms=30)


@pytest.mark.parametrize("table", TABLES)
@given(cuts=st.lists(st.integers(0, 400), min_size=1, max_size=5).map(sorted))
@settings(max_examples=20, deadline=None)
def test_a_row_is_the_same_whatever_is_asked_for_with_it(table: str, cuts: list[int]) -> None:
    whole = rows_of(table, 0, 400, SHAPE)
    pieces = [rows_of(table, a, b, SHAPE) for a, b in pairwise([0, *cuts, 400])]
    assert pa.Table.from_batches(pieces).to_pylist() == whole.to_pylist()


def test_another_seed_gives_other_rows() -> None:
    assert rows_of("bid", 0, 50, NexmarkShape(seed=1)) != rows_of("bid", 0, 50, NexmarkShape())


@given(st.integers(0, 5000))
def test_every_event_is_a_row_of_one_table(events: int) -> None:
    assert sum(rows_among(table, events) for table in TABLES) == events


def test_fifty_events_are_a_person_three_auctions_and_46_bids() -> None:
    assert [rows_among(table, 50) for table in TABLES] == [1, 3, 46]


def test_bids_are_for_auctions_that_began_and_by_people_who_are_about_to_be_there() -> None:
    bids = rows_of("bid", 0, 20_000, SHAPE).to_pydict()
    for row, (auction, bidder) in enumerate(zip(bids["auction"], bids["bidder"], strict=True)):
        event = row // 46 * 50 + 4 + row % 46
        auctions, people = rows_among("auction", event), rows_among("person", event)
        assert FIRST_AUCTION <= auction < FIRST_AUCTION + auctions
        assert FIRST_PERSON <= bidder < FIRST_PERSON + people + 10
    hot = [auction for auction in bids["auction"] if auction % 100 == 0]
    assert 0.45 < len(hot) / 20_000 < 0.56, "one of two bids is for the hot auction"


def test_auctions_end_after_they_begin_and_have_one_of_five_categories() -> None:
    auctions = rows_of("auction", 0, 5000, SHAPE).to_pydict()
    assert all(map(lambda a, b: a < b, auctions["dateTime"], auctions["expires"]))
    assert set(auctions["category"]) == {10, 11, 12, 13, 14}
    assert all(map(lambda a, b: a < b, auctions["initialBid"], auctions["reserve"]))


def test_time_goes_on_with_the_events_and_is_out_of_order_as_far_as_asked() -> None:
    times = rows_of("bid", 0, 10_000, SHAPE).column("dateTime").cast(pa.int64()).to_pylist()
    late = [max(times[:at]) - times[at] for at in range(1, 2000)]
    assert 15 < max(late) <= 30
    calm = rows_of("bid", 0, 10_000, NexmarkShape()).column("dateTime").cast(pa.int64()).to_pylist()
    assert calm == sorted(calm)
    assert calm[-1] - calm[0] == (10_000 // 46 * 50 + 17 + 4) * 1000 // 10_000


def test_extra_has_the_length_that_is_asked_for() -> None:
    for length in (0, 1, 8, 21):
        extra = rows_of("person", 0, 9, NexmarkShape(extra=length)).column("extra").to_pylist()
        assert {len(text) for text in extra} == {length}


@pytest.mark.parametrize("parallelism", [1, 3])
@pytest.mark.parametrize("table", TABLES)
def test_a_source_gives_every_row_once_across_restarts(table: str, parallelism: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink = ListSink()
    env.from_source(NexmarkSource(table, 2000, SHAPE), None, table).sink_to(sink)
    with LocalJob(env._compile(None)) as job:
        for records in (7, 100, 33):
            job.step(records)
            job.restart(lose_local_state=True)
        while not job.done:
            job.crash_step(500)
            job.step(500)
    expected = rows_of(table, 0, rows_among(table, 2000), SHAPE).to_pylist()
    assert sorted(map(tuple, sink.values)) == sorted(tuple(row.values()) for row in expected)


def test_a_source_keeps_to_its_rate() -> None:
    now = [0.0]
    source = NexmarkSource("bid", None, rate=1000)
    rows: Any = source.enumerator(1)
    rows._clock = lambda: now[0]
    assert rows.plan(0, 10_000).ranges == []
    now[0] = 0.5
    assert rows.plan(0, 10_000).position == rows_among("bid", 500)
    assert not rows.plan(460, 10_000).finished
    assert not source.bounded


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NexmarkSource("bids"), "NEXMark has the tables person, auction, bid, and not"),
        (lambda: NexmarkSource("bid", -1), "events must not be negative, got -1"),
        (lambda: NexmarkSource("bid", rate=0), "rate must be positive, got 0"),
        (lambda: NexmarkShape(hot_sellers=0), "hot_sellers must be at least 1, got 0"),
    ],
)
def test_mistakes(make: Any, message: str) -> None:
    with pytest.raises(ProgramError, match=message):
        make()
