"""Small structured messages inside envelopes: counters, clock ticks, notes of a slot."""

from __future__ import annotations

from typing import Any

import msgspec

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder()


class Tick(msgspec.Struct, array_like=True):
    """The clock of a micro-batch, sent to every slot of every stage."""

    now: int = 0
    batch: int = 0
    #: no micro-batch follows: functions are closed
    final: bool = False


_ticks = msgspec.msgpack.Decoder(Tick)


def encode_report(content: Any) -> bytes:
    """Any plain data as bytes."""
    return _encoder.encode(content)


def decode_report(data: bytes) -> Any:
    """The data behind :func:`encode_report`'s bytes."""
    return _decoder.decode(data)


def decode_tick(data: bytes) -> Tick:
    """The tick behind :func:`encode_report`'s bytes."""
    return _ticks.decode(data)
