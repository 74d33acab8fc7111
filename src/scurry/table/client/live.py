"""Results as they come: a table that changes in place, or its changes one after the other.

The table view holds the rows that the changes amount to, and shows a page of them; page up and page
down move through them, ``q`` or Ctrl-C ends the query.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Any

from scurry.common.errors import ScurryError
from scurry.common.types import Row, RowKind
from scurry.table.table_result import TableResult
from scurry.table.tableau import NULL, width_of
from scurry.table.texts import sql_text

__all__ = ["LiveTable", "show_changelog", "show_live"]

_MOST_WIDTH = 40


class LiveTable:
    """The rows that changes amount to, in the order in which they came."""

    def __init__(self, names: Sequence[str], types: Sequence[Any], most: int = 1_000_000) -> None:
        self.names = list(names)
        self._types = list(types)
        self._most = most
        self._rows: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()
        self.changes = 0

    def apply(self, row: Row) -> None:
        """Take in a change."""
        texts = tuple(
            NULL if value is None else sql_text(value, kind)
            for value, kind in zip(row, self._types, strict=True)
        )
        with self._lock:
            self.changes += 1
            if row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER):
                if texts in self._rows or len(self._rows) < self._most:
                    self._rows[texts] += 1
            elif self._rows[texts] > 1:
                self._rows[texts] -= 1
            else:
                self._rows.pop(texts, None)

    def page(self, first: int, count: int) -> list[tuple[str, ...]]:
        """Some rows, from a number on."""
        with self._lock:
            rows = [row for row, times in self._rows.items() for _ in range(times)]
        return rows[first : first + count]

    def __len__(self) -> int:
        with self._lock:
            return sum(self._rows.values())

    def lines(self, first: int, count: int) -> list[str]:
        """A page as text, headings first."""
        rows = self.page(first, count)
        widths = [
            min(_MOST_WIDTH, max(width_of(text) for text in column))
            for column in zip(self.names, *rows, strict=True)
        ]
        return [_line(row, widths) for row in (tuple(self.names), *rows)]


def _line(texts: Sequence[str], widths: Sequence[int]) -> str:
    cells = []
    for text, width in zip(texts, widths, strict=True):
        shown = text if width_of(text) <= width else text[: width - 1] + "…"
        cells.append(" " * (width - width_of(shown)) + shown)
    return "  ".join(cells)


def show_changelog(result: TableResult, write: Any) -> None:
    """Every change as a line, until the query ends or Ctrl-C."""
    try:
        for line in result.lines():
            write(line)
    except KeyboardInterrupt:
        _cancel(result)
        write("Cancelled.")


def _cancel(result: TableResult) -> None:
    job = result.get_job_client()
    if job is not None:
        job.cancel().result()


def show_live(result: TableResult, most: int) -> str:
    """The table as it changes, on the whole screen, until somebody leaves it; returns what is to
    be said afterwards."""
    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import FormattedText
    from prompt_toolkit.key_binding import KeyBindings
    from prompt_toolkit.layout import FormattedTextControl, HSplit, Layout, Window

    schema = result.get_resolved_schema()
    table = LiveTable(schema.get_column_names(), schema.get_column_data_types(), most)
    state: dict[str, Any] = {"first": 0, "failure": "", "done": ""}

    def height() -> int:
        return max(1, application.output.get_size().rows - 4)

    def content() -> Any:
        heading, *rows = table.lines(state["first"], height())
        parts = [("bold", heading + "\n"), ("", "─" * len(heading) + "\n")]
        return FormattedText([*parts, ("", "\n".join(rows))])

    def status() -> Any:
        state_text = state["failure"] or state["done"] or "running"
        said = f" {len(table)} rows, {table.changes} changes, {state_text}  |  PgUp PgDn  q: leave "
        return FormattedText([("reverse", said)])

    keys = KeyBindings()

    @keys.add("pagedown")
    @keys.add("down")
    def _(event: Any) -> None:
        state["first"] = min(max(0, len(table) - 1), state["first"] + height())

    @keys.add("pageup")
    @keys.add("up")
    def _(event: Any) -> None:
        state["first"] = max(0, state["first"] - height())

    @keys.add("q")
    @keys.add("c-c")
    def _(event: Any) -> None:
        event.app.exit()

    layout = Layout(
        HSplit(
            [
                Window(FormattedTextControl(content)),
                Window(FormattedTextControl(status), height=1),
            ]
        )
    )
    application: Application[None] = Application(
        layout=layout, key_bindings=keys, full_screen=True, refresh_interval=0.2
    )

    def follow() -> None:
        try:
            for row in result.collect():
                table.apply(row)
            state["done"] = "complete"
        except ScurryError as failure:
            state["failure"] = str(failure)

    threading.Thread(target=follow, daemon=True).start()
    application.run()
    if not state["done"] and not state["failure"]:
        _cancel(result)
    return str(state["failure"]) or f"{len(table)} rows after {table.changes} changes."
