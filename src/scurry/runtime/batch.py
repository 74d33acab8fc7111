"""A batch of records: Python objects or Arrow columns, with their times beside them.

Records of several schemas that have one order are held as parts (:mod:`scurry.runtime.parts`).

Beside each record travel, as numpy columns (or not at all where a job has no event time):

* ``ts``: the record's event timestamp,
* ``wm``: the watermark in force just before the record, in the channel it came through,
* ``pos`` and ``tick``: the record's place in the job's input, see below,
* ``kinds``: what the record does to the table it belongs to (:mod:`scurry.runtime.kinds`).

Where records are only passed on, whatever else happens to them, they keep their kinds. What a
function of the user's returns is a record of its own: if it is a Row, it says itself what kind it
is, and if not, it is an insertion, as in Flink.

**The order of records.** Where channels meet, their records are merged by ``(pos, tick)``: ``pos``
is the running watermark of the source partition the record stems from, ``tick`` numbers the
records of the micro-batch (partition in the high bits). Records that an operator emits inherit
the place of the record that caused them; what a timer emits stands at the timer's own timestamp,
before the records that arrived once the watermark had passed it. The merged order is therefore the
order of the input itself: it depends neither on how the input was cut into micro-batches nor, for
one source partition, on the parallelism of the stages between.

**Siblings**, records that one call emits, have one place. They keep their order on the way to the
next stage. If that stage has them in several slots, by different keys, and they meet again in the
stage after it, they come slot by slot: the cut does not matter, but the parallelism does. What the
timers of several keys emit for one moment has one place too, and comes by key group in the next
stage, whatever the parallelism. A number for each sibling would settle the rest; it would have to
grow with every fan-out, and be sorted by and sent with all records, so there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from scurry.common.copies import all_fixed, own_all
from scurry.runtime.columns import ElementCodec
from scurry.runtime.kinds import Kinds, give_kinds, kinds_of
from scurry.runtime.parts import Parts
from scurry.runtime.picking import Longs as Longs
from scurry.runtime.picking import pick

MIN_WATERMARK = -(1 << 63)
MAX_WATERMARK = (1 << 63) - 1
#: Event timestamp of a record that has none.
NO_TIMESTAMP = MIN_WATERMARK
#: ``tick`` of what timers emit: before any record at the same ``pos``.
TIMER_TICK = -1
#: Bits of ``tick`` below the source partition's rank.
RANK_SHIFT = 44

TIMES = ("ts", "wm", "pos", "tick")
_COLUMNS = (*TIMES, "key_column", "kind_column")


class Batch:
    """Records in order, with their times. Rows and columns are made from each other on demand."""

    __slots__ = (
        "_columns",
        "_keys",
        "_parts",
        "_rows",
        "codec",
        "key_column",
        "kind_column",
        "pos",
        "size",
        "tick",
        "ts",
        "wm",
    )

    def __init__(
        self,
        rows: list[Any] | None,
        *,
        columns: pa.RecordBatch | None = None,
        parts: Parts | None = None,
        codec: ElementCodec | None = None,
        keys: list[Any] | None = None,
        key_column: Longs | None = None,
        ts: Longs | None = None,
        wm: Longs | None = None,
        pos: Longs | None = None,
        tick: Longs | None = None,
        kinds: Kinds | None = None,
    ) -> None:
        self._rows = rows
        self._columns = columns
        self._parts = parts
        self.codec = codec
        self._keys = keys
        #: the keys again, if all of them are integers and nobody has made objects of them yet
        self.key_column = key_column
        self.ts = ts
        self.wm = wm
        self.pos = pos
        self.tick = tick
        #: None where there are insertions only, or Rows, which know their kinds
        self.kind_column = kinds
        if rows is not None:
            self.size = len(rows)
        elif columns is not None:
            self.size = columns.num_rows
        else:
            assert parts is not None
            self.size = parts.size

    @property
    def rows(self) -> list[Any]:
        """The records as Python objects."""
        if self._rows is None and self._parts is not None:
            self._rows = self._parts.rows()
        elif self._rows is None:
            assert self._columns is not None
            assert self.codec is not None
            self._rows = self.codec.to_rows(self._columns)
            if self.kind_column is not None:
                give_kinds(self._rows, self.kind_column)
        return self._rows

    @property
    def kinds(self) -> Kinds | None:
        """What each record does to the table it belongs to, None if all are insertions."""
        if self.kind_column is None and self._columns is None:
            return kinds_of(self.rows)
        return self.kind_column

    @property
    def keys(self) -> list[Any] | None:
        """The records' keys, None if they have none."""
        if self._keys is None and self.key_column is not None:
            self._keys = self.key_column.tolist()
        return self._keys

    @keys.setter
    def keys(self, keys: list[Any] | None) -> None:
        self._keys = keys
        self.key_column = None

    @property
    def columns(self) -> pa.RecordBatch | None:
        """The records as Arrow columns, if they are held that way and have one schema."""
        return self._columns

    def column(self, field: str | int | None) -> pa.Array | None:
        """The column of a field, given by name or position, if records are held as columns that
        have it."""
        if self._columns is None or field is None:
            return None
        names = self._columns.schema.names
        known = field < len(names) if isinstance(field, int) else field in names
        return self._columns.column(field) if known else None

    def alias(self) -> Batch:
        """The same records, whose keys and times may be replaced without touching this batch."""
        return Batch(
            self._rows,
            columns=self._columns,
            parts=self._parts,
            codec=self.codec,
            keys=self._keys,
            key_column=self.key_column,
            ts=self.ts,
            wm=self.wm,
            pos=self.pos,
            tick=self.tick,
            kinds=self.kind_column,
        )

    def apart(self) -> Batch:
        """The same records for somebody who may change them: nobody else sees that."""
        if self._columns is None:
            rows = own_all(self.rows)
            if rows is self._rows:
                return self
        elif self.rows_fixed():
            return self
        else:
            rows = None
        mine = self.alias()
        mine._rows, mine._parts = rows, None
        return mine

    def rows_fixed(self) -> bool:
        """Whether rows that are made of the columns cannot change."""
        if self._rows is not None:
            return all_fixed(self._rows)
        if self._parts is not None:
            return self._parts.rows_fixed()
        return self.codec is not None and self.codec.makes_fixed(self._columns)

    def with_rows(self, rows: list[Any]) -> Batch:
        """As many records with other contents, each in the place of its predecessor."""
        return Batch(rows, ts=self.ts, wm=self.wm, pos=self.pos, tick=self.tick)

    def rewritten(self, rows: list[Any]) -> Batch:
        """The same records in another form, so that they are of the same kinds."""
        made = self.with_rows(rows)
        made.kind_column = self.kind_column
        return made

    def with_columns(self, columns: pa.RecordBatch, codec: ElementCodec) -> Batch:
        """As many records with other contents given as columns, each in the place of its
        predecessor and of its kind: columns cannot say what kind they are."""
        return Batch(
            None,
            columns=columns,
            codec=codec,
            ts=self.ts,
            wm=self.wm,
            pos=self.pos,
            tick=self.tick,
            kinds=self.kinds,
        )

    def spread(self, rows: list[Any], origin: Longs) -> Batch:
        """Records ``rows``, the i-th of them caused by record ``origin[i]`` of this batch."""
        return Batch(
            rows,
            ts=None if self.ts is None else self.ts[origin],
            wm=None if self.wm is None else self.wm[origin],
            pos=None if self.pos is None else self.pos[origin],
            tick=None if self.tick is None else self.tick[origin],
        )

    def caused(
        self,
        columns: pa.RecordBatch,
        codec: ElementCodec,
        origin: Longs | None,
        kinds: Kinds | None,
    ) -> Batch:
        """Records given as columns, the i-th of them caused by record ``origin[i]`` of this batch,
        or by record i if ``origin`` is None, and of the i-th of ``kinds``; None if all are
        insertions."""
        made = Batch(None, columns=columns, codec=codec, kinds=kinds)
        for name in TIMES:
            column = getattr(self, name)
            if column is not None:
                setattr(made, name, column if origin is None else column[origin])
        return made

    def take(self, index: Longs, *, compact: bool = False) -> Batch:
        """The records at ``index``, keys included; with ``compact`` only as columns, if held so."""
        if self._parts is not None:
            picked = self._take_parts(self._parts.take(index))
            if self._rows is not None and not compact:
                picked._rows = pick(self._rows, index)
        else:
            columns, rows = None, None
            if self._columns is not None:
                columns = self._columns.take(pa.array(index))
            if self._rows is not None and not (compact and columns is not None):
                rows = pick(self._rows, index)
            picked = Batch(rows, columns=columns, codec=self.codec)
        if self._keys is not None:
            picked._keys = pick(self._keys, index)
        for name in _COLUMNS:
            column = getattr(self, name)
            if column is not None:
                setattr(picked, name, column[index])
        return picked

    def _take_parts(self, parts: Parts) -> Batch:
        """The records of ``parts``: as columns, if they are of one schema."""
        only = parts.only_piece()
        columns = None if only is None else only[0].columns
        if only is None or columns is None:
            return Batch(None, parts=parts)
        return Batch(None, columns=columns.take(pa.array(only[1])), codec=only[0].codec)

    def of_port(self, ports: Longs, port: int) -> tuple[Batch, Longs]:
        """The records of one input, as columns if they came so, and their places in this batch;
        ``ports[i]`` says which input record i is of."""
        places = np.flatnonzero(ports == port)
        return self.take(places, compact=True), places

    def slices(self, rows: int) -> Iterator[Batch]:
        """The batch in pieces of at most ``rows`` records."""
        if self.size <= rows:
            yield self
            return
        for at in range(0, self.size, rows):
            if self._parts is not None:
                yield self.take(np.arange(at, min(at + rows, self.size)))
                continue
            piece = slice(at, at + rows)
            part = Batch(
                None if self._rows is None else self._rows[piece],
                columns=None if self._columns is None else self._columns.slice(at, rows),
                codec=self.codec,
                keys=None if self._keys is None else self._keys[piece],
            )
            for name in _COLUMNS:
                column = getattr(self, name)
                if column is not None:
                    setattr(part, name, column[piece])
            yield part


def origins(ends: list[int], sources: Longs | None = None) -> Longs:
    """For each emitted record the record that caused it, given how many records there were after
    each cause."""
    counts = np.array(ends, dtype=np.int64)
    counts[1:] -= counts[:-1].copy()
    causes = np.arange(len(ends), dtype=np.int64) if sources is None else sources
    return np.repeat(causes, counts)
