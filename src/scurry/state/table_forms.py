"""How tables of operators on relations can be read without the operator.

Such an operator keeps rows in a packed form, whose types are part of the plan. For people who want
to look at a savepoint, it says of each of its tables what is in it; the slot tells the driver when
it first writes to the table, and the driver keeps it in every epoch, beside the name of the table.
Nothing is read by it when a job goes on: what the operator makes of its tables follows from the
program and from the layout.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa


class StoredCall(msgspec.Struct, frozen=True):
    """A built-in aggregate of which a table holds parts that can be combined."""

    function: str
    arguments: list[int]
    filter: int | None
    #: its type and its title are those of a column of :attr:`TableForm.results`


class TableForm(msgspec.Struct, frozen=True):
    """What lies in a table. Schemas are texts of :func:`packed_schema`, empty if there are none."""

    #: the name of the table in slots, without the operator's uid
    table: str
    #: the columns of keys, where they are not among those of rows
    keys: str = ""
    #: the columns of rows
    rows: str = ""
    #: of typed values: names and numpy types
    values: list[tuple[str, str]] = []
    #: how many bytes stand before each row
    skipped: int = 0
    #: what the numbers beside each row are
    numbers: list[str] = []
    #: of windows: the aggregates, and the columns of their results; of aggregates that cannot be
    #: combined, rows are kept
    calls: list[StoredCall] = []
    results: str = ""
    #: whether rows can be taken back, and the gap of sessions in milliseconds
    retracting: bool = False
    gap: int = 0


def packed_schema(schema: pa.Schema) -> str:
    """A schema of Arrow as text."""
    return base64.b64encode(schema.remove_metadata().serialize()).decode()


def unpacked_schema(text: str) -> pa.Schema:
    """The schema behind :func:`packed_schema`'s text."""
    # commands that only list what there is start without it
    import pyarrow as pa

    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text))) if text else pa.schema([])
