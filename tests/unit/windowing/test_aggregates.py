"""Built-in aggregates in programs: shapes, columns, late elements, state, and what goes wrong."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from scurry.common import Row, Time, WatermarkStrategy
from scurry.common.errors import FunctionError, ProgramError
from scurry.connectors.parquet import ParquetSource
from scurry.datastream import DataStream, ProcessWindowFunction, StreamExecutionEnvironment
from scurry.datastream import aggregates as agg
from scurry.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
)
from scurry.testing import ListSink, LocalJob, OperatorHarness, collect_local

ms = Time.milliseconds
TEN = TumblingEventTimeWindows.of(ms(10))
BOTH_WAYS = pytest.mark.parametrize("vectorised", [True, False])
EVENTS = [("a", 1), ("b", 2), ("a", 5), ("a", 12), ("b", 3), ("a", 25)]


def stream(events: list[Any] = EVENTS, vectorised: bool = True, time: Any = None) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    env.get_configuration().set_boolean("scurry.windows.vectorised", vectorised)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        time or (lambda event, _: event[1])
    )
    return env.from_collection(events).assign_timestamps_and_watermarks(strategy)


def keyed(events: list[Any] = EVENTS, vectorised: bool = True) -> Any:
    return stream(events, vectorised).key_by(lambda event: event[0])


@BOTH_WAYS
def test_results_are_key_window_and_aggregates(vectorised: bool) -> None:
    windowed = keyed(vectorised=vectorised).window(TEN)
    assert collect_local(windowed.aggregate(agg.count(), agg.sum(1), agg.avg(1))) == [
        ("b", 0, 10, 1, 2, 2.0),
        ("a", 0, 10, 2, 6, 3.0),
        ("a", 10, 20, 1, 12, 12.0),
        ("a", 20, 30, 1, 25, 25.0),
    ]


@BOTH_WAYS
def test_windows_over_the_whole_stream_have_no_key(vectorised: bool) -> None:
    result = stream(vectorised=vectorised).window_all(TEN).aggregate(agg.max(1))
    assert collect_local(result) == [(0, 10, 5), (10, 20, 12), (20, 30, 25)]


@BOTH_WAYS
def test_fields_by_name_of_any_kind_of_element(vectorised: bool) -> None:
    rows = [Row(user="a", t=1, amount=1.5), Row(user="a", t=2, amount=None)]
    named = stream(rows, vectorised, lambda row, _: row.t).key_by("user").window(TEN)
    totals = named.aggregate(agg.sum("amount"), agg.count("amount"), agg.count())
    assert collect_local(totals) == [("a", 0, 10, 1.5, 1, 2)]
    records = [Payment("a", 1, 3), Payment("a", 2, 4)]
    kept = stream(records, vectorised, lambda payment, _: payment.t).key_by(lambda p: p.user)
    assert collect_local(kept.window(TEN).aggregate(agg.min("amount"))) == [("a", 0, 10, 3)]


@dataclass
class Payment:
    user: str
    t: int
    amount: int


@BOTH_WAYS
def test_least_and_greatest_of_what_is_no_number(vectorised: bool) -> None:
    words = [("k", 1, "pear"), ("k", 2, "apple"), ("k", 3, None)]
    result = keyed(words, vectorised).window(TEN).aggregate(agg.min(2), agg.max(2))
    assert collect_local(result) == [("k", 0, 10, "apple", "pear")]


@BOTH_WAYS
def test_floats_are_added_exactly_in_any_order(vectorised: bool) -> None:
    parts = [1e16, 1.0, -1e16, 0.1, 1.0]
    events = [("k", 1, part) for part in parts]
    windowed = keyed(events, vectorised).window(TEN)
    assert collect_local(windowed.aggregate(agg.sum(2)), cuts=1) == [("k", 0, 10, 2.1)]


def test_columns_stay_columns_from_source_to_sink(tmp_path: Any) -> None:
    at = np.arange(1000)
    table = pa.table({"key": at % 7, "value": at % 13, "ts": at})
    pq.write_table(table, tmp_path / "events.parquet")
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda event, _: event.ts
    )
    named = env.from_source(ParquetSource(tmp_path), strategy, "named")
    totals = named.key_by(lambda event: event.key).window(
        SlidingEventTimeWindows.of(ms(100), ms(50))
    )
    found = collect_local(totals.aggregate(agg.count(), agg.sum("value")), cuts=300)
    expected = []
    for key in range(7):
        for start in range(-50, 1000, 50):
            inside = [i for i in range(max(start, 0), min(start + 100, 1000)) if i % 7 == key]
            expected.append((key, start, start + 100, len(inside), sum(i % 13 for i in inside)))
    assert sorted(found) == sorted(expected)


@BOTH_WAYS
def test_results_carry_the_last_instant_of_their_window(vectorised: bool) -> None:
    result = keyed(vectorised=vectorised).window(TEN).allowed_lateness(5).aggregate(agg.count())
    with OperatorHarness.of(result) as harness:
        harness.process_element(("a", 1), 1)
        harness.process_watermark(11)
        harness.process_element(("a", 2), 2)
        harness.process_watermark(50)
        assert harness.timestamped_output == [(("a", 0, 10, 1), 9), (("a", 0, 10, 2), 9)]


@BOTH_WAYS
def test_a_late_element_that_joins_two_sessions(vectorised: bool) -> None:
    gap = EventTimeSessionWindows.with_gap(ms(10))
    result = keyed(vectorised=vectorised).window(gap).allowed_lateness(100).aggregate(agg.sum(1))
    with OperatorHarness.of(result) as harness:
        harness.process_element(("a", 1), 1)
        harness.process_element(("a", 15), 15)
        harness.process_watermark(30)
        harness.process_element(("a", 8), 8)
        assert harness.output == [("a", 1, 11, 1), ("a", 15, 25, 15), ("a", 1, 25, 24)]


class Twice(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        for count, total in elements:
            yield key, count * 2, total * 2


@BOTH_WAYS
def test_a_window_function_is_given_the_aggregates(vectorised: bool) -> None:
    windowed = keyed(EVENTS[:3], vectorised).window(TEN)
    result = windowed.aggregate([agg.count(), agg.sum(1)], Twice())
    assert collect_local(result) == [("b", 2, 4), ("a", 4, 12)]


@pytest.mark.parametrize(
    ("assigner", "words"),
    [
        (TEN, "on columns, made of rows first"),
        (EventTimeSessionWindows.with_gap(ms(5)), "on columns, made of rows first"),
        (
            EventTimeSessionWindows.with_dynamic_gap(lambda event: 5),
            "on rows because of its windows, trigger or evictor",
        ),
    ],
)
def test_explain_says_whether_windows_work_on_columns(assigner: Any, words: str) -> None:
    def explained(vectorised: bool) -> tuple[str, str]:
        result = keyed(vectorised=vectorised).window(assigner).aggregate(agg.count()).uid("w")
        result.print()
        env = result.get_execution_environment()
        plan = json.loads(env.describe_plan())
        (node,) = [node for node in plan["nodes"] if node["id"] == "w"]
        return env.explain(), node["works_on"]

    text, found = explained(True)
    assert f"(uid w; stage 1; {words}; parallelism 1)" in text
    assert found == words.split()[1].rstrip(",")
    assert explained(False)[1] == "rows"


@pytest.mark.parametrize("assigner", [TEN, EventTimeSessionWindows.with_gap(ms(10))])
def test_state_is_a_record_for_all_keys_together(assigner: Any) -> None:
    events = [(key, 1) for key in range(1000)]
    result = keyed(events).window(assigner).aggregate(agg.count())
    sink = ListSink()
    result.sink_to(sink)
    with LocalJob(result.get_execution_environment()._compile(None)) as job:
        job.step(500)
        job.step(400)
        (host,) = job._hosts.values()
        assert host.store.entries == 2
        while job.step():
            pass
    assert sorted(row[3] for row in sink.values) == [1] * 1000


def test_a_slice_with_many_records_gets_a_single_one() -> None:
    events = [(at % 3, 1) for at in range(200)]
    result = keyed(events).window(TEN).aggregate(agg.count())
    sink = ListSink()
    result.sink_to(sink)
    with LocalJob(result.get_execution_environment()._compile(None)) as job:
        most = 0
        while job.step(3):
            (host,) = job._hosts.values()
            most = max(most, host.store.entries)
    assert most <= 20
    assert sorted(row[3] for row in sink.values) == [66, 67, 67]


def test_only_numbers_are_added() -> None:
    result = keyed([("a", 1, "x")]).window(TEN).aggregate(agg.sum(2))
    with pytest.raises(FunctionError, match=r"sum adds up whole numbers and floats, got 'x' \(str"):
        collect_local(result)


def test_what_cannot_be_an_aggregate_is_refused() -> None:
    with pytest.raises(ProgramError, match="sum takes the position or name of a field"):
        agg.sum(1.5)  # type: ignore[arg-type]
    with pytest.raises(ProgramError, match="aggregate was given 3 among built-in aggregates"):
        keyed().window(TEN).aggregate(agg.count(), agg.sum(1), 3)
    with pytest.raises(ProgramError, match="name at least one aggregate"):
        keyed().window(TEN).aggregate([])


def test_other_triggers_run_an_element_at_a_time() -> None:
    windowed = keyed().window(TEN).trigger(CountTrigger.of(2))
    assert collect_local(windowed.aggregate(agg.sum(1))) == [("a", 0, 10, 6)]
