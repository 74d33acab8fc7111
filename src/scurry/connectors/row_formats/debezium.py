"""Debezium's change events in JSON.

``op`` says what happened to a row of a database: ``c`` (created), ``r`` (read in a snapshot), ``u``
(updated), ``d`` (deleted); ``before`` and ``after`` hold the row.
"""

from __future__ import annotations

from typing import Any

from scurry.common.data_types import RowType
from scurry.common.types import RowKind
from scurry.connectors.row_formats.change_events import (
    Change,
    ChangeEventDecoding,
    ChangeEventEncoding,
)
from scurry.connectors.row_formats.values import SQL

__all__ = ["DebeziumDecoding", "DebeziumEncoding"]

_PARTS: dict[str, tuple[tuple[str, RowKind], ...]] = {
    "c": (("after", RowKind.INSERT),),
    "r": (("after", RowKind.INSERT),),
    "u": (("before", RowKind.UPDATE_BEFORE), ("after", RowKind.UPDATE_AFTER)),
    "d": (("before", RowKind.DELETE),),
}


class DebeziumDecoding(ChangeEventDecoding):
    """``schema_include`` says that the event is under ``payload``."""

    def __init__(
        self,
        row_type: RowType,
        ignore_parse_errors: bool = False,
        schema_include: bool = False,
        timestamps: str = SQL,
    ) -> None:
        super().__init__(row_type, ignore_parse_errors, timestamps)
        self._schema_include = schema_include

    def changes(self, event: Any) -> list[Change]:
        if self._schema_include:
            event = event["payload"]
        op = event["op"]
        if op not in _PARTS:
            raise ValueError(f"a change event has op c, r, u or d, got {op!r}")
        found = []
        for part, kind in _PARTS[op]:
            row = event.get(part)
            if row is None:
                raise ValueError(
                    f"the change event has op {op!r} but {part!r} is null; if the table is in "
                    "Postgres, set its REPLICA IDENTITY to FULL"
                )
            found.append((row, kind))
        return found


class DebeziumEncoding(ChangeEventEncoding):
    """An insertion is a creation."""

    def event(self, row: Any, gone: bool) -> dict[str, Any]:
        if gone:
            return {"before": row, "after": None, "op": "d"}
        return {"before": None, "after": row, "op": "c"}
