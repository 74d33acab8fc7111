"""Small structured messages inside envelopes (counters, clock ticks), and the notes of a slot."""

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
    #: union lists of all instances, by operator
    unions: dict[str, list[dict[str, bytes]]] = {}
    #: the number of the round, where a micro-batch has several; -1 if it is the only one
    turn: int = -1


class OperatorReport(msgspec.Struct, array_like=True):
    """What a task tells the driver about its operator states, to be given back to it."""

    #: the ingress, or the stage, and the number of the task there
    place: tuple[int, int]
    #: names this version of the states
    token: str = ""
    #: by operator: of the ingress all states, of stages none
    states: dict[str, dict[str, bytes]] = {}
    #: by operator: union lists
    unions: dict[str, dict[str, bytes]] = {}


_ticks = msgspec.msgpack.Decoder(Tick)
_operators = msgspec.msgpack.Decoder(OperatorReport)


def encode_report(content: Any) -> bytes:
    """Any plain data as bytes."""
    return _encoder.encode(content)


def decode_report(data: bytes) -> Any:
    """The data behind :func:`encode_report`'s bytes."""
    return _decoder.decode(data)


def decode_operators(data: bytes) -> OperatorReport:
    """The report behind :func:`encode_report`'s bytes."""
    return _operators.decode(data)


def decode_tick(data: bytes) -> Tick:
    """The tick behind :func:`encode_report`'s bytes."""
    return _ticks.decode(data)
