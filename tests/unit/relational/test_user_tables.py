"""Functions of the user's and outer systems that make rows: table aggregates and lookups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import DataTypes
from scurry.common.errors import FunctionError
from scurry.functions.aggregate_calls import AggregateCall
from scurry.functions.expressions import InputRef
from scurry.functions.transforms import Function
from scurry.plan.relational import Calc, LookupJoin, TableAggregate
from scurry.testing.relations import changes_of, keyed, relation

SCHEMA = pa.schema([("k", pa.string()), ("n", pa.int64())])


class TopTwo(Function):
    """The two greatest values, with their ranks."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, held: list[int], value: int) -> None:
        held.append(value)

    def retract(self, held: list[int], value: int) -> None:
        held.remove(value)

    def emit_value(self, held: list[int]) -> Iterator[tuple[int, int]]:
        for rank, value in enumerate(sorted(held, reverse=True)[:2], start=1):
            yield value, rank


def aggregate(changes: list[Any]) -> TableAggregate:
    return TableAggregate(
        name="top two",
        inputs=(keyed(relation(SCHEMA, changes), 0),),
        columns=pa.schema([*SCHEMA, ("rank", pa.int32())]),
        mode=ChangelogMode.RETRACT,
        call=AggregateCall(TopTwo(), (1,)),
        retracting=any(kind != "+I" for kind, *_ in changes),
    )


@pytest.mark.parametrize("cut", [1, 100])
def test_a_table_aggregate_replaces_the_rows_of_its_group(cut: int) -> None:
    changes = [("+I", "a", 1), ("+I", "a", 3), ("-D", "a", 1), ("-D", "a", 3), ("-D", "a", 3)]
    assert changes_of(aggregate(changes), cut, crash=[1], restart=[2]) == [
        ("+I", "a", 1, 1),
        ("-D", "a", 1, 1),
        ("+I", "a", 3, 1),
        ("+I", "a", 1, 2),
        ("-D", "a", 3, 1),
        ("-D", "a", 1, 2),
        ("+I", "a", 3, 1),
        ("-D", "a", 3, 1),
    ]


def test_a_table_aggregate_that_fails_is_told_with_its_arguments() -> None:
    with pytest.raises(FunctionError, match=r"(?s)not in list.*top two.*\(9,\)"):
        changes_of(aggregate([("+I", "a", 1), ("-D", "a", 9)]))


class Names(Function):
    """Finds two names for "a", none for others."""

    def lookup(self, keys: pa.RecordBatch) -> tuple[pa.RecordBatch, list[int]]:
        found, of = [], []
        for at, key in enumerate(keys.column(0).to_pylist()):
            if key == "a":
                found += [("Ann", 1), ("Abe", 2)]
                of += [at, at]
            elif key == "fail":
                raise ConnectionError("the database is away")
        names = [
            pa.array([row[n] for row in found], kind)
            for n, kind in enumerate((pa.string(), pa.int64()))
        ]
        return pa.RecordBatch.from_arrays(names, names=["name", "id"]), of


def lookup(changes: list[Any], **options: Any) -> LookupJoin:
    return LookupJoin(
        name="look up",
        inputs=(relation(SCHEMA, changes),),
        columns=pa.schema([*SCHEMA, ("name", pa.string()), ("id", pa.int64())]),
        mode=ChangelogMode.RETRACT,
        lookup=Names(),
        keys=(InputRef(0, DataTypes.STRING()),),
        **options,
    )


def test_a_lookup_join_keeps_the_order_of_rows() -> None:
    changes = [("+I", "a", 1), ("+I", "b", 2), ("+I", None, 3), ("-D", "a", 1)]
    assert changes_of(lookup(changes)) == [
        ("+I", "a", 1, "Ann", 1),
        ("+I", "a", 1, "Abe", 2),
        ("-D", "a", 1, "Ann", 1),
        ("-D", "a", 1, "Abe", 2),
    ]
    above = lookup(changes, left=True, condition=lambda c, _: pc.greater(c.column(3), 1))
    assert changes_of(above, 2) == [
        ("+I", "a", 1, "Abe", 2),
        ("+I", "b", 2, None, None),
        ("+I", None, 3, None, None),
        ("-D", "a", 1, "Abe", 2),
    ]


def test_a_lookup_that_fails_names_the_operator() -> None:
    with pytest.raises(FunctionError, match=r"(?s)the database is away.*look up"):
        changes_of(lookup([("+I", "fail", 1)]))


def test_typed_expressions_are_compiled() -> None:
    node = Calc(
        name="calc",
        inputs=(relation(SCHEMA, [("+I", "a", 1)]),),
        columns=pa.schema([("n", pa.int64())]),
        projections=(InputRef(1, DataTypes.BIGINT()),),
    )
    assert changes_of(node) == [("+I", 1)]
