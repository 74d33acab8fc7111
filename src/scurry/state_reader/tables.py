"""Rows of a state as a table of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from scurry.common.keys import thaw_all
from scurry.state.codecs.plain import entry_schema, value_schema
from scurry.state.codecs.schema import Schema
from scurry.state.codecs.schemas import SchemaRow
from scurry.state_reader.columns import Column, Fallback, column
from scurry.state_reader.rows import StateRow

#: What the columns of the times of last writes hold: milliseconds since 1970.
_TIME = pa.int64()


#: Rows of Python objects that are in memory at once.
AT_ONCE = 200_000


def state_table(
    rows: Callable[[], Iterator[StateRow]], row: SchemaRow, fallback: Fallback
) -> pa.Table:
    """The table of a state, given what was written down about it. Rows become columns part by part,
    unless the parts have different types: then what all values have in common is to be found."""
    listed, parts, places = rows(), list[pa.Table](), list[pa.Array]()
    while part := list(islice(listed, AT_ONCE)):
        parts.append(_part(part, row, fallback))
        places.append(pa.array([each.address for each in part], pa.binary()))
        if not parts[0].schema.equals(parts[-1].schema, check_metadata=True):
            every = sorted(rows(), key=lambda each: each.address)
            return _part(every, row, fallback)
    if not parts:
        return _part([], row, fallback)
    order = pc.sort_indices(pa.chunked_array(places))
    return pa.concat_tables(parts).take(order).combine_chunks()


def _part(rows: list[StateRow], row: SchemaRow, fallback: Fallback) -> pa.Table:
    keys = column(thaw_all([each.key for each in rows]), fallback=fallback)
    declared = value_schema(row, row.versions[-1])
    times = Times([each.times for each in rows], row.lifetime) if row.ttl else None
    if row.kind == "MapState":
        made = _entries(rows, entry_schema(row), declared, times, fallback)
    elif row.kind == "SetState":
        made = _elements([each.entries for each in rows], entry_schema(row), times, fallback)
    elif row.kind in ("ListState", "BagState"):
        made = _elements([each.values for each in rows], declared, times, fallback)
    else:
        made = _single(rows, declared, times, fallback)
    return as_table([(keys.values, keys.field("key")), *made])


#: Values of a column, and its field.
Made = tuple[pa.Array, pa.Field]


def as_table(columns: Sequence[Made]) -> pa.Table:
    """The table of some columns."""
    return pa.table([values for values, _ in columns], schema=pa.schema([f for _, f in columns]))


class Times(NamedTuple):
    """When the values of each key were last written, and how long they live; 0 if that was not
    written down."""

    written: list[list[int | None]]
    lifetime: int

    def columns(self) -> Iterator[tuple[str, pa.Array]]:
        """The columns of times, with the values of all keys one after the other."""
        written = pa.array(chain.from_iterable(self.written), _TIME)
        yield "written", written
        if self.lifetime:
            yield "expires", pc.add(written, self.lifetime)


def _single(
    rows: list[StateRow], schema: Schema, times: Times | None, fallback: Fallback
) -> list[Made]:
    values = column([each.values[0] for each in rows], schema, fallback)
    made = [(values.values, values.field("value"))]
    if times is not None:
        made.extend((found, pa.field(name, _TIME)) for name, found in times.columns())
    return made


def _elements(
    lists: list[list[Any]],
    schema: Schema | None,
    times: Times | None,
    fallback: Fallback,
) -> list[Made]:
    made = [listed("elements", lists, schema, fallback)]
    if times is not None:
        columns = times.columns()
        made.extend(_nested(name, times.written, Column(found)) for name, found in columns)
    return made


def _entries(
    rows: list[StateRow],
    key_schema: Schema | None,
    schema: Schema,
    times: Times | None,
    fallback: Fallback,
) -> list[Made]:
    lists = [each.values for each in rows]
    keys = column(chain.from_iterable(each.entries for each in rows), key_schema, fallback)
    values = column(chain.from_iterable(lists), schema, fallback)
    arrays, fields = [keys.values, values.values], [keys.field("key"), values.field("value")]
    if times is not None:
        for name, found in times.columns():
            arrays.append(found)
            fields.append(pa.field(name, _TIME))
    return [_nested("entries", lists, Column(pa.StructArray.from_arrays(arrays, fields=fields)))]


def listed(name: str, lists: list[list[Any]], schema: Schema | None, fallback: Fallback) -> Made:
    """A column of lists, whose elements have a type in common."""
    return _nested(name, lists, column(chain.from_iterable(lists), schema, fallback))


def _nested(name: str, lists: Sequence[Sequence[Any]], flat: Column) -> Made:
    """Values one after the other, cut into lists as long as ``lists``."""
    offsets = pa.array([0, *accumulate(map(len, lists))], pa.int32())
    made = pa.ListArray.from_arrays(offsets, flat.values)
    return made, flat.field(name, made.type)
