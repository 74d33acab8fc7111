"""Keyed state in columns: what is written is found again, in every store, however it is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract._slots import SETTINGS, ClockedSlot

from scurry.runtime.columnar.keyed_columns import KeyedColumns
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import RowSets

FIELDS = {"n": np.int64, "x": np.float64, "o": object}


@pytest.fixture(params=sorted(SETTINGS))
def slot(request: Any, tmp_path: Path) -> ClockedSlot:
    return ClockedSlot(tmp_path / "slot", request.param)


def columns(slot: ClockedSlot, retention: int = 0) -> KeyedColumns:
    name = "op\x1f#columns"
    return slot.store.part(
        name, lambda: KeyedColumns(name, slot.store, FIELDS, retention, lambda: slot.now)
    )


def row_sets(slot: ClockedSlot, retention: int = 0) -> RowSets:
    name = "op\x1f#rows"
    return slot.store.part(name, lambda: RowSets(name, slot.store, retention, lambda: slot.now))


def put(table: KeyedColumns, keys: list[Any], numbers: list[int]) -> None:
    places = table.positions(keys)
    table.column("n")[places] = numbers
    table.column("x")[places] = np.array(numbers) / 2
    for place, number in zip(places.tolist(), numbers, strict=True):
        table.column("o")[place] = ["object", number]
    table.touch(places)


def get(table: KeyedColumns, keys: list[Any]) -> list[Any]:
    places = table.positions(keys).tolist()
    return [
        (int(table.column("n")[at]), float(table.column("x")[at]), table.column("o")[at])
        if table.alive[at]
        else None
        for at in places
    ]


KEYS: list[Any] = ["a", 5, -1, None, ("a", 1), 2.5, "long" * 200]


def test_values_are_found_again(slot: ClockedSlot) -> None:
    put(columns(slot), KEYS, list(range(len(KEYS))))
    slot.commit()
    expected = [(n, n / 2, ["object", n]) for n in range(len(KEYS))]
    assert get(columns(slot), KEYS) == expected
    slot.restart()
    assert get(columns(slot), [*KEYS, "other"]) == [*expected, None]


def test_what_is_not_committed_is_lost(slot: ClockedSlot) -> None:
    put(columns(slot), ["a"], [1])
    slot.commit()
    put(columns(slot), ["a", "b"], [2, 3])
    slot.begin()
    assert get(columns(slot), ["a", "b"]) == [(1, 0.5, ["object", 1]), None]


def test_cleared_rows_have_no_records(slot: ClockedSlot) -> None:
    put(columns(slot), ["a", "b"], [1, 2])
    slot.commit()
    table = columns(slot)
    table.clear(table.positions(["a"]))
    slot.commit()
    slot.restart()
    assert get(columns(slot), ["a", "b"]) == [None, (2, 1.0, ["object", 2])]


def test_values_expire(slot: ClockedSlot) -> None:
    put(columns(slot, 100), ["a", "b"], [1, 2])
    slot.commit()
    slot.now = 60
    put(columns(slot, 100), ["b"], [3])
    slot.commit()
    slot.now = 100
    assert get(columns(slot, 100), ["a", "b"]) == [None, (3, 1.5, ["object", 3])]
    slot.commit()
    slot.restart()
    assert get(columns(slot, 100), ["a", "b"]) == [None, (3, 1.5, ["object", 3])]
    slot.now = 1000
    slot.restart()
    assert get(columns(slot, 100), ["b"]) == [None]


def test_expired_values_of_keys_that_never_come_again_are_deleted(slot: ClockedSlot) -> None:
    put(columns(slot, 100), list(range(50)), list(range(50)))
    slot.commit()
    slot.now = 500
    for _ in range(3):
        put(columns(slot, 100), ["other"], [1])
        slot.commit()
    assert slot.records() <= 2


def contents(table: RowSets, keys: list[Any]) -> list[dict[bytes, list[int]]]:
    return [{row: e[1:] for row, e in one.rows.items()} for one in table.of(keys)]


operations = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 200), st.sampled_from("+-=")), max_size=300
)


@pytest.mark.parametrize("backend", sorted(SETTINGS))
@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(operations, st.booleans()), max_size=5))
def test_rows_come_and_go(tmp_path_factory: Any, backend: str, steps: list[Any]) -> None:
    slot = ClockedSlot(tmp_path_factory.mktemp("slot") / "s", backend)
    expected: dict[str, dict[bytes, list[int]]] = {"a": {}, "b": {}}
    for changes, restart in steps:
        sets = dict(zip("ab", row_sets(slot).of(["a", "b"]), strict=True))
        for key, number, what in changes:
            row, mine, model = b"row%d" % number, sets[key], expected[key]
            if what == "-" and row in model:
                mine.remove(row)
                del model[row]
            elif row not in model:
                mine.put(row, number, 7)
                model[row] = [number, 7]
            elif what == "=":
                entry = mine.rows[row]
                entry[2] += 1
                model[row][1] += 1
                mine.changed(entry)
        slot.commit()
        if restart:
            slot.restart()
        assert contents(row_sets(slot), ["a", "b"]) == [expected["a"], expected["b"]]
    slot.store.close(erase=True)


def test_rows_expire_one_by_one(slot: ClockedSlot) -> None:
    (one,) = row_sets(slot, 100).of(["a"])
    one.put(b"x", 1)
    slot.commit()
    slot.now = 50
    (one,) = row_sets(slot, 100).of(["a"])
    one.put(b"y", 1)
    slot.commit()
    slot.now = 100
    slot.restart()
    assert list(row_sets(slot, 100).of(["a"])[0].rows) == [b"y"]


NESTED = pa.struct([("t", pa.timestamp("ns")), ("d", pa.decimal128(5, 1))])
SCHEMA = pa.schema(
    [
        ("i", pa.int32()),
        ("b", pa.bool_()),
        ("s", pa.string()),
        ("y", pa.binary()),
        ("f", pa.float64()),
        ("d", pa.decimal128(20, 3)),
        ("t", pa.timestamp("us", "UTC")),
        ("l", pa.list_(pa.decimal128(5, 1))),
        ("m", pa.map_(pa.string(), pa.int32())),
        ("r", NESTED),
    ]
)
moment = datetime(2024, 5, 6, tzinfo=UTC)
values = st.tuples(
    st.none() | st.integers(-9, 9),
    st.none() | st.booleans(),
    st.none() | st.text(max_size=5),
    st.none() | st.binary(max_size=5),
    st.none() | st.floats(-9, 9),
    st.none() | st.integers(-(10**15), 10**15).map(lambda n: Decimal(n) / 1000),
    st.none() | st.integers(0, 10**9).map(lambda n: moment + timedelta(microseconds=n)),
    st.none() | st.lists(st.none() | st.integers(0, 99).map(lambda n: Decimal(n) / 10), max_size=3),
    st.none()
    | st.dictionaries(st.sampled_from("xyz"), st.integers(0, 9)).map(lambda d: list(d.items())),
    st.none() | st.integers(0, 9).map(lambda n: {"t": n * 1001, "d": Decimal(n)}),
)


@given(st.lists(values, max_size=20), st.integers(0, 3))
def test_rows_are_bytes_and_back(rows: list[Any], skipped: int) -> None:
    lists = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(one, kind) for one, kind in zip(lists, SCHEMA.types, strict=True)]
    batch = pa.RecordBatch.from_arrays(arrays, schema=SCHEMA).slice(skipped)
    codec = RowCodec(SCHEMA)
    encoded = codec.encode(batch.columns)
    made = pa.RecordBatch.from_arrays(codec.decode(encoded), schema=SCHEMA)
    assert made.equals(batch)
    shown = [repr(row) for row in batch.to_pylist()]
    assert len(set(encoded)) == len(set(shown))
