"""What ``scurry checkpoint show`` prints."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec
from rich.console import Console
from rich.table import Table

from scurry.checkpoint.contents import read_contents
from scurry.checkpoint.stored import CheckpointContents, StoredOperator, StoredState
from scurry.cli.shown import plain, size_in_words
from scurry.common.errors import ScurryError

#: The longest text within a position that is shown whole, and the longest position.
_LONG_TEXT, _LONG = 60, 300
#: What an operator shows that has written nothing yet.
_NOTHING = StoredState(name="", kind="")
#: The most branches of a history that are shown.
_MOST_BRANCHES = 5


def show_checkpoint(directory: str, as_json: bool) -> None:
    """Print what the checkpoint in ``directory`` holds."""
    try:
        found = read_contents(directory)
    except (ScurryError, OSError) as failure:
        raise click.ClickException(plain(str(failure))) from failure
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found)).decode())
        return
    console = Console(highlight=False, markup=False)
    for line in _facts(found):
        console.print(line, soft_wrap=True)
    show_parts(console, found)


def show_parts(console: Console, found: CheckpointContents) -> None:
    """Print the sources, operators and sinks of a checkpoint or savepoint."""
    _show_sources(console, found)
    _show_operators(console, found)
    _show_sinks(console, found)


def _facts(found: CheckpointContents) -> Iterable[str]:
    yield f"checkpoint {found.checkpoint_id} in {plain(found.directory)}"
    by = f", written by Scurry {found.writer.scurry}, PySpark {found.writer.pyspark}"
    yield f"job {plain(found.job)!r}, format {found.format}{plain(by)}"
    yield (
        f"parallelism {found.parallelism}, key groups {found.max_parallelism}, stages "
        f"{found.stages}, generation {found.generation}"
    )
    if found.batch < 0:
        yield "no micro-batch has been committed"
    else:
        yield f"last micro-batch {found.batch}, of {_moment(found.now)}"
    if found.pending is not None:
        yield f"micro-batch {found.pending} is planned and not committed: it is run, or run again"
    yield f"history: {_history(found)}"
    yield _lease(found)
    parts = ", ".join(f"{plain(name)} {size_in_words(n)}" for name, n in found.disk.items())
    yield f"{size_in_words(sum(found.disk.values()))} on disk: {parts}"


def _lease(found: CheckpointContents) -> str:
    if found.holder is None:
        return "no driver has held a lease"
    holder = plain(str(found.holder))
    if found.held:
        return f"lease {found.lease} is held by {holder}"
    if found.holder.released:
        return (
            f"lease {found.lease} was held by {holder}, released {_moment(found.holder.released)}"
        )
    return f"lease {found.lease} was held by {holder}; that process has ended"


def _history(found: CheckpointContents) -> str:
    branches = found.branches[-_MOST_BRANCHES:]
    shown = ", ".join(f"{plain(b.token) or 'unnamed'} from {b.first}" for b in branches)
    left = len(found.branches) - len(branches)
    before = f"{left} earlier branches, " if left else ""
    return f"{before}{shown}" if branches else "empty"


def _show_sources(console: Console, found: CheckpointContents) -> None:
    table = _table("sources", "uid", "name", "position")
    for each in found.sources:
        ended = " (ended)" if each.finished else ""
        table.add_row(plain(each.uid), plain(each.name), plain(_short(each.position)) + ended)
    _print(console, table)


def _show_operators(console: Console, found: CheckpointContents) -> None:
    table = _table("operators", "uid", "name", "stage", "layout", "state", "kind", "type")
    table.add_column("entries", justify="right")
    table.add_column("bytes", justify="right")
    for each in found.operators:
        whose = (plain(each.uid), plain(each.name), _stages(each), plain(_layout(each)))
        for state in map(_state, each.states or [_NOTHING]):
            table.add_row(*whose, *state)
            whose = ("", "", "", "")
    _print(console, table)


def _state(state: StoredState) -> Iterable[str]:
    yield plain(state.name)
    yield plain(state.kind)
    yield plain(state.type) + (f" (version {state.version + 1})" if state.version else "")
    yield "" if state.entries is None else f"{state.entries:,}"
    yield "" if state.bytes is None else size_in_words(state.bytes)


def _show_sinks(console: Console, found: CheckpointContents) -> None:
    table = _table("sinks", "uid", "name", "last batch", "branch")
    for each in found.sinks:
        table.add_row(plain(each.uid), plain(each.name), str(each.batch), plain(each.branch))
    _print(console, table)


def _stages(operator: StoredOperator) -> str:
    return ", ".join(str(stage) for stage in operator.stages)


def _layout(operator: StoredOperator) -> str:
    layout = operator.layout
    return layout if isinstance(layout, str) else f"{layout.kind}, version {layout.version}"


def _short(position: Any) -> str:
    text = msgspec.json.encode(_shortened(position)).decode()
    return text if len(text) <= _LONG else f"{text[:_LONG]}..."


def _shortened(value: Any) -> Any:
    """``value`` with long texts, such as packed lists of files, replaced by their lengths."""
    if isinstance(value, str) and len(value) > _LONG_TEXT:
        return f"<{len(value)} characters>"
    if isinstance(value, dict):
        return {key: _shortened(inner) for key, inner in value.items()}
    return [_shortened(inner) for inner in value] if isinstance(value, list) else value


def _moment(milliseconds: int | None) -> str:
    try:
        return f"{datetime.fromtimestamp((milliseconds or 0) / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):
        return str(milliseconds)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print(console: Console, table: Table) -> None:
    if table.row_count:
        console.print()
        console.print(table)
