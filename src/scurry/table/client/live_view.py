"""Results as they come, on the whole screen: a table that changes in place, or its changes.

The view follows the end of the rows until somebody moves away from it; the End key goes back to
it. ``q`` or Ctrl-C leaves the view and ends the query.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import FormattedText
from prompt_toolkit.input import Input
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window
from prompt_toolkit.output import Output
from prompt_toolkit.utils import get_cwidth

from scurry.table.client.live_rows import LiveRows, cells_of, counted
from scurry.table.table_result import TableResult

__all__ = ["LiveView"]

#: the lines that are no rows: title, headings, rule, status
_FURNITURE = 4


class LiveView:
    """Shows rows until somebody leaves, or the query fails."""

    def __init__(
        self, title: str, rows: LiveRows, input: Input | None = None, output: Output | None = None
    ) -> None:
        self._title = " ".join(title.split())
        self._rows = rows
        self._first: int | None = None
        self._left = 0
        self._state = "running"
        self.failure: Exception | None = None
        controls = (self._headline, self._table, self._status)
        heights = (1, None, 1)
        windows = [
            Window(FormattedTextControl(one), height=height, wrap_lines=False)
            for one, height in zip(controls, heights, strict=True)
        ]
        self._application: Application[None] = Application(
            layout=Layout(HSplit(windows)),
            key_bindings=self._keys(),
            full_screen=True,
            refresh_interval=0.2,
            input=input,
            output=output,
        )

    @property
    def complete(self) -> bool:
        """Whether the query has ended by itself."""
        return self._state != "running"

    def run(self, result: TableResult) -> None:
        """Show the rows of ``result`` as they come."""
        thread = threading.Thread(target=self._follow, args=(result,), daemon=True)
        self._application.run(pre_run=thread.start)

    def _follow(self, result: TableResult) -> None:
        try:
            for row in result.collect():
                self._rows.apply(row)
            self._state = "complete"
        except Exception as failure:
            self.failure = failure
            self._state = "failed"
            loop = self._application.loop
            if loop is not None:
                loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        if self._application.is_running:
            self._application.exit()

    def text(self) -> str:
        """All that the screen shows."""
        parts = (self._headline(), self._table(), self._status())
        return "\n".join("".join(text for _, text, *_ in part) for part in parts)

    # --- what is shown

    def _size(self) -> tuple[int, int]:
        size = self._application.output.get_size()
        return max(1, size.rows - _FURNITURE), size.columns

    def _start(self) -> int:
        """The number of the first row that is shown."""
        last = max(0, len(self._rows) - self._size()[0])
        return last if self._first is None else min(self._first, last)

    def _headline(self) -> FormattedText:
        return FormattedText([("bold", cells_of(self._title, 0, self._size()[1]))])

    def _table(self) -> FormattedText:
        height, width = self._size()
        lines = self._rows.lines(self._start(), height)
        lines.insert(1, "─" * get_cwidth(lines[0]))
        heading, *rest = (cells_of(line, self._left, width) for line in lines)
        return FormattedText([("bold", f"{heading}\n"), ("", "\n".join(rest))])

    def _status(self) -> FormattedText:
        start, width = self._start(), self._size()[1]
        count = len(self._rows)
        shown = f"{start + 1}-{min(count, start + self._size()[0])} of {count}" if count else "0"
        said = f" {self._state}: rows {shown}, {counted(self._rows.changes, 'change')}"
        keys = "arrows PgUp PgDn Home End move, q ends "
        return FormattedText([("reverse", said + keys.rjust(max(width - len(said), 0)))])

    # --- moving

    def _move(self, rows: int) -> None:
        wanted = self._start() + rows
        last = max(0, len(self._rows) - self._size()[0])
        self._first = None if rows > 0 and wanted >= last else max(0, wanted)

    def _shift(self, places: int) -> None:
        width = self._size()[1]
        widest = get_cwidth(self._rows.lines(self._start(), self._size()[0])[0])
        self._left = max(0, min(self._left + places, widest - width))

    def _go(self, first: int | None) -> None:
        self._first = first

    def _keys(self) -> KeyBindings:
        keys = KeyBindings()
        moves: dict[str, Callable[[], Any]] = {
            "pagedown": lambda: self._move(self._size()[0]),
            "pageup": lambda: self._move(-self._size()[0]),
            "down": lambda: self._move(1),
            "up": lambda: self._move(-1),
            "right": lambda: self._shift(20),
            "left": lambda: self._shift(-20),
            "home": lambda: self._go(0),
            "end": lambda: self._go(None),
        }
        for key, move in moves.items():
            keys.add(key)(lambda event, move=move: move())
        for key in ("q", "Q", "c-c", "c-d", "<sigint>"):
            keys.add(key)(lambda event: self._leave())
        return keys
