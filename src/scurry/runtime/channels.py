"""Channels: the ways by which records reach an input of an operator.

A channel is what has an order and a watermark of its own. Its name says by which output of which
operator the records leave (the *exit*), and at which *place* that operator runs::

    sender > output tag : input port + copy @ place

In a stage the place is the number of the slot. In the ingress it is the source partition that is
being read, with its source: an operator behind a union of two sources sends the records of both,
and each partition of each has a watermark of its own.
"""

from __future__ import annotations

from scurry.runtime.specs import Wire

_APART = "\x1f"


def partition_place(source: str, partition: str) -> str:
    """The place of records that are read from a source partition and have not travelled yet."""
    return f"{source}{_APART}{partition}"


def exit_name(sender: str, tag: str, port: int, copy: int = 0) -> str:
    """The name of an exit. A stream that reaches the same input twice (a union with itself) has
    two exits there, which ``copy`` tells apart."""
    again = f"+{copy}" if copy else ""
    return f"{sender}>{tag}:{port}{again}@"


def sender_of(channel: str) -> str:
    """The uid of the operator or source behind a channel."""
    return channel.split(">", 1)[0]


def slot_of(channel: str) -> int | None:
    """The slot of the stage that a channel comes from, None if it comes from the ingress."""
    place = channel.rpartition("@")[2]
    return int(place) if place.isdecimal() and _APART not in channel else None


def numbered(wires: tuple[Wire, ...]) -> list[tuple[int, Wire]]:
    """Wires with the number that each has among those to the same input of the same operator."""
    ends = [(wire.target, wire.port) for wire in wires]
    return [(ends[:at].count(end), wires[at]) for at, end in enumerate(ends)]
