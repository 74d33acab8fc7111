"""MATCH_RECOGNIZE with functions of the user's, and by the clock."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.table.test_user_functions import TROUBLES

from scurry.common import Row, Types, WatermarkStrategy
from scurry.datastream import StreamExecutionEnvironment
from scurry.table import AggregateFunction, DataTypes, Schema, StreamTableEnvironment
from scurry.table.udf import udaf, udf
from scurry.testing import ListSink, collect_local
from scurry.testing.local import LocalJob

PRICE = Types.ROW_NAMED(["k", "n", "at"], [Types.STRING(), Types.INT(), Types.LONG()])


class Middle(AggregateFunction[float, list[int]]):
    """The number in the middle of those that are known, None without any."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        if args[0] is not None:
            accumulator.append(args[0])

    def get_value(self, accumulator: list[int]) -> float | None:  # type: ignore[override]
        found = sorted(accumulator)
        return float(found[len(found) // 2]) if found else None

    def get_result_type(self) -> Any:
        return DataTypes.DOUBLE()

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(DataTypes.BIGINT())


def searching(rows: list[tuple[str, int | None, int]], clause: str) -> Any:
    """The matches in rows with a time attribute ``ts`` of events, and ``p`` of the clock."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda row, _: row.at
    )
    made = [Row(k=k, n=n, at=at) for k, n, at in rows]
    stream = env.from_collection(made, PRICE).assign_timestamps_and_watermarks(strategy)
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_function("middle", udaf(Middle()))
    t_env.create_temporary_function("odd", udf(lambda n: n % 2, result_type=DataTypes.BIGINT()))
    schema = (
        Schema.new_builder()
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .column_by_expression("p", "PROCTIME()")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("prices", t_env.from_data_stream(stream, schema))
    query = t_env.sql_query(f"SELECT * FROM prices MATCH_RECOGNIZE ({clause})")
    return t_env.to_data_stream(query).map(tuple)


@pytest.mark.parametrize("how", TROUBLES, ids=repr)
def test_aggregates_of_the_user_measure_and_decide(how: dict[str, Any]) -> None:
    """They are over the rows of a variable so far, the row in question included, and over
    expressions of its columns. Flink 2.3 gives these rows, with the function written in Java: it
    takes none in Python here."""
    numbers = [9, 1, 4, None, 5, 30, 2, 8, 3, 50]
    rows = [(k, n, 10 * at) for at, n in enumerate(numbers) for k in "ab"]
    found = searching(
        rows,
        """PARTITION BY k ORDER BY ts
        MEASURES FIRST(A.n) AS begun, middle(A.n) AS mid, middle(A.n * 2) AS twice, B.n AS last
        AFTER MATCH SKIP PAST LAST ROW PATTERN (A+ B)
        DEFINE A AS (A.n IS NULL OR A.n < 10) AND middle(A.n) < 8, B AS B.n > 3 * middle(A.n)""",
    )
    each = [(1, 4.0, 8.0, 30), (2, 2.0, 4.0, 8), (3, 3.0, 6.0, 50)]
    assert sorted(collect_local(found, **how)) == [(k, *rest) for k in "ab" for rest in each]


def test_scalar_functions_of_the_user() -> None:
    rows = [("a", n, at) for at, n in enumerate([2, 3, 5, 4, 7])]
    found = searching(
        rows,
        "ORDER BY ts MEASURES odd(A.n) AS o, A.n AS a, B.n AS b AFTER MATCH SKIP PAST LAST ROW "
        "PATTERN (A B) DEFINE A AS odd(A.n) = 1, B AS odd(B.n) = odd(A.n)",
    )
    assert collect_local(found) == [(1, 3, 5)]


BY_CLOCK = (
    "PARTITION BY k ORDER BY p MEASURES A.n AS a, C.n AS c AFTER MATCH SKIP PAST LAST ROW "
    "PATTERN (A B+? C) WITHIN INTERVAL '10' SECOND DEFINE C AS C.n < A.n"
)


def by_clock(numbers: list[int], clocks: list[int]) -> list[Any]:
    """What there is after each micro-batch of one row, at these seconds; then none come."""
    rows = searching([("a", n, 0) for n in numbers], BY_CLOCK)
    sink = ListSink()
    rows.sink_to(sink)
    seen: list[Any] = []
    with LocalJob(rows.get_execution_environment()._compile(None)) as job:
        for clock in clocks:
            job.clock = clock * 1000
            job.step(1)
            seen.append(list(sink.values))
    return seen


def test_by_the_clock_a_match_is_over_in_time() -> None:
    # the row 5 ends the match in time, and in the second run too late, as it does in Flink 2.3
    assert by_clock([9, 9, 5], [0, 1, 9])[-1] == [("a", 9, 5)]
    assert by_clock([9, 9, 5], [0, 1, 10])[-1] == []


def test_by_the_clock_a_match_waits_for_those_before_it_until_their_time_is_over() -> None:
    """The first row begins a match that nothing can complete; the one that begins with the second
    row is complete with the fourth, and comes out when the first one's time is over. The timer does
    that, before the row that comes later; in Flink 2.3 as well."""
    seen = by_clock([1, 9, 5, 4, 7], [0, 1, 2, 3, 10])
    assert seen == [[], [], [], [], [("a", 9, 4)]]
