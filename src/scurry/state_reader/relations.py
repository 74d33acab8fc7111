"""Tables of operators of SQL, as tables of Arrow: typed values of keys, rows of keys, windows.

What such an operator keeps is packed by types that are part of the plan. The operator says of each
table what is in it (:mod:`scurry.state.table_forms`), and here it is unpacked by that. Tables of
rows and of windows are read by the operators' own classes, out of a store in memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.key_forms import key_of_form
from scurry.functions.aggregate_calls import AggregateCall
from scurry.runtime.columnar.partials import Columns, concat
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columnar.row_sets import unpacked_page
from scurry.runtime.columnar.row_table import TABLES_OF_ROWS, RowTable
from scurry.runtime.relational.keyed import ROWS_OF_KEYS, VALUES_OF_KEYS
from scurry.runtime.relational.window_aggregate import START, key_columns
from scurry.runtime.relational.window_partials import ROWS, WindowPartials, rows_of
from scurry.runtime.windowing.slices import SLICED_COLUMNS
from scurry.runtime.windowing.vectorised.column_slices import ColumnSlices, whole_part
from scurry.runtime.windowing.vectorised.session_columns import SessionColumns
from scurry.state.codecs.encoding import decode
from scurry.state.codecs.records import STAMPED
from scurry.state.journal import is_whole
from scurry.state.local.memory import MemoryStore
from scurry.state.local.store import Commit
from scurry.state.slot_store import SlotStore
from scurry.state.stored_tables import Records, StoredJournal
from scurry.state.table_forms import TableForm, unpacked_schema
from scurry.state_reader.columns import Fallback, column
from scurry.state_reader.tables import Made, as_table

#: Bytes of the time in front of a record with a time to live; of others there is one byte.
_STAMP = 9
_BIAS = 1 << 63
_WINDOW = pa.struct([("start", pa.int64()), ("end", pa.int64())])


def read_relation(
    journals: Iterable[StoredJournal], uid: str, form: TableForm, groups: int, fallback: Fallback
) -> pa.Table:
    """All that a table of an operator of SQL holds; ``groups`` is the number of key groups."""
    name = f"{uid}\x1f{form.table}"
    slots = [records for each in journals if (records := each.tables([name])[name])]
    if form.table.startswith(VALUES_OF_KEYS):
        return _values(slots, form, fallback)
    if form.table.startswith(ROWS_OF_KEYS):
        return _rows(slots, form)
    if form.table.startswith(TABLES_OF_ROWS):
        return _rows_in_columns(slots, name, form, groups)
    parts = [_windows(_store(records, name, groups), name, form) for records in slots]
    if not parts:
        parts = [_window_table([], np.zeros((2, 0), dtype=np.int64), {}, form)]
    return pa.concat_tables(parts)


def comparable(table: pa.Table, form: TableForm) -> pa.Table:
    """The table with two columns, so that it can be compared with another one: keys (and windows)
    with all else, or where rows have no keys of their own, rows with how often each is there."""
    count = len(unpacked_schema(form.keys))
    count += "window" in table.column_names[count : count + 1]
    if count and not form.table.startswith((ROWS_OF_KEYS, TABLES_OF_ROWS)):
        parts = table.select(range(count)), table.select(range(count, table.num_columns))
        return pa.table({"key": _struct(parts[0]), "value": _struct(parts[1])})
    every = list(map(repr, table.to_pylist()))
    first = {row: at for at, row in reversed(list(enumerate(every)))}
    times = Counter(every)
    once = table.take(pa.array(sorted(first.values()), pa.int64()))
    counts = [times[every[at]] for at in sorted(first.values())]
    return pa.table({"key": _struct(once), "value": pa.array(counts, pa.int64())})


def _struct(table: pa.Table) -> pa.Array:
    """All columns as one."""
    columns = [one.combine_chunks() for one in table.columns]
    if len(columns) == 1:
        return columns[0]
    return pa.StructArray.from_arrays(columns, fields=list(table.schema))


# --- values of keys


def _values(slots: Sequence[Records], form: TableForm, fallback: Fallback) -> pa.Table:
    found = sorted((item for records in slots for item in records.items()), key=lambda i: i[0])
    heads = [_STAMP if record[0] == STAMPED else 1 for _, record in found]
    objects = [name for name, kind in form.values if kind == _OBJECT]
    fixed = np.dtype([(name, kind) for name, kind in form.values if kind != _OBJECT])
    width = fixed.itemsize
    bodies = [record[at:] for at, (_, record) in zip(heads, found, strict=True)]
    rows = np.frombuffer(b"".join(body[:width] for body in bodies), dtype=fixed) if width else None
    held = list(zip(*(decode(body[width:]) for body in bodies), strict=True)) if objects else []
    made = _keys([address[2:] if is_whole(address) else b"" for address, _ in found], form)
    for name, kind in form.values:
        if kind != _OBJECT:
            assert rows is not None
            made.append((pa.array(rows[name]), pa.field(name, pa.from_numpy_dtype(fixed[name]))))
            continue
        values = held[objects.index(name)] if held else ()
        if name == "row" and form.rows:
            made += _decoded(values, unpacked_schema(form.rows))
        else:
            shown = column(values, fallback=fallback)
            made.append((shown.values, shown.field(name)))
    if STAMPED in {record[0] for _, record in found}:
        times = [
            _time(r) if at == _STAMP else None for at, (_, r) in zip(heads, found, strict=True)
        ]
        made.append((pa.array(times, pa.int64()), pa.field("written", pa.int64())))
    return as_table(_unique(made))


#: How numpy calls the type of Python objects.
_OBJECT = np.dtype(object).str


def _time(record: bytes) -> int:
    return int.from_bytes(record[1:_STAMP], "big") - _BIAS


def _decoded(rows: Sequence[Any], schema: pa.Schema) -> list[Made]:
    """Rows as columns; those that are None or empty as nulls."""
    there = [number for number, row in enumerate(rows) if row]
    columns = RowCodec(schema).decode([rows[number] for number in there]) if there else []
    place = np.full(len(rows), -1, dtype=np.int64)
    place[there] = np.arange(len(there))
    index = pa.array(place, mask=place < 0)
    if not columns:
        return [(pa.nulls(len(rows), field.type), field) for field in schema]
    return [(one.take(index), field) for one, field in zip(columns, schema, strict=True)]


# --- rows of keys


def _rows(slots: Sequence[Records], form: TableForm) -> pa.Table:
    keys, rows, numbers = list[bytes](), list[bytes](), list[list[int]]()
    for address, record in sorted(item for records in slots for item in records.items()):
        end = 4 + int.from_bytes(address[2:4], "big")
        for row, (_, *beside) in unpacked_page(record)[1].items():
            keys.append(address[4:end])
            rows.append(row[form.skipped :])
            numbers.append(beside)
    made = _keys(keys, form) + _decoded(rows, unpacked_schema(form.rows))
    wide = max(map(len, numbers), default=len(form.numbers))
    # with a time to live the last number is the time of the last write
    titles = [*form.numbers, "written"][:wide]
    for at, title in enumerate(titles):
        values = [each[at] if at < len(each) else None for each in numbers]
        made.append((pa.array(values, pa.int64()), pa.field(title, pa.int64())))
    return as_table(_unique(made))


def _rows_in_columns(slots: Sequence[Records], name: str, form: TableForm, groups: int) -> pa.Table:
    schema, parts = unpacked_schema(form.rows), list[pa.Table]()
    fields = _unique([(None, field) for field in schema])
    numbered = [pa.field(title, pa.int64()) for title in form.numbers]
    titles = pa.schema([field for _, field in fields] + numbered)
    for records in slots:
        store = _store(records, name, groups)
        table = RowTable(name, store, schema, (), bool(form.numbers))
        table.begin()
        found = table.every()
        beside = [pa.array(numbers) for numbers in found.numbers[: len(form.numbers)]]
        parts.append(pa.table([*found.columns, *beside], schema=titles))
    return pa.concat_tables(parts) if parts else titles.empty_table()


# --- windows


def _windows(store: SlotStore, name: str, form: TableForm) -> pa.Table:
    if form.table == SLICED_COLUMNS:
        slices = ColumnSlices(name, store)
        ends = slices.begin() or []
        parts = [whole_part(slices.parts([end])) for end in ends]
        sizes = [len(part.codes) for part in parts]
        held = concat([part.columns for part in parts], sizes) if parts else {}
        codes = np.concatenate([part.codes for part in parts]) if parts else _NONE
        bounds = np.stack([held.get(START, _NONE), np.repeat(np.array(ends, np.int64), sizes)])
        return _window_table(slices.keys.results(codes), bounds, held, form)
    sessions = SessionColumns(name, store, form.gap, 0)
    sessions.load(-_BIAS)
    open_ = sessions.open
    bounds = np.stack([open_.starts, open_.lasts + 1])
    return _window_table(sessions.keys.results(open_.codes), bounds, open_.columns, form)


_NONE = np.zeros(0, dtype=np.int64)


def _window_table(keys: Any, bounds: Any, held: Columns, form: TableForm) -> pa.Table:
    """A row for each key and window: its keys, the window, and the results so far, or the rows."""
    schema, keyed = unpacked_schema(form.rows), unpacked_schema(form.keys)
    size = bounds.shape[1]
    columns = key_columns(keys, tuple(range(len(keyed))), keyed) if size else _empty(keyed)
    made: list[Made] = list(zip(columns, keyed, strict=True))
    window = pa.StructArray.from_arrays([pa.array(one) for one in bounds], fields=list(_WINDOW))
    made.append((window, pa.field("window", _WINDOW)))
    results = unpacked_schema(form.results)
    if form.calls or not size:
        calls = [
            AggregateCall(call.function, tuple(call.arguments), field.type, filter=call.filter)
            for call, field in zip(form.calls, results, strict=True)
        ]
        partials = WindowPartials(calls, schema, form.retracting)
        values = partials.results(held, size) if size else _empty(results)
        made += [(v.cast(f.type), f) for v, f in zip(values, results, strict=True)]
    elif ROWS in held:
        made.append(_lists([rows_of(one, form.retracting) for one in held[ROWS].tolist()], schema))
    return as_table(_unique(made))


def _lists(lists: list[list[bytes]], schema: pa.Schema) -> Made:
    decoded = _decoded([row for rows in lists for row in rows], schema)
    flat = pa.StructArray.from_arrays([one for one, _ in decoded], fields=[f for _, f in decoded])
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int32)
    made = pa.ListArray.from_arrays(pa.array(offsets), flat)
    return made, pa.field("rows", made.type)


def _empty(schema: pa.Schema) -> list[pa.Array]:
    return [pa.array([], kind) for kind in schema.types]


# --- what they have in common


def _store(records: Records, name: str, groups: int) -> SlotStore:
    local = MemoryStore()
    local.apply(Commit(None, b"read", [(name, list(records), list(records.values()))]))
    return SlotStore(local, groups)


def _keys(forms: Sequence[bytes], form: TableForm) -> list[Made]:
    """The columns of keys, given the keys' canonical forms; keys that are too long to be kept in
    full are null."""
    schema = unpacked_schema(form.keys)
    if not len(schema):
        return []
    keys = [key_of_form(each) for each in forms]
    if len(schema) > 1:
        none = (None,) * len(schema)
        columns = [list(one) for one in zip(*(key or none for key in keys), strict=True)]
    else:
        columns = [keys]
    columns = columns or [[] for _ in schema]
    return [_typed(values, field) for values, field in zip(columns, schema, strict=True)]


def _typed(values: list[Any], field: pa.Field) -> Made:
    """Values of keys, which are the simplest among their equals, as those of a column's type."""
    kind = field.type
    if pa.types.is_decimal(kind):
        values = [None if one is None else _decimal(one, kind.scale) for one in values]
    elif pa.types.is_boolean(kind):
        values = [None if one is None else bool(one) for one in values]
    elif pa.types.is_floating(kind):
        values = [None if one is None else float(one) for one in values]
    try:
        return pa.array(values, kind), field
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        shown = column(values)
        return shown.values, shown.field(field.name)


def _decimal(value: Any, scale: int) -> Decimal:
    ratio = Fraction(value)
    return Decimal(round(ratio * 10**scale)).scaleb(-scale)


def _unique(columns: list[Made]) -> list[Made]:
    """The same with names of which each is there once."""
    return list(_renamed(columns))


def _renamed(columns: list[Made]) -> Iterator[Made]:
    seen = set[str]()
    for values, field in columns:
        name, number = field.name, 2
        while name in seen:
            name, number = f"{field.name} {number}", number + 1
        seen.add(name)
        yield values, field.with_name(name)
