"""Envelopes as Spark takes them from the ingress: Arrow batches of flat rows.

In place of its slot an envelope gets the slot's route, the value that Spark groups and shuffles by
(:mod:`scurry.engine.spark.routes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from scurry.runtime.envelope import Envelope

ENVELOPE_SCHEMA = pa.schema(
    [
        ("slot", pa.int32()),
        ("stage", pa.int32()),
        ("dest", pa.string()),
        ("port", pa.int32()),
        ("channel", pa.string()),
        ("seq", pa.int64()),
        ("kind", pa.int32()),
        ("watermark", pa.int64()),
        ("payload", pa.binary()),
    ]
)
#: Envelopes are handed to Spark once this many bytes have gathered.
_FLUSH_BYTES = 16 << 20


def to_arrow(envelopes: Iterable[Envelope], routes: list[int]) -> Iterator[pa.RecordBatch]:
    """Envelopes as the Arrow batches Spark takes, slots replaced by their routes."""
    rows: list[Envelope] = []
    size = 0
    for envelope in envelopes:
        rows.append(envelope._replace(slot=routes[envelope.slot % len(routes)]))
        size += len(envelope.payload)
        if size >= _FLUSH_BYTES:
            yield _record_batch(rows)
            rows, size = [], 0
    if rows:
        yield _record_batch(rows)


def _record_batch(rows: list[Envelope]) -> pa.RecordBatch:
    columns: list[Any] = [
        pa.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), ENVELOPE_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=ENVELOPE_SCHEMA)
