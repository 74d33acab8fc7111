"""What the model knows of a stream: its records, and what of their order is certain.

Elements stand in an order in which an operator might see them, each with the watermark in force
before it. How certain that order is, is the stream's ``order``:

``line``
    It is the order of one source partition, and every run sees it.
``key``
    It is certain among the records of one key; between keys there are ties.
``free``
    Flink promises nothing: the records of several partitions, or of both sides of a join. Then
    elements stand in the order of their timestamps, which is one of those that may happen, and
    only steps whose result does not depend on the order may follow.
``open``
    Even the records may be others, within bounds that a sink checks: which of several partitions'
    records are late, or the running sums of a key. No step may follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from tests.fuzz.records import Fields

MIN, MAX = -(1 << 63), (1 << 63) - 1


class Element(NamedTuple):
    """A record, its timestamp (None without event time), the watermark in force before it."""

    record: Fields
    ts: int | None
    wm: int = MIN


@dataclass(frozen=True)
class Stream:
    """A stream of the model."""

    elements: tuple[Element, ...]
    order: str = "line"
    timed: bool = True
    #: several records may stand in the same place of the input
    siblings: bool = False
    #: the records of a key are in one slot, so a sink sees them in order
    together: bool = True
    #: nothing was moved between tasks yet
    ingress: bool = True
    #: the form of the records, "mixed" for several
    shape: str = "tuple"
    #: for ``open``: how to tell what is allowed, see :mod:`tests.fuzz.check`
    verdict: str = ""
    #: side output, if the step has one
    aside: Stream | None = None

    def but(self, **changes: Any) -> Stream:
        """The same stream with other traits; it has no side output."""
        return replace(self, **{"aside": None, **changes})

    @property
    def on_time(self) -> bool:
        """Whether no record is behind the watermark of its own channel."""
        return all(element.ts is not None and element.ts > element.wm for element in self.elements)

    @property
    def ordered(self) -> bool:
        """Whether the order among the records of a key is certain."""
        return self.order != "free"

    @property
    def meets(self) -> bool:
        """Whether event time decides what becomes of the stream's records, in any order."""
        return self.timed and self.on_time

    def freed(self) -> Stream:
        """The same records in the order of time, of which nothing is certain."""
        if not self.timed:
            return self.but(order="free", together=False)
        placed = sorted(self.elements, key=lambda element: (element.ts, element.record))
        if self.on_time:
            placed = [Element(e.record, e.ts, e.ts - 1) for e in placed if e.ts is not None]
        return self.but(elements=tuple(placed), order="free", together=False)


def united(streams: list[Stream]) -> Stream:
    """The union of streams."""
    shapes = {stream.shape for stream in streams}
    whole = Stream(
        tuple(element for stream in streams for element in stream.elements),
        timed=all(stream.timed for stream in streams),
        siblings=True,
        ingress=all(stream.ingress for stream in streams),
        shape=shapes.pop() if len(shapes) == 1 else "mixed",
    )
    return whole.freed()
