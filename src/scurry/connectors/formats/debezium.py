"""Debezium's change events as changelog rows.

Debezium writes what happens to the rows of a database table: ``op`` is ``c`` (created), ``r`` (read
in a snapshot), ``u`` (updated) or ``d`` (deleted), ``before`` and ``after`` hold the row. An update
becomes two rows: the old one taken back and the new one.
"""

from __future__ import annotations

import msgspec

from scurry.common.changelog import ChangelogMode
from scurry.common.errors import ProgramError, TypeMismatchError
from scurry.common.row_types import RowTypeInfo
from scurry.common.serialization import DeserializationSchema
from scurry.common.type_information import TypeInformation, describe
from scurry.common.types import Row, RowKind
from scurry.connectors.formats.json import JsonRowDeserializationSchema

__all__ = ["DebeziumJsonDeserializationSchema"]


class _Event(msgspec.Struct):
    op: str
    before: msgspec.Raw = msgspec.Raw(b"null")
    after: msgspec.Raw = msgspec.Raw(b"null")


class _Envelope(msgspec.Struct):
    payload: _Event


class DebeziumJsonDeserializationSchema(DeserializationSchema):
    """Reads change events in JSON; each gives a list of rows, whose kinds tell what happened.

    ``schema_include`` says that messages carry their schema, so that the event is under
    ``payload``. ``ignore_parse_errors`` passes over messages that cannot be read.
    """

    flattens = True
    changelog = ChangelogMode.RETRACT

    def __init__(
        self,
        type_info: RowTypeInfo,
        schema_include: bool = False,
        ignore_parse_errors: bool = False,
    ) -> None:
        if not isinstance(type_info, RowTypeInfo):
            raise ProgramError(
                f"Change events become Rows: give a type such as Types.ROW_NAMED(...), got "
                f"{type_info!r}."
            )
        self._type = type_info
        self._schema_include = schema_include
        self._ignore = ignore_parse_errors
        self._rows = JsonRowDeserializationSchema(type_info)

    def get_produced_type(self) -> TypeInformation | None:
        return self._type

    def deserialize(self, message: bytes) -> list[Row]:
        try:
            return self._changes(message)
        except (msgspec.MsgspecError, TypeMismatchError) as wrong:
            if self._ignore:
                return []
            if isinstance(wrong, TypeMismatchError):
                raise
            raise TypeMismatchError(f"not a change event: {wrong}") from None

    def _changes(self, message: bytes) -> list[Row]:
        if self._schema_include:
            event = msgspec.json.decode(message, type=_Envelope).payload
        else:
            event = msgspec.json.decode(message, type=_Event)
        if event.op in ("c", "r"):
            return [self._row(event.after, RowKind.INSERT, "after", event.op)]
        if event.op == "d":
            return [self._row(event.before, RowKind.DELETE, "before", event.op)]
        if event.op == "u":
            return [
                self._row(event.before, RowKind.UPDATE_BEFORE, "before", event.op),
                self._row(event.after, RowKind.UPDATE_AFTER, "after", event.op),
            ]
        raise TypeMismatchError(f"a change event has op c, r, u or d, got {describe(event.op)}")

    def _row(self, content: msgspec.Raw, kind: RowKind, part: str, op: str) -> Row:
        text = bytes(content)
        if text == b"null":
            raise TypeMismatchError(
                f"the change event has op {op!r} but {part!r} is null; if the table is in "
                "Postgres, set its REPLICA IDENTITY to FULL"
            )
        row: Row = self._rows.deserialize(text)
        row.set_row_kind(kind)
        return row
