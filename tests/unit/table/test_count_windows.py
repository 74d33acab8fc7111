"""Windows of rows, and windows of plain columns in batch mode, run in this process."""

from __future__ import annotations

import random
from datetime import datetime
from typing import Any

import pytest

from scurry.common.errors import NotSupportedError, ProgramError
from scurry.planner.errors import SqlValidationError
from scurry.table import DataTypes, EnvironmentSettings, Table, TableEnvironment
from scurry.table.expressions import col, lit, row_interval
from scurry.table.udf import AggregateFunction, udaf
from scurry.table.window import GroupWindow, Session, Slide, Tumble
from scurry.testing.tables import changes_of_table


def clicks_of(env: TableEnvironment, given: list[tuple[str, int]]) -> Table:
    """The rows as a table with a column of processing time."""
    env.create_temporary_view("given", env.from_elements(given, ["k", "n"]))
    return env.sql_query("SELECT k, n, PROCTIME() AS pt FROM given")


def tumble(size: int) -> GroupWindow:
    return Tumble.over(row_interval(size)).on(col("pt")).alias("w")


def slide(size: int, every: int) -> GroupWindow:
    return Slide.over(row_interval(size)).every(row_interval(every)).on(col("pt")).alias("w")


def windows_of(given: list[tuple[str, int]], size: int, every: int) -> list[tuple[Any, ...]]:
    """Key, sum, maximum and distinct values of each window, from the definition."""
    groups: dict[str, list[int]] = {}
    found = []
    for key, value in given:
        group = groups.setdefault(key, [])
        group.append(value)
        if len(group) >= size and (len(group) - size) % every == 0:
            last = group[-size:]
            found.append((key, sum(last), max(last), len(set(last))))
    return found


@pytest.mark.parametrize(("size", "every"), [(1, 1), (3, 3), (4, 2), (2, 5), (5, 3)])
def test_windows_of_rows_are_what_their_definition_says(
    env: TableEnvironment, size: int, every: int
) -> None:
    draw = random.Random(size * 10 + every)
    given = [(draw.choice("abc"), draw.randint(-5, 5)) for _ in range(60)]
    window = tumble(size) if size == every else slide(size, every)
    made = clicks_of(env, given).window(window).group_by(col("w"), col("k"))
    shown = made.select(col("k"), col("n").sum, col("n").max, col("n").count.distinct)
    changes = changes_of_table(shown, cuts=7)
    assert [change[1:] for change in changes] == windows_of(given, size, every)
    assert {change[0] for change in changes} == {"+I"}


class Range(AggregateFunction):
    """The distance between the least and the greatest value."""

    def create_accumulator(self) -> list[int]:
        """No values yet."""
        return []

    def accumulate(self, accumulator: list[int], value: int) -> None:
        """One more value."""
        accumulator.append(value)

    def get_value(self, accumulator: list[int]) -> int:
        """The distance."""
        return max(accumulator) - min(accumulator)


def test_the_aggregate_of_a_user_sees_the_rows_of_one_window(env: TableEnvironment) -> None:
    spread = udaf(Range(), result_type=DataTypes.BIGINT(), accumulator_type="ARRAY<BIGINT>")
    given = [("a", 1), ("a", 5), ("b", 7), ("a", 9), ("a", 2), ("b", 3)]
    made = clicks_of(env, given).window(tumble(2)).group_by(col("w"), col("k"))
    shown = made.select(col("k"), spread(col("n")).alias("r"))
    assert changes_of_table(shown) == [("+I", "a", 4), ("+I", "a", 7), ("+I", "b", 4)]


def test_a_key_may_be_an_expression_with_an_alias(env: TableEnvironment) -> None:
    clicks = clicks_of(env, [("a", 1), ("b", 2), ("c", 3), ("d", 4)])
    odd = (col("n") % 2 == 1).alias("odd")
    shown = clicks.window(tumble(2)).group_by(col("w"), odd).select(col("odd"), col("n").sum)
    assert changes_of_table(shown) == [("+I", True, 4), ("+I", False, 6)]


def test_what_a_window_of_rows_cannot_be(env: TableEnvironment) -> None:
    clicks = clicks_of(env, [("a", 1)])

    def selecting(window: GroupWindow, *fields: Any) -> Table:
        return clicks.window(window).group_by(col("w")).select(*(fields or (col("n").sum,)))

    with pytest.raises(ProgramError, match="it has no start and no end"):
        selecting(tumble(2), col("w").start)
    with pytest.raises(ProgramError, match="needs a positive number of rows, got 0"):
        selecting(tumble(0))
    with pytest.raises(ProgramError, match="The gap of the session 'w' is a time"):
        selecting(Session.with_gap(row_interval(2)).on(col("pt")).alias("w"))
    mixed = Slide.over(row_interval(2)).every(lit(2).seconds).on(col("pt")).alias("w")
    with pytest.raises(ProgramError, match="give both in the same unit"):
        selecting(mixed)
    with pytest.raises(NotSupportedError, match="n is not a column of processing time"):
        selecting(Tumble.over(row_interval(2)).on(col("n")).alias("w"))
    with pytest.raises(SqlValidationError, match="neither in GROUP BY nor within an aggregate"):
        selecting(tumble(2), col("n"))


@pytest.fixture
def stamped() -> Table:
    """Rows of a batch with a timestamp that is no time attribute, and with milliseconds."""
    env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    return env.sql_query(
        "SELECT k, n, TIMESTAMP '1970-01-01 00:00:00.000' + ms * INTERVAL '0.001' SECOND AS ts, ms "
        "FROM (VALUES ('a', 1, CAST(1000 AS BIGINT)), ('b', 2, 11000), ('a', 3, 3000), "
        "('a', 4, 4000), ('b', 5, 19000)) AS v (k, n, ms)"
    )


def second(count: int) -> datetime:
    return datetime(1970, 1, 1, 0, 0, count)  # noqa: DTZ001


@pytest.mark.parametrize("column", ["ts", "ms"])
def test_in_batch_mode_windows_need_no_time_attribute(stamped: Table, column: str) -> None:
    tumbling = Tumble.over(lit(10).seconds).on(col(column)).alias("w")
    made = stamped.window(tumbling).group_by(col("w")).select(col("w").start, col("n").sum)
    assert changes_of_table(made) == [("+I", second(0), 8), ("+I", second(10), 7)]
    session = Session.with_gap(lit(5).seconds).on(col(column)).alias("w")
    sessions = stamped.window(session).group_by(col("w"), col("k"))
    found = changes_of_table(sessions.select(col("k"), col("w").start, col("w").end, col("n").sum))
    assert sorted(found) == [
        ("+I", "a", second(1), second(9), 8),
        ("+I", "b", second(11), second(16), 2),
        ("+I", "b", second(19), second(24), 5),
    ]


def test_a_batch_has_no_windows_of_rows(stamped: Table) -> None:
    window = Tumble.over(row_interval(2)).on(col("ts")).alias("w")
    counted = stamped.window(window).group_by(col("w"))
    with pytest.raises(NotSupportedError, match="the rows of a batch have no order"):
        counted.select(col("n").sum)
