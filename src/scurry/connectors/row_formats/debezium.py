"""Debezium's change events in JSON.

``op`` says what happened to a row of a database: ``c`` (created), ``r`` (read in a snapshot), ``u``
(updated), ``d`` (deleted); ``before`` and ``after`` hold the row. Reading, an update becomes two
rows; writing, as Flink does, each row becomes an event of its own, a creation or a deletion.
"""

from __future__ import annotations

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

__all__ = ["DebeziumDecoding", "DebeziumEncoding"]

_PARTS: dict[str, tuple[tuple[str, RowKind], ...]] = {
    "c": (("after", RowKind.INSERT),),
    "r": (("after", RowKind.INSERT),),
    "u": (("before", RowKind.UPDATE_BEFORE), ("after", RowKind.UPDATE_AFTER)),
    "d": (("before", RowKind.DELETE),),
}
_TAKEN_BACK = (RowKind.UPDATE_BEFORE.value, RowKind.DELETE.value)


class DebeziumDecoding(DecodingFormat):
    """Reads each message as one change event; ``schema_include`` says that the event is under
    ``payload``."""

    changelog = ChangelogMode.RETRACT

    def __init__(
        self,
        row_type: RowType,
        ignore_parse_errors: bool = False,
        schema_include: bool = False,
        timestamps: str = SQL,
    ) -> None:
        super().__init__(row_type, ignore_parse_errors)
        self._schema_include = schema_include
        self._timestamps = timestamps

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

    def _read(self, message: bytes) -> list[tuple[dict[str, Any], RowKind]]:
        content = msgspec.json.decode(message)
        if self._schema_include:
            content = content["payload"]
        op = content["op"]
        if op not in _PARTS:
            raise ValueError(f"a change event has op c, r, u or d, got {op!r}")
        found = []
        for part, kind in _PARTS[op]:
            row = content.get(part)
            if row is None:
                raise ValueError(
                    f"the change event has op {op!r} but {part!r} is null; if the table is in "
                    "Postgres, set its REPLICA IDENTITY to FULL"
                )
            found.append((row, kind))
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


class DebeziumEncoding(EncodingFormat):
    """Writes an event for each row: a creation for one that is new, a deletion for one that is
    taken back."""

    changelog = ChangelogMode.RETRACT

    def __init__(self, row_type: RowType, timestamps: str = SQL) -> None:
        super().__init__(row_type)
        self._json = JsonEncoding(row_type, timestamps)

    def encode(self, columns: pa.RecordBatch, kinds: Kinds | None) -> list[bytes]:
        rows = self._json.objects(columns)
        gone = np.zeros(len(rows), dtype=bool) if kinds is None else np.isin(kinds, _TAKEN_BACK)
        encode = msgspec.json.Encoder(decimal_format="number").encode
        return [
            encode({"before": row, "after": None, "op": "d"})
            if out
            else encode({"before": None, "after": row, "op": "c"})
            for row, out in zip(rows, gone.tolist(), strict=True)
        ]


def _explain(failure: Exception) -> str:
    if isinstance(failure, KeyError):
        return f"not a change event (there is no {failure.args[0]!r})"
    if isinstance(failure, msgspec.DecodeError):
        return f"not JSON ({failure})"
    return str(failure) or "not a change event"
