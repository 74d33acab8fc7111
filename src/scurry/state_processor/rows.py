"""Data in whatever form as rows, and values of Arrow as values of a declared type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from scurry.common.row_types import NamedTupleTypeInfo, RowTypeInfo, TupleTypeInfo
from scurry.common.type_information import TypeInformation
from scurry.common.types import Row
from scurry.state.codecs.declared import declared_type

_AT_ONCE = 10_000


def elements(data: Any) -> Iterable[Any]:
    """The elements of ``data``: rows, if it is a table of whatever kind."""
    if isinstance(data, (pa.Table, pa.RecordBatchReader)) or _is_frame(data):
        return (Row(**row) for row in dicts(data))
    found: Iterable[Any] = data
    return found


def _is_frame(data: Any) -> bool:
    return hasattr(data, "toLocalIterator") or hasattr(data, "to_records")


def dicts(data: Any) -> Iterator[dict[str, Any]]:
    """The rows of a table of Arrow, pandas or Spark, or dicts as they are."""
    if hasattr(data, "toLocalIterator"):
        # a DataFrame of Spark, of which one partition at a time is here
        for row in data.toLocalIterator(prefetchPartitions=True):
            yield row.asDict(recursive=True)
        return
    if hasattr(data, "to_records"):
        data = pa.Table.from_pandas(data, preserve_index=False)
    if isinstance(data, (pa.Table, pa.RecordBatchReader)):
        batches = data.to_batches(_AT_ONCE) if isinstance(data, pa.Table) else data
        for batch in batches:
            yield from batch.to_pylist()
        return
    yield from data


def typed(value: Any, info: TypeInformation | None) -> Any:
    """A value out of a table as one of the declared type: structs have become dicts, and maps
    lists of pairs."""
    if value is None or info is None:
        return value
    if isinstance(value, dict) and isinstance(info, (TupleTypeInfo, NamedTupleTypeInfo)):
        value = tuple(value.values())
    if isinstance(value, dict) and isinstance(info, RowTypeInfo):
        return Row(**value)
    declared = declared_type(info)
    if declared is None or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list) and value and isinstance(value[0], tuple):
        value = dict(value)
    return declared.converted(value)
