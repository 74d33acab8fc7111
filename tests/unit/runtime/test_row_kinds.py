"""The kinds of records: Rows that are changes stay what they are, as Rows and as columns."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scurry.common import Row, RowKind, Types, WatermarkStrategy
from scurry.common.errors import FunctionError, ScurryError
from scurry.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from scurry.functions.sink import Records, Sink, SinkWriter, WriterContext
from scurry.functions.source import (
    Json,
    ReadPlan,
    ReadRange,
    Source,
    SourceBatch,
    SourceEnumerator,
)
from scurry.runtime.batch import Batch
from scurry.runtime.blobs import decode_batch, encode_batch
from scurry.runtime.columns import ElementCodec
from scurry.runtime.concat import concat
from scurry.testing import collect_local, run_local

KINDS = tuple(RowKind)


def change(number: int) -> Row:
    """A row whose kind follows from its number."""
    return Row.of_kind(KINDS[number % 4], number=number, name=f"n{number}")


CHANGES = [change(number) for number in range(200)]


def columns_of(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([row.as_dict() for row in rows])


def kinds_of(rows: list[Row]) -> Any:
    return np.array([row.get_row_kind().value for row in rows], dtype=np.int8)


def as_columns(rows: list[Row], **beside: Any) -> Batch:
    columns = columns_of(rows)
    codec = ElementCodec.of_schema(columns.schema)
    return Batch(None, columns=columns, codec=codec, kinds=kinds_of(rows), **beside)


class Changelog(Source, SourceEnumerator):
    """Reads the changes as columns with kinds."""

    columnar = True
    max_tasks = 1

    def enumerator(self, parallelism: int) -> SourceEnumerator:
        return self

    def initial_position(self) -> Json:
        return 0

    def plan(self, position: Json, max_records: int) -> ReadPlan:
        end = min(len(CHANGES), position + max_records)
        ranges = [ReadRange("0", [position, end])] if end > position else []
        return ReadPlan(end, ranges, finished=end == len(CHANGES))

    def read(self, what: Json) -> Iterator[SourceBatch]:
        rows = CHANGES[what[0] : what[1]]
        yield SourceBatch(columns=columns_of(rows), kinds=kinds_of(rows))


class Echo(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


def environment(parallelism: int = 2) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)


def changes(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_source(Changelog(), WatermarkStrategy.no_watermarks(), "changes")


def by_number(rows: list[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row["number"])


WAYS: dict[str, Any] = {
    "straight": lambda s: s,
    "by a key that is a column": lambda s: s.key_by(lambda r: r["number"]).process(Echo()),
    "by a key that is computed": lambda s: s.key_by(lambda r: r["number"] % 5).process(Echo()),
    "rebalanced": lambda s: s.rebalance().filter(lambda r: True),
    "as columns after a hop": lambda s: s.rebalance().map_batches(lambda batch: batch),
    "mapped": lambda s: s.map(lambda r: r),
    "mapped to a declared type": lambda s: s.map(
        lambda r: r, Types.ROW_NAMED(["number", "name"], [Types.LONG(), Types.STRING()])
    ),
    "in batches": lambda s: s.map_batches(lambda batch: batch),
    "in batches of Rows": lambda s: s.map(lambda r: r).map_batches(lambda batch: batch),
}


@pytest.mark.parametrize("cuts", [None, 37])
@pytest.mark.parametrize("way", WAYS)
def test_a_change_comes_out_as_the_change_it_was(way: str, cuts: int | None) -> None:
    """Rows are equal if their kinds are, too."""
    assert by_number(collect_local(WAYS[way](changes(environment())), cuts)) == CHANGES


def test_a_filter_keeps_the_kinds_of_what_it_keeps() -> None:
    kept = changes(environment()).filter(lambda r: r["number"] % 3 == 0)
    expected = [row for row in CHANGES if row["number"] % 3 == 0]
    assert by_number(collect_local(kept.map_batches(lambda batch: batch))) == expected


def test_a_union_of_columns_and_rows_keeps_both() -> None:
    env = environment()
    deleted = Row.of_kind(RowKind.DELETE, number=1000, name="gone")
    united = changes(env).union(env.from_collection([deleted, Row(number=1001, name="new")]))
    found = by_number(collect_local(united.key_by(lambda r: r["number"]).process(Echo())))
    assert found == [*CHANGES, deleted, Row(number=1001, name="new")]


def test_what_a_function_returns_is_of_the_kind_it_says() -> None:
    fresh = changes(environment()).map(lambda r: Row(number=r["number"]))
    kinds = {row.get_row_kind() for row in collect_local(fresh)}
    assert kinds == {RowKind.INSERT}


def test_batches_of_changes_cannot_change_in_number() -> None:
    fewer = changes(environment()).map_batches(lambda batch: batch.slice(0, 1))
    words = "200 rows came, among them updates or deletions, and 1 were returned"
    with pytest.raises(FunctionError, match=words):
        collect_local(fewer)


class Seen(Sink):
    """Notes the kinds that its writers see."""

    guarantee = "at-least-once"
    seen: list[Any] = []  # noqa: RUF012 -- writers are pickled copies

    def create_writer(self, context: WriterContext) -> SinkWriter:
        return SeenWriter()


class SeenWriter(SinkWriter):
    def write(self, rows: list[Any]) -> None:
        raise AssertionError("write_records is called instead")

    def write_records(self, records: Records, now: int) -> None:
        held = "rows" if records.columns is None else "columns"
        Seen.seen.append((held, None if records.kinds is None else records.kinds.tolist()))

    def prepare(self) -> Any:
        return None


def test_a_sink_sees_kinds_beside_columns_and_of_rows() -> None:
    env = environment(1)
    changes(env).sink_to(Seen())
    changes(env).map(lambda r: r).sink_to(Seen())
    env.from_collection([(1, 2)]).sink_to(Seen())
    Seen.seen.clear()
    run_local(env)
    kinds = [number % 4 for number in range(200)]
    assert sorted(Seen.seen, key=str) == [("columns", kinds), ("rows", None), ("rows", kinds)]


# --- batches


def test_what_is_made_of_a_batch_has_its_kinds() -> None:
    batch = as_columns(CHANGES)
    index = np.array([7, 3, 3, 199])
    assert batch.take(index).rows == [CHANGES[at] for at in index]
    assert batch.take(index, compact=True).rows == [CHANGES[at] for at in index]
    assert [row for part in batch.slices(64) for row in part.rows] == CHANGES
    assert batch.alias().rows == CHANGES
    assert batch.apart().rows == CHANGES
    assert batch.rewritten([tuple(row) for row in CHANGES]).kinds is not None
    both = concat([as_columns(CHANGES[:5]), Batch(CHANGES[5:])])
    assert (both.columns, both.rows, both.kinds.tolist()) == (
        None,
        CHANGES,
        kinds_of(CHANGES).tolist(),
    )
    plain = concat([as_columns(CHANGES[:5]), as_columns(CHANGES[5:]).alias()])
    assert plain.columns is not None
    assert plain.rows == CHANGES


def test_elements_that_cannot_say_their_kind_have_it_beside_them() -> None:
    columns = columns_of(CHANGES)
    tuples = Batch(
        None, columns=columns, codec=ElementCodec.of_tuples(columns.schema), kinds=kinds_of(CHANGES)
    )
    whole = concat([Batch([(1, "a")]), tuples])
    assert whole.rows[:2] == [(1, "a"), (0, "n0")]
    assert whole.kinds is not None
    assert whole.kinds.tolist() == [0, *kinds_of(CHANGES).tolist()]
    assert decode_batch(encode_batch(whole)).kinds.tolist() == whole.kinds.tolist()


@pytest.mark.parametrize("size", [1, 63, 64, 200])
def test_kinds_survive_the_wire(size: int) -> None:
    rows = CHANGES[-size:]
    stamps = np.arange(size, dtype=np.int64)
    there = decode_batch(encode_batch(as_columns(rows, ts=stamps)))
    assert there.columns is not None
    assert there.rows == rows
    assert decode_batch(encode_batch(Batch(rows))).rows == rows


def test_insertions_have_no_column_of_kinds() -> None:
    inserted = [Row(number=1), Row(number=2)]
    assert Batch(inserted).kinds is None
    batch = as_columns(inserted)
    assert decode_batch(encode_batch(batch)).kinds is None
    plain = Batch(None, columns=batch.columns, codec=batch.codec)
    assert len(encode_batch(plain)) == len(encode_batch(batch))


def test_a_blob_of_another_format_is_refused() -> None:
    with pytest.raises(ScurryError, match="A blob of format 2 met Scurry's format 3"):
        decode_batch(pickle.dumps((2, None, [], None, ())))
