"""Channels: the ways by which records reach an input of an operator.

A channel is what has an order and a watermark of its own. Its name says by which output of which
operator the records leave (the *exit*), and at which *place* that operator runs::

    sender > output tag : input port + copy @ place

In a stage the place is the number of the slot. In the ingress it is the source partition that is
being read, with its source: an operator behind a union of two sources sends the records of both,
and each partition of each has a watermark of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from scurry.runtime.specs import JobSpec, OperatorSpec, SourceSpec, Wire

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


class KnownChannels:
    """The channels that lead to one operator of a job.

    A program changes between two starts. The watermark of a channel that no longer exists would
    hold event time back for ever, so such channels are forgotten.
    """

    def __init__(self, job: JobSpec, target: str) -> None:
        self._slots: dict[str, int] = {}
        self._sources: dict[str, set[str]] = {}
        for source in job.sources:
            for spec in _chained_to(job, source):
                for name in _exits(spec, target):
                    self._sources.setdefault(name, set()).add(source.uid)
        for uid in job.hosted:
            for name in _exits(job.operators[uid], target):
                self._slots[name] = job.operators[uid].parallelism

    def __contains__(self, channel: object) -> bool:
        channel = str(channel)
        slot = slot_of(channel)
        if slot is not None:
            return slot < self._slots.get(channel.rpartition("@")[0] + "@", 0)
        return any(
            channel.startswith(f"{name}{source}{_APART}")
            for name, sources in self._sources.items()
            for source in sources
        )


def _exits(spec: OperatorSpec | SourceSpec, target: str) -> Iterator[str]:
    for tag, wires in (("", spec.outputs), *spec.side_outputs.items()):
        for copy, wire in numbered(wires):
            if wire.target == target and wire.partitioning is not None:
                yield exit_name(spec.uid, tag, wire.port, copy)


def _chained_to(job: JobSpec, source: SourceSpec) -> Iterator[OperatorSpec | SourceSpec]:
    """The source, and the operators that run in its task."""
    reached: list[OperatorSpec | SourceSpec] = [source]
    seen: set[str] = set()
    while reached:
        spec = reached.pop()
        if spec.uid in seen:
            continue
        seen.add(spec.uid)
        yield spec
        wires = [spec.outputs, *spec.side_outputs.values()]
        chained = (wire for part in wires for wire in part if wire.partitioning is None)
        reached.extend(job.operators[wire.target] for wire in chained)
