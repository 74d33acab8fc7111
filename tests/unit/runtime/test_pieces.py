"""The small parts of the engine: columns, blobs, selectors, partitionings, Spark's hash."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scurry.common import Row, Types
from scurry.common.errors import TypeMismatchError
from scurry.common.keys import KeySlots
from scurry.engine.spark.routes import route_values, spark_hash
from scurry.runtime.batch import Batch
from scurry.runtime.blobs import decode_batch, encode_batch
from scurry.runtime.columns import ElementCodec, infer_columns
from scurry.runtime.partitioners import ByKey, Destination
from scurry.runtime.selectors import FieldSelector, Picked, picked_field, picked_key


@dataclass
class Point:
    x: int
    label: str


@pytest.mark.parametrize(
    ("type_info", "rows"),
    [
        (Types.LONG(), [1, -2, None]),
        (Types.STRING(), ["a", None, "ü"]),
        (Types.TUPLE([Types.LONG(), Types.STRING()]), [(1, "a"), (2, None)]),
        (Types.ROW_NAMED(["a"], [Types.DOUBLE()]), [Row(a=1.5), Row(a=2.0)]),
        (Types.DATACLASS(Point), [Point(1, "a"), Point(2, "b")]),
        (Types.LIST(Types.LONG()), [[1, 2], []]),
    ],
    ids=repr,
)
def test_typed_elements_survive_columns_and_the_wire(type_info: Any, rows: list[Any]) -> None:
    codec = ElementCodec.of_type(type_info)
    assert codec is not None
    columns = codec.to_columns(rows)
    assert codec.to_rows(columns) == rows
    sent = decode_batch(encode_batch(Batch(None, columns=columns, codec=codec)))
    assert sent.columns is not None, "columns travel as Arrow"
    assert sent.rows == rows


def test_untyped_elements_travel_pickled_with_keys_and_times() -> None:
    batch = Batch(["a", {"b": 1}, None], keys=[1, 2, 3], ts=np.array([5, 6, 7]), tick=np.arange(3))
    sent = decode_batch(encode_batch(batch))
    assert sent.columns is None
    assert sent.rows == ["a", {"b": 1}, None]
    assert sent.keys == [1, 2, 3]
    assert sent.ts is not None
    assert sent.ts.tolist() == [5, 6, 7]
    assert sent.wm is None


def test_a_row_that_does_not_fit_its_type_is_named() -> None:
    codec = ElementCodec.of_type(Types.TUPLE([Types.LONG(), Types.STRING()]))
    assert codec is not None
    with pytest.raises(TypeMismatchError, match="'oops'"):
        codec.to_columns([(1, "a"), ("oops", "b")])


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        ([1, 2], ["value"]),
        ([(1, "a")], ["f0", "f1"]),
        ([{"u": 1}], ["u"]),
        ([Row(q=1)], ["q"]),
        ([Point(1, "a")], ["x", "label"]),
    ],
)
def test_columns_of_elements_without_a_type(rows: list[Any], names: list[str]) -> None:
    assert infer_columns(rows).schema.names == names


def test_selectors_that_only_pick_a_field_are_recognised() -> None:
    assert picked_field(lambda e: e[0]) == 0
    assert picked_field(lambda e: e["user"]) == "user"
    assert picked_field(lambda e: e.user) == "user"
    assert picked_field(FieldSelector("user")) == "user"
    for other in (
        lambda e: e[0] + 1,
        lambda e: (e[0],),
        lambda e: e,
        lambda e: e[-1],
        lambda e: 5,
        lambda e: e[0] or 1,
        lambda e: e.user.name,
        lambda e: str(e[0]),
        lambda e: e["a"] if e["b"] else e["c"],
        lambda e: len(e),
        lambda e: f"{e[0]}",
        lambda e: hash(e[0]),
        lambda e: e[0] == 1,
    ):
        assert picked_field(other) is None
    assert picked_key(lambda e: (e[0],)) == Picked((0,), composed=True)
    assert picked_key(lambda e: (e.user, e["day"])) == Picked(("user", "day"), composed=True)
    assert picked_key(FieldSelector("user")) == Picked(("user",))
    for other in (lambda e: (e[0], 1), lambda e: (), lambda e: [e[0]], lambda e: (e[0], (e[1],))):
        assert picked_key(other) is None


@given(st.lists(st.tuples(st.integers(), st.text(max_size=3)), min_size=1, max_size=50))
def test_routing_by_column_is_routing_by_record(rows: list[Any]) -> None:
    rows = [(n % (1 << 62), s) for n, s in rows]
    codec = ElementCodec.of_type(Types.TUPLE([Types.LONG(), Types.STRING()]))
    assert codec is not None
    to = Destination(3, 128, 0, 0)
    for field in (0, 1):
        by_row = ByKey(lambda e, field=field: e[field])  # type: ignore[misc]
        by_column = ByKey(lambda e, field=field: e[field], Picked((field,)))  # type: ignore[misc]
        as_rows = {slot: (part.rows, part.keys) for slot, part in by_row.spread(Batch(rows), to)}
        held = Batch(None, columns=codec.to_columns(rows), codec=codec)
        as_columns = {slot: (part.rows, part.keys) for slot, part in by_column.spread(held, to)}
        assert as_rows == as_columns
        slots = KeySlots(3, 128)
        for slot, (_, keys) in as_rows.items():
            assert {slots[key] for key in keys or ()} == {slot}


def test_keys_beyond_63_bits_stay_what_they_are() -> None:
    columns = pa.record_batch({"k": pa.array([2**63 + 5, 1], pa.uint64())})
    batch = Batch(None, columns=columns, codec=ElementCodec.of_form("tuples", columns.schema))
    parts = dict(ByKey(lambda e: e[0], Picked((0,))).spread(batch, Destination(3, 128, 0, 0)))
    slots = KeySlots(3, 128)
    found = {key: slot for slot, part in parts.items() for key in part.keys or ()}
    assert found == {key: slots[key] for key in (2**63 + 5, 1)}


def test_sparks_hash_and_routes() -> None:
    # values of Spark's hash(int) function, from SELECT hash(0), hash(1), hash(-1), hash(42)
    assert [spark_hash(v) for v in (0, 1, 42)] == [933211791, -559580957, 29417773]
    for slots in (1, 2, 3, 7, 16):
        routes = route_values(slots)
        assert [spark_hash(value) % slots for value in routes] == list(range(slots))


def test_field_selectors_work_on_every_kind_of_element() -> None:
    assert FieldSelector("x")(Point(3, "a")) == 3
    assert FieldSelector("x")({"x": 4}) == 4
    assert FieldSelector(1)((5, 6)) == 6
    assert FieldSelector("n")(Row(n=7)) == 7
    with pytest.raises(AttributeError):
        FieldSelector("nope")(Point(1, "a"))


def test_an_arrow_batch_reaches_the_stage_as_columns() -> None:
    columns = pa.RecordBatch.from_pydict({"k": [1, 2, 3, 4], "v": ["a", "b", "c", "d"]})
    batch = Batch(None, columns=columns, codec=ElementCodec.of_schema(columns.schema))
    parts = dict(ByKey(lambda e: e.k, Picked(("k",))).spread(batch, Destination(2, 128, 0, 0)))
    assert all(part.columns is not None for part in parts.values())
    assert sorted(row.v for part in parts.values() for row in part.rows) == ["a", "b", "c", "d"]
