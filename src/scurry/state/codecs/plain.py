"""Records read without the program that wrote them.

The schemas that lie beside the records say what was written. Instances of dataclasses become their
fields, so that the classes need not be there; all else is what it was.
"""

from __future__ import annotations

from typing import Any

import msgspec

from scurry.state.codecs.declared import plain_decoders
from scurry.state.codecs.pickles import loads_plain
from scurry.state.codecs.records import PICKLE, RecordCodec
from scurry.state.codecs.schema import Schema
from scurry.state.codecs.schemas import SchemaRow


class Fields(dict[str, Any]):
    """An instance of a dataclass: its fields."""


class PlainCodec(RecordCodec):
    """Unpacks the records of a state of which nothing is known but ``row``, what was written down
    about it."""

    def __init__(self, name: str, row: SchemaRow) -> None:
        super().__init__(name, version=len(row.versions) - 1, stamped=row.ttl)
        self._decoders = [plain_decoders(value_schema(row, old)) for old in row.versions]

    def _read_long(self, form: int, record: bytes, many: bool) -> Any:
        version = int.from_bytes(record[1:3], "big")
        data = memoryview(record)[7 + int.from_bytes(record[3:7], "big") :]
        if form == PICKLE:
            return loads_plain(data, Fields)
        decoders = self._decoders[version] if version < len(self._decoders) else None
        if decoders is None:
            return msgspec.msgpack.decode(data)
        return decoders[many].decode(data)


def value_schema(row: SchemaRow, version: Schema) -> Schema:
    """Of a version of a state's schema, what its values are; True for the elements of a set."""
    if row.kind == "MapState":
        return version["map"][1]
    return "BOOLEAN" if row.kind == "SetState" else version


def entry_schema(row: SchemaRow) -> Schema | None:
    """The schema of the keys of a map, or of the elements of a set, as written last."""
    last = row.versions[-1]
    if row.kind == "MapState":
        return last["map"][0]
    return last["set"] if row.kind == "SetState" else None
