"""Aggregates in two steps give what they give in one, however the input is cut."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.planner.tables import Tables

from scurry.planner.explain import explain
from scurry.planner.options import PlannerOptions
from scurry.table import DataTypes
from scurry.table.udf import AggregateFunction, udaf

#: halves, so that sums of squares are exact in any order
HALVES = st.none() | st.integers(-20, 20).map(lambda n: n / 2)
CENTS = st.none() | st.integers(-500, 500).map(lambda n: Decimal(n) / 100)
ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.none() | st.integers(-9, 9),
        CENTS,
        HALVES,
        st.none() | st.booleans(),
    ),
    max_size=20,
)
CALLS = (
    "AVG(v), AVG(d), AVG(f), AVG(v) FILTER (WHERE b), COUNT(*), SUM(v), MIN(f), MAX(d), "
    "VAR_POP(f), VAR_SAMP(f), STDDEV_POP(f), STDDEV_SAMP(f), STDDEV(d), VARIANCE(v)"
)
DISTINCT = "COUNT(DISTINCT v), SUM(DISTINCT v), AVG(DISTINCT v), AVG(d), VAR_POP(f), MAX(f)"
TWO = PlannerOptions(mini_batch=True)
SPLIT = PlannerOptions(split_distinct=True)
BOTH = PlannerOptions(mini_batch=True, split_distinct=True)


class Longest(AggregateFunction):
    """The number of values and the greatest of them."""

    def create_accumulator(self) -> list[Any]:
        """No values."""
        return [0, None]

    def accumulate(self, accumulator: list[Any], value: int | None) -> None:
        """One more value."""
        self.merge(accumulator, [[1, value]])

    def merge(self, accumulator: list[Any], accumulators: Iterable[list[Any]]) -> None:
        """Values of other parts."""
        for count, value in accumulators:
            accumulator[0] += count
            if value is not None:
                held = accumulator[1]
                accumulator[1] = value if held is None else max(held, value)

    def get_value(self, accumulator: list[Any]) -> str:
        """Both of them as text."""
        return f"{accumulator[0]}: {accumulator[1]}"


class NotMerging(Longest):
    """The same without parts."""

    merge = AggregateFunction.merge

    def accumulate(self, accumulator: list[Any], value: int | None) -> None:
        """One more value."""
        Longest.merge(self, accumulator, [[1, value]])


def tables_of(rows: list[tuple[Any, ...]]) -> Tables:
    tables = Tables()
    tables.create("CREATE TABLE t (k INT, v INT, d DECIMAL(6, 2), f DOUBLE, b BOOLEAN)", rows)
    for name, function in (("longest", Longest()), ("whole", NotMerging())):
        tables.functions[name] = udaf(
            function, result_type=DataTypes.STRING(), accumulator_type=DataTypes.BYTES(), name=name
        )
    return tables


@settings(max_examples=10, deadline=None)
@given(ROWS, st.integers(1, 7), st.sampled_from([CALLS, "longest(v), COUNT(v), AVG(v)", DISTINCT]))
def test_two_steps_are_one(rows: list[tuple[Any, ...]], cuts: int, calls: str) -> None:
    tables = tables_of(rows)
    query = f"SELECT k, {calls} FROM t GROUP BY k"
    expected = tables.rows(query)
    for options in (TWO, SPLIT, BOTH):
        assert tables.rows(query, options=options, cuts=cuts) == expected


@pytest.mark.parametrize(
    ("calls", "two"),
    [
        (CALLS, True),
        ("longest(v)", True),
        ("whole(v)", False),
        ("FIRST_VALUE(v), AVG(v)", False),
        ("LISTAGG(CAST(v AS STRING))", False),
    ],
)
def test_which_aggregates_are_computed_in_two_phases(calls: str, two: bool) -> None:
    bound = tables_of([]).bind(f"SELECT k, {calls} FROM t GROUP BY k")
    assert ("LocalAggregate" in explain(bound, options=TWO)) is two


def test_equal_parts_are_computed_once() -> None:
    bound = tables_of([]).bind("SELECT k, AVG(f), VAR_POP(f), STDDEV_POP(f) FROM t GROUP BY k")
    (local,) = [one for one in explain(bound, options=TWO).splitlines() if "LocalAggregate" in one]
    assert local.count("$SQUARES(") == 1
    assert local.count("$DOUBLES(") == 1
    assert local.count("COUNT(") == 1
