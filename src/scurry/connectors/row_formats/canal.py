"""Canal's change events in JSON.

``type`` says what happened, ``data`` has the rows, several perhaps, and ``old`` the former values
of the columns that an update has changed. Events that define tables are passed over.
"""

from __future__ import annotations

import re
from typing import Any

from scurry.common.data_types import RowType
from scurry.common.types import RowKind
from scurry.connectors.row_formats.change_events import (
    Change,
    ChangeEventDecoding,
    ChangeEventEncoding,
    whole_old_row,
)
from scurry.connectors.row_formats.values import SQL

__all__ = ["CanalDecoding", "CanalEncoding"]

_KINDS = {"INSERT": RowKind.INSERT, "DELETE": RowKind.DELETE}


class CanalDecoding(ChangeEventDecoding):
    """``database`` and ``table`` are patterns: events of others are passed over."""

    def __init__(
        self,
        row_type: RowType,
        ignore_parse_errors: bool = False,
        timestamps: str = SQL,
        database: re.Pattern[str] | None = None,
        table: re.Pattern[str] | None = None,
    ) -> None:
        super().__init__(row_type, ignore_parse_errors, timestamps)
        self._wanted = {
            key: pattern
            for key, pattern in (("database", database), ("table", table))
            if pattern is not None
        }

    def changes(self, event: Any) -> list[Change]:
        for key, pattern in self._wanted.items():
            if pattern.fullmatch(event[key]) is None:
                return []
        what = event["type"]
        if what == "CREATE":
            return []
        if what in _KINDS:
            return [(row, _KINDS[what]) for row in event["data"]]
        if what != "UPDATE":
            raise ValueError(f"Canal's type is INSERT, UPDATE, DELETE or CREATE, got {what!r}")
        found: list[Change] = []
        for old, new in zip(event["old"], event["data"], strict=True):
            found.append((whole_old_row(old, new), RowKind.UPDATE_BEFORE))
            found.append((new, RowKind.UPDATE_AFTER))
        return found


class CanalEncoding(ChangeEventEncoding):
    """One row an event."""

    def event(self, row: Any, gone: bool) -> dict[str, Any]:
        return {"data": [row], "type": "DELETE" if gone else "INSERT"}
