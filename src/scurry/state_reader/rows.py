"""The records of one state of one slot as rows: keys, and what each of them has.

Rows keep the addresses of the records they were made of. By these the rows of all slots are sorted,
so that the order depends on the keys alone, whatever the parallelism of the job was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import Any

from scurry.common.keys import thaw
from scurry.state.codecs.plain import PlainCodec
from scurry.state.codecs.records import TOGETHER, Stamped, head_of
from scurry.state.codecs.schemas import SchemaRow
from scurry.state.stored_tables import Records


@dataclass(slots=True)
class StateRow:
    """What a state has for one key; ``times`` are those of the last writes, if they are kept."""

    address: bytes
    key: Any
    #: one value, several elements, or the values of several entries
    values: list[Any] = field(default_factory=list)
    #: the keys of these entries
    entries: list[Any] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)

    def add(self, value: Any, since: int | None) -> None:
        """Add a value, which has a time if the state has a time to live."""
        if isinstance(value, Stamped):
            self.times.append(since if value.stamp is None else value.stamp)
            value = value.value
        self.values.append(value)


def single_rows(records: Records, codec: PlainCodec, row: SchemaRow) -> Iterator[StateRow]:
    """Rows of a state that has one value for each key."""
    listed = iter(records.items())
    while part := list(islice(listed, TOGETHER)):
        entries = codec.unpack_entries([record for _, record in part])
        for (address, _), (key, *_, value) in zip(part, entries, strict=True):
            made = StateRow(address, key)
            made.add(value, row.since)
            yield made


def element_rows(records: Records, codec: PlainCodec, row: SchemaRow) -> Iterator[StateRow]:
    """Rows of a state that has a list for each key, in one piece or several."""
    for made, pieces in _by_key(records):
        for piece in pieces:
            for value in codec.unpack_many(piece):
                made.add(value, row.since)
        if made.values:
            yield made


def entry_rows(records: Records, codec: PlainCodec, row: SchemaRow) -> Iterator[StateRow]:
    """Rows of a state that has entries for each key: a map, or a set."""
    for made, pieces in _by_key(records):
        for piece in pieces:
            made.entries.append(thaw(head_of(piece)[1]))
            made.add(codec.unpack(piece), row.since)
        yield made


#: By kind of state: what makes rows of its records.
ROWS_OF: dict[str, Callable[[Records, PlainCodec, SchemaRow], Iterator[StateRow]]] = {
    "ValueState": single_rows,
    "ReducingState": single_rows,
    "AggregatingState": single_rows,
    "ListState": element_rows,
    "BagState": element_rows,
    "MapState": entry_rows,
    "SetState": entry_rows,
}


def _by_key(records: Records) -> Iterator[tuple[StateRow, list[bytes]]]:
    """The records of each key in the order of their addresses, which begin with that of the key."""
    for address, same in groupby(sorted(records.items()), lambda item: _beginning(item[0])):
        pieces = [record for _, record in same]
        yield StateRow(address, head_of(pieces[0])[0]), pieces


def _beginning(address: bytes) -> bytes:
    """The part of an address that stands for the key: key group, length, and so many bytes."""
    return address[: 4 + int.from_bytes(address[2:4], "big")]
