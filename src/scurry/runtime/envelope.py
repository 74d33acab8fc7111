"""Envelopes: what Spark moves between tasks.

An envelope is a flat row whose columns never depend on the user's program: which slot and stage it
is for, which input of which operator, the channel it belongs to and its number there, what kind it
is, a watermark, and an opaque payload. Batches of records, what records were combined to,
watermarks, ticks of the clock, and what tasks report to the driver all travel this way. A stage
hands on untouched whatever is addressed to a later stage, so any graph runs as one line of stages.
"""

from __future__ import annotations

from typing import NamedTuple

#: Kinds of envelopes. The last six are addressed to the driver; the very last, the head of a slot's
#: journal, only where the driver keeps heads.
DATA, COMBINED, WATERMARK, TICK, COMMIT, CELLS, REPORT, OPERATORS, FEED, HEAD = range(10)
#: The stage number of the driver: beyond any stage.
DRIVER = 1 << 20


class Envelope(NamedTuple):
    """One row between stages."""

    slot: int
    stage: int
    dest: str
    port: int
    channel: str
    seq: int
    kind: int
    watermark: int
    payload: bytes
