"""What a live view shows: the table that changes amount to, or the changes themselves."""

from __future__ import annotations

import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from prompt_toolkit.utils import get_cwidth

from scurry.common.types import Row, RowKind
from scurry.table.tableau import NULL, OP
from scurry.table.texts import sql_text

__all__ = ["LiveChanges", "LiveRows", "LiveTable", "cells_of", "counted"]

Texts = tuple[str, ...]
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class LiveRows(ABC):
    """Rows as texts, which one thread changes and another shows; the oldest go when there are more
    than ``most``."""

    def __init__(
        self,
        names: Sequence[str],
        types: Sequence[Any],
        most: int = 1_000_000,
        widest: int = 30,
        zone: str = "UTC",
    ) -> None:
        self.names = list(names)
        self._types = list(types)
        self._most = most
        self._widest = widest
        self._zone = zone
        self._rows: dict[int, Texts] = {}
        self._lock = threading.Lock()
        self.changes = 0

    def apply(self, row: Row) -> None:
        """Take in a change."""
        texts = tuple(
            NULL if value is None else _visible(sql_text(value, kind, self._zone))
            for value, kind in zip(row, self._types, strict=True)
        )
        with self._lock:
            self.changes += 1
            self._change(row.get_row_kind(), texts)
            while len(self._rows) > self._most:
                self._forget(next(iter(self._rows)))

    @abstractmethod
    def _change(self, kind: RowKind, texts: Texts) -> None:
        """Bring the rows up to date; called with the lock held."""

    def _forget(self, place: int) -> None:
        del self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)

    def lines(self, first: int, count: int) -> list[str]:
        """The headings, and as many rows as there are from a number on, all equally wide."""
        with self._lock:
            rows = list(islice(self._rows.values(), first, first + count))
        columns = zip(self.names, *rows, strict=True)
        widths = [min(self._widest, max(map(get_cwidth, column))) for column in columns]
        return [_line(row, widths) for row in (self.names, *rows)]


class LiveTable(LiveRows):
    """The rows that changes amount to, in the order in which they came; a row that is updated
    stays where it is."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._places: dict[Texts, list[int]] = {}
        self._next = 0
        self._vacated: int | None = None

    def _change(self, kind: RowKind, texts: Texts) -> None:
        vacated, self._vacated = self._vacated, None
        if kind is RowKind.UPDATE_AFTER and vacated is not None:
            self._put(vacated, texts)
            return
        if vacated is not None:
            del self._rows[vacated]
        if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            self._put(self._next, texts)
            self._next += 1
            return
        place = self._leave(texts)
        if kind is RowKind.UPDATE_BEFORE:
            self._vacated = place
        elif place is not None:
            del self._rows[place]

    def _put(self, place: int, texts: Texts) -> None:
        self._rows[place] = texts
        self._places.setdefault(texts, []).append(place)

    def _leave(self, texts: Texts) -> int | None:
        places = self._places.get(texts)
        if places is None:
            return None
        place = places.pop()
        if not places:
            del self._places[texts]
        return place

    def _forget(self, place: int) -> None:
        texts = self._rows.pop(place)
        if place == self._vacated:
            self._vacated = None
            return
        self._places[texts].remove(place)
        if not self._places[texts]:
            del self._places[texts]


class LiveChanges(LiveRows):
    """Every change as a row, with its kind in front."""

    def __init__(self, names: Sequence[str], *arguments: Any, **named: Any) -> None:
        super().__init__(names, *arguments, **named)
        self.names = [OP, *names]

    def _change(self, kind: RowKind, texts: Texts) -> None:
        self._rows[self.changes] = (str(kind), *texts)


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 row``, ``2 rows``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _visible(text: str) -> str:
    """A text on one line: what would move the cursor is shown as it is written in Python."""
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


def _line(texts: Iterable[str], widths: Sequence[int]) -> str:
    cells = []
    for text, width in zip(texts, widths, strict=True):
        shown = text if get_cwidth(text) <= width else cells_of(text, 0, width - 1).rstrip() + "…"
        cells.append(" " * (width - get_cwidth(shown)) + shown)
    return "  ".join(cells)


def cells_of(text: str, left: int, width: int) -> str:
    """The part of a text that a window of ``width`` places shows when ``left`` places are beyond
    its edge. Half of a wide character is shown as a blank."""
    if text.isascii():
        return text[left : left + width]
    shown, at = "", 0
    for sign in text:
        end = at + get_cwidth(sign)
        if left <= at and end <= left + width:
            shown += sign
        elif at < left + width and end > left:
            shown += " " * (min(end, left + width) - max(at, left))
        at = end
    return shown
