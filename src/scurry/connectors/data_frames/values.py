"""Elements of a stream as Arrow columns of a given schema.

Elements may be rows, tuples, dicts, named tuples, dataclasses or, for a schema of one column, bare
values; the same inside structs. Spark's two kinds of timestamps are kept apart: a column of points
in time takes no time without a zone, since nobody can know which zone was meant, and a column
without zone takes none that has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

from scurry.common.errors import TypeMismatchError, shorten
from scurry.common.time import Instant
from scurry.connectors.records import values_of
from scurry.runtime.columns import VALUE

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class FrameColumns:
    """Makes columns of one schema."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def columns(self, rows: list[Any], columns: pa.RecordBatch | None) -> pa.RecordBatch:
        """The columns of records; those they are held in, if these fit."""
        if columns is not None and self.fits(columns.schema):
            return columns.select(self.schema.names).cast(self.schema)
        values = [self._values(row) for row in rows]
        arrays = [self._array(values, at, field) for at, field in enumerate(self.schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def fits(self, held: pa.Schema) -> bool:
        """Whether columns of the schema ``held`` become columns of this one by a cast."""
        if not set(self.schema.names) <= set(held.names):
            return False
        return all(_castable(held.field(field.name).type, field.type) for field in self.schema)

    def _values(self, row: Any) -> Sequence[Any]:
        if self.schema.names == [VALUE] and not hasattr(row, VALUE):
            return (row,)
        return values_of(row, self.schema.names)

    def _array(self, rows: list[Sequence[Any]], at: int, field: pa.Field) -> pa.Array:
        try:
            return pa.array([_plain(field.type, row[at]) for row in rows], field.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError) as failure:
            for row in rows:
                fault = _fault(field.type, row[at])
                if fault is not None:
                    raise TypeMismatchError(
                        f"the column {field.name!r} of the DataFrame is {field.type}, and "
                        f"{shorten(row[at])} does not fit: {fault}"
                    ) from None
            raise TypeMismatchError(f"the column {field.name!r}: {failure}") from None


def _fault(kind: pa.DataType, value: Any) -> str | None:
    try:
        pa.array([_plain(kind, value)], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as failure:
        return str(failure)
    return None


def _castable(held: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a cast keeps the meaning; one that only loses or invents a time zone does not."""
    if pa.types.is_timestamp(held) and pa.types.is_timestamp(wanted):
        return (held.tz is None) == (wanted.tz is None)
    return not pa.types.is_nested(wanted) or held == wanted


def _plain(kind: pa.DataType, value: Any) -> Any:
    """A value in the shape that pyarrow takes for ``kind``."""
    if value is None:
        return None
    if pa.types.is_timestamp(kind):
        return _moment(kind, value)
    if pa.types.is_struct(kind):
        fields = list(kind)
        values = values_of(value, [field.name for field in fields])
        return {f.name: _plain(f.type, v) for f, v in zip(fields, values, strict=True)}
    if pa.types.is_map(kind):
        pairs: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else value
        return [(_plain(kind.key_type, k), _plain(kind.item_type, v)) for k, v in pairs]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [_plain(kind.value_type, item) for item in value]
    return value


def _moment(kind: pa.TimestampType, value: Any) -> Any:
    if isinstance(value, Instant):
        value = _EPOCH + timedelta(seconds=value.seconds, microseconds=value.nanos // 1000)
    if not isinstance(value, datetime):
        raise TypeError(f"expected a datetime, got {type(value).__name__}")
    if kind.tz is not None and value.tzinfo is None:
        raise TypeError(
            "it has no time zone: give it one, or make the column a timestamp_ntz (SQL_TIMESTAMP)"
        )
    if kind.tz is None and value.tzinfo is not None:
        raise TypeError(
            "it has a time zone: make the column a timestamp (TIMESTAMP_LTZ), or drop the zone"
        )
    return value
