"""Change events in JSON: what tools that follow the log of a database write to Kafka.

Each message is an event: what was done, and the rows before and after it. Formats differ in names
only; :class:`ChangeEventDecoding` and :class:`ChangeEventEncoding` have the rest. Reading, an
update becomes two rows; writing, as Flink does, each row becomes an event of its own, an insertion
or a deletion.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from scurry.common.changelog import ChangelogMode
from scurry.common.data_types import RowType
from scurry.common.types import RowKind
from scurry.connectors.row_formats.contract import (
    DecodedRows,
    DecodingFormat,
    EncodingFormat,
    Kinds,
    columns_of,
    each_message,
)
from scurry.connectors.row_formats.json import JsonEncoding
from scurry.connectors.row_formats.values import SQL, read_column

__all__ = ["Change", "ChangeEventDecoding", "ChangeEventEncoding", "whole_old_row"]

#: A row as JSON has it, and what has become of it.
Change = tuple[Any, RowKind]
_TAKEN_BACK = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


class ChangeEventDecoding(DecodingFormat):
    """Reads each message as one event. An empty message, as Kafka has it for a key that is gone,
    means nothing."""

    changelog = ChangelogMode.RETRACT

    def __init__(
        self, row_type: RowType, ignore_parse_errors: bool = False, timestamps: str = SQL
    ) -> None:
        super().__init__(row_type, ignore_parse_errors)
        self._timestamps = timestamps

    @abstractmethod
    def changes(self, event: Any) -> list[Change]:
        """What an event says; raises ValueError, TypeError or KeyError if it makes no sense."""

    def decode(self, messages: Sequence[bytes]) -> DecodedRows:
        events, places = each_message(messages, self._read, self.ignore, _explain)
        rows = [row for event in events for row, _ in event]
        kinds = [kind.value for event in events for _, kind in event]
        origin = [place for place, event in zip(places, events, strict=True) for _ in event]
        return DecodedRows(
            self._columns(rows),
            np.array(kinds, dtype=np.int8),
            np.array(origin, dtype=np.int64),
        )

    def _read(self, message: bytes) -> list[Change]:
        if not message:
            return []
        event = msgspec.json.decode(message)
        if not isinstance(event, dict):
            raise ValueError("not a change event (it is no object)")
        found = self.changes(event)
        for row, _ in found:
            if not isinstance(row, dict):
                raise ValueError(f"a row of a change event is an object, got {row!r}")
        self._columns([row for row, _ in found])
        return found

    def _columns(self, rows: list[dict[str, Any]]) -> pa.RecordBatch:
        lists = [
            read_column(
                [row.get(field.name) for row in rows],
                field.data_type,
                self._timestamps,
                self.ignore,
            )
            for field in self.row_type
        ]
        return columns_of(self.row_type, lists)


class ChangeEventEncoding(EncodingFormat):
    """Writes an event for each row: an insertion for one that is new, a deletion for one that is
    taken back."""

    changelog = ChangelogMode.RETRACT

    def __init__(
        self, row_type: RowType, timestamps: str = SQL, ignore_nulls: bool = False
    ) -> None:
        super().__init__(row_type)
        self._ignore_nulls = ignore_nulls
        self._json = JsonEncoding(row_type, timestamps, True, ignore_nulls)

    @abstractmethod
    def event(self, row: Any, gone: bool) -> dict[str, Any]:
        """The event for a row."""

    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        rows = self._json.objects(columns)
        gone = np.zeros(len(rows), dtype=bool) if kinds is None else np.isin(kinds, _TAKEN_BACK)
        encode = msgspec.json.Encoder(decimal_format="number").encode
        events = [self.event(row, out) for row, out in zip(rows, gone.tolist(), strict=True)]
        if self._ignore_nulls:
            events = [{k: v for k, v in event.items() if v is not None} for event in events]
        return [encode(event) for event in events]


def whole_old_row(old: Any, new: Any) -> Any:
    """The row before an update, of which ``old`` has those columns only that have changed."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        raise ValueError(f"a row of a change event is an object, got {old!r} and {new!r}")
    return {**new, **old}


def _explain(failure: Exception) -> str:
    if isinstance(failure, KeyError):
        return f"not a change event (there is no {failure.args[0]!r})"
    if isinstance(failure, msgspec.DecodeError):
        return f"not JSON ({failure})"
    return str(failure) or "not a change event"
