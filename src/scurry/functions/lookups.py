"""Looking rows up for a lookup join: what a connector provides, and how it is called."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from scurry.functions.async_io import AsyncFunction

__all__ = ["AwaitedLookup", "LookupSettings"]


@dataclass(frozen=True)
class LookupSettings:
    """How rows are looked up, by the session's options and the query's ``LOOKUP`` hint.

    ``asynchronous`` has each key asked for by a call of its own, up to ``capacity`` of them at a
    time, each within ``timeout_ms``; None leaves it to the connector. ``ordered`` keeps rows in
    their order; otherwise those between two watermarks go on as their calls end. A key that finds
    nothing is asked for ``retries`` times more, each time after ``delay_ms``."""

    asynchronous: bool | None = None
    ordered: bool = True
    capacity: int = 100
    timeout_ms: int = 180_000
    retries: int = 0
    delay_ms: int = 0


class AwaitedLookup(ABC):
    """What a connector implements, beside ``open``, ``close`` and ``lookup``, if keys can also be
    asked for one by one, many at a time."""

    #: whether the table's options ask for that
    prefers_awaiting: bool = False

    @abstractmethod
    def awaited(self) -> AsyncFunction[Any, Any]:
        """Made in each task: for a key, a tuple, it returns a list whose one element is the list of
        rows found."""

    @abstractmethod
    def columns_of(self, rows: Sequence[tuple[Any, ...]]) -> pa.RecordBatch:
        """Rows found, as the columns that ``lookup`` gives."""
