"""Oracle GoldenGate's change events in JSON.

``op_type`` says what happened: ``I`` (inserted), ``U`` (updated), ``D`` (deleted); ``before`` and
``after`` hold the row. ``T``, a table that was emptied, names no rows and is refused, as in Flink.
"""

from __future__ import annotations

from typing import Any

from scurry.common.types import RowKind
from scurry.connectors.row_formats.change_events import (
    Change,
    ChangeEventDecoding,
    ChangeEventEncoding,
)

__all__ = ["OggDecoding", "OggEncoding"]

_PARTS: dict[str, tuple[tuple[str, RowKind], ...]] = {
    "I": (("after", RowKind.INSERT),),
    "U": (("before", RowKind.UPDATE_BEFORE), ("after", RowKind.UPDATE_AFTER)),
    "D": (("before", RowKind.DELETE),),
}


class OggDecoding(ChangeEventDecoding):
    """One row an event."""

    def changes(self, event: Any) -> list[Change]:
        what = event["op_type"]
        if what not in _PARTS:
            raise ValueError(f"the op_type of GoldenGate is I, U or D, got {what!r}")
        found = []
        for part, kind in _PARTS[what]:
            row = event.get(part)
            if row is None:
                raise ValueError(
                    f"the change event has op_type {what!r} but {part!r} is null; have GoldenGate "
                    "write the whole rows before updates and deletions"
                )
            found.append((row, kind))
        return found


class OggEncoding(ChangeEventEncoding):
    """One row an event."""

    def event(self, row: Any, gone: bool) -> dict[str, Any]:
        if gone:
            return {"before": row, "after": None, "op_type": "D"}
        return {"before": None, "after": row, "op_type": "I"}
