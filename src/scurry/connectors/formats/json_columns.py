"""Many JSON objects at once, between bytes and columns, without an object for each.

Arrow's own reader takes objects that hold such values as JSON has, and refuses what does not fit
the schema exactly; whoever calls it then reads the messages in another way. In the other direction
a row becomes an object of a type of its own, which is written faster than anything else.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.json as pj

#: So many messages are read faster one by one: Arrow's reader takes 0.1 ms however few there are,
#: and hands the work to another thread, which on a busy machine has to wait for its turn.
FEW = 500
#: What a block of Arrow's reader holds at least, so that no object is longer than one; and at most.
_LEAST_BLOCK, _MOST_BLOCK = 1 << 20, 1 << 30


def read_objects(messages: Sequence[bytes], schema: pa.Schema) -> pa.RecordBatch | None:
    """The fields of messages that are one JSON object each, those that are missing as nulls; None
    if one of them is something else, or has a value that does not fit as it is."""
    data = b"\n".join(messages)
    if len(data) > _MOST_BLOCK or not _objects(data, messages):
        return None
    block = max(_LEAST_BLOCK, len(data) + 1)
    try:
        table = pj.read_json(
            io.BytesIO(data),
            pj.ReadOptions(use_threads=False, block_size=block),
            pj.ParseOptions(schema, False, "ignore"),
        )
        if table.num_rows != len(messages):
            return None
        columns = table.combine_chunks().to_batches()[0]
        if any(map(pa.types.is_string, schema.types)):
            columns.validate(full=True)
    except pa.ArrowException:
        return None
    return columns


def _objects(data: bytes, messages: Sequence[bytes]) -> bool:
    """Whether each message, of which ``data`` are the lines, begins and ends as an object does: as
    many objects as messages means one each, then."""
    between = len(messages) - 1
    if data.count(b"\n") == between:
        ends = data.startswith(b"{") and data.endswith(b"}")
        return ends and data.count(b"}\n{") == between
    return all(one[:1] == b"{" and one[-1:] == b"}" for one in messages)


def object_type(names: Sequence[str]) -> type[msgspec.Struct] | None:
    """A type whose instances msgspec writes as objects with these fields, in a third of the time
    of a dict, whatever the values are; None if msgspec takes one of the names for none."""
    fields = [(f"f{at}", Any) for at in range(len(names))]
    renamed = {f"f{at}": name for at, name in enumerate(names)}
    try:
        return msgspec.defstruct("Fields", fields, rename=renamed, gc=False)
    except ValueError:
        return None
