"""Aggregates of the user's keep lists and maps, whatever happens to the job meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from scurry.common.types import Row
from scurry.table import (
    AggregateFunction,
    DataTypes,
    ListView,
    MapView,
    Table,
    TableAggregateFunction,
    TableEnvironment,
)
from scurry.table.expressions import col
from scurry.table.udf import udaf, udtaf
from scurry.testing.relations import table_of
from scurry.testing.tables import changes_of_table

WORDS = [("a", "x"), ("b", "y"), ("a", "y"), ("c", "x"), ("b", "x"), ("a", "z"), ("c", "z")]
TROUBLES: list[dict[str, Any]] = [
    {},
    {"cuts": 1},
    {"cuts": 2, "crash": [1, 3]},
    {"cuts": 2, "restart": [2]},
    {"cuts": 2, "rescale": {2: 3}},
]


class Distinct(AggregateFunction[int, Row]):
    """How many different values there are."""

    def create_accumulator(self) -> Row:
        return Row(MapView(), ListView())

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        (value,) = args
        accumulator[0][value] = (accumulator[0].get(value) or 0) + 1
        accumulator[1].add(value)

    def retract(self, accumulator: Row, *args: Any) -> None:
        (value,) = args
        accumulator[0][value] -= 1
        if not accumulator[0][value]:
            accumulator[0].remove(value)

    def get_value(self, accumulator: Row) -> int:
        return len(list(accumulator[0].keys()))

    def get_result_type(self) -> Any:
        return DataTypes.BIGINT()


class Frequent(TableAggregateFunction[Row, Row]):
    """The two most frequent values."""

    def create_accumulator(self) -> Row:
        return Row(MapView())

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        accumulator[0][args[0].word] = (accumulator[0].get(args[0].word) or 0) + 1

    def retract(self, accumulator: Row, *args: Any) -> None:
        accumulator[0][args[0].word] -= 1

    def emit_value(self, accumulator: Row) -> Iterator[Row]:
        ranked = sorted(accumulator[0].items(), key=lambda pair: (-pair[1], pair[0]))
        for word, count in ranked[:2]:
            if count:
                yield Row(word, count)

    def get_result_type(self) -> Any:
        return "ROW<word STRING, n BIGINT>"


def last_words(env: TableEnvironment) -> Table:
    """The greatest word of each key, which changes."""
    words = env.from_elements(WORDS, ["k", "word"])
    return words.group_by(col("k")).select(col("k"), col("word").max.alias("word"))


def greatest() -> list[str]:
    found: dict[str, str] = {}
    for key, word in WORDS:
        found[key] = max(word, found.get(key, ""))
    return list(found.values())


@pytest.mark.parametrize("trouble", TROUBLES)
def test_maps_in_accumulators_are_retracted(env: TableEnvironment, trouble: dict[str, Any]) -> None:
    table = last_words(env).select(udaf(Distinct())(col("word")).alias("n"))
    assert table_of(changes_of_table(table, **trouble)) == Counter([(len(set(greatest())),)])


@pytest.mark.parametrize("trouble", TROUBLES)
def test_rows_of_table_aggregates_are_retracted(
    env: TableEnvironment, trouble: dict[str, Any]
) -> None:
    made = last_words(env).flat_aggregate(udtaf(Frequent()).alias("w", "n"))
    table = made.select(col("w"), col("n"))
    ranked = sorted(Counter(greatest()).items(), key=lambda pair: (-pair[1], pair[0]))[:2]
    assert table_of(changes_of_table(table, **trouble)) == Counter(ranked)
