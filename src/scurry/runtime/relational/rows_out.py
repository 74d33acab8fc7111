"""What operators send that go through rows one by one: rows of bytes, each with its cause.

An output row is put together from parts, such as the left and the right row of a join; each part is
bytes, and becomes columns when the whole batch is sent. What a row caused stands in that row's
place, what time caused stands at that time.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from scurry.runtime.batch import Batch
from scurry.runtime.columnar.row_codec import RowCodec
from scurry.runtime.columns import ElementCodec
from scurry.runtime.emissions import Emissions
from scurry.runtime.kinds import only_changes


class RowsOut:
    """Rows on their way out. ``codecs`` are those of the parts."""

    def __init__(self, codecs: list[RowCodec]) -> None:
        self._codecs = codecs
        self.parts: list[list[bytes]] = [[] for _ in codecs]
        self.kinds: list[int] = []
        #: for each row the record that caused it, or -(n+1) for the n-th time that passed
        self.causes: list[int] = []
        self._places = Emissions()

    def add(self, kind: int, cause: int, *parts: bytes) -> None:
        """A row."""
        for mine, part in zip(self.parts, parts, strict=True):
            mine.append(part)
        self.kinds.append(kind)
        self.causes.append(cause)

    def passed(self, time: int, watermark: int) -> int:
        """Event time passes ``time``, in a stream that stands at ``watermark``; returns the cause
        of what is sent for that."""
        self._places.fired_at(time, watermark)
        return -len(self._places.fired)

    def passed_clock(self, time: int, watermark: int) -> int:
        """The same for processing time."""
        self._places.fired.append((time, watermark, watermark))
        return -len(self._places.fired)

    def batch(self, cause: Batch | None, schema: pa.Schema, codec: ElementCodec) -> Batch | None:
        """All rows as one batch, None if there are none."""
        if not self.kinds:
            return None
        columns = [
            column
            for parts, one in zip(self.parts, self._codecs, strict=True)
            for column in one.decode(parts)
        ]
        places = self._places
        places.values = self.kinds
        places.source, places.ends = self.causes, list(range(1, len(self.kinds) + 1))
        placed = places.batch(cause)
        made = pa.RecordBatch.from_arrays(columns, schema=schema)
        kinds = only_changes(np.array(self.kinds, dtype=np.int8))
        batch = Batch(None, columns=made, codec=codec, kinds=kinds)
        batch.ts, batch.wm, batch.pos, batch.tick = placed.ts, placed.wm, placed.pos, placed.tick
        return batch


def null_row(codec: RowCodec) -> bytes:
    """The row of nulls."""
    return codec.encode([pa.nulls(1, kind) for kind in codec.schema.types])[0]
