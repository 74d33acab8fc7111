"""Maxwell's change events in JSON.

``type`` says what happened, ``data`` has the row, and ``old`` the former values of the columns that
an update has changed.
"""

from __future__ import annotations

from typing import Any

from scurry.common.types import RowKind
from scurry.connectors.row_formats.change_events import (
    Change,
    ChangeEventDecoding,
    ChangeEventEncoding,
    whole_old_row,
)

__all__ = ["MaxwellDecoding", "MaxwellEncoding"]

_KINDS = {"insert": RowKind.INSERT, "delete": RowKind.DELETE}


class MaxwellDecoding(ChangeEventDecoding):
    """One row an event."""

    def changes(self, event: Any) -> list[Change]:
        what, new = event["type"], event["data"]
        if what in _KINDS:
            return [(new, _KINDS[what])]
        if what != "update":
            raise ValueError(f"Maxwell's type is insert, update or delete, got {what!r}")
        old = whole_old_row(event["old"], new)
        return [(old, RowKind.UPDATE_BEFORE), (new, RowKind.UPDATE_AFTER)]


class MaxwellEncoding(ChangeEventEncoding):
    """One row an event."""

    def event(self, row: Any, gone: bool) -> dict[str, Any]:
        return {"data": row, "type": "delete" if gone else "insert"}
