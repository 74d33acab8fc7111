"""What ``scurry savepoint read`` prints."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import click
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from scurry.cli.shown import plain
from scurry.state_reader import list_states, read, read_timers, read_windows


class Asked(NamedTuple):
    """What is to be printed of the operator ``uid``: the state ``name``, its timers, or else its
    windows; without an operator, all states there are."""

    path: str
    uid: str | None = None
    name: str | None = None
    timers: bool = False

    def found(self) -> pa.Table:
        """The table that was asked for."""
        if self.uid is None:
            return list_states(self.path)
        # what has no type in common is to be read by people
        if self.name is not None:
            return read(self.path, self.uid, self.name, fallback="repr")
        read_others = read_timers if self.timers else read_windows
        return read_others(self.path, self.uid, fallback="repr")


def show(asked: Asked, limit: int, as_json: bool) -> None:
    """Print at most ``limit`` rows of what was asked for, or all if it is 0."""
    found = asked.found()
    shown = found.slice(0, limit) if limit and asked.uid is not None else found
    if as_json:
        for row in shown.to_pylist():
            click.echo(json.dumps(row, default=_text))
        return
    console = Console(highlight=False, markup=False)
    console.print(_as_text(shown))
    if shown.num_rows < found.num_rows:
        console.print(f"... and {found.num_rows - shown.num_rows} more; --limit 0 prints all.")


def _as_text(found: pa.Table) -> Table:
    made = Table(*found.column_names, box=None)
    for row in zip(*(column.to_pylist() for column in found.columns), strict=True):
        made.add_row(*(plain(_cell(value)) for value in row))
    return made


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, default=_text)


def _text(value: Any) -> str:
    """What JSON has no form for."""
    return value.hex() if isinstance(value, bytes) else str(value)
