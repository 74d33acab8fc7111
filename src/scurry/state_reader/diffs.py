"""What became of a state between two moments, key by key."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

ADDED, REMOVED, CHANGED = "added", "removed", "changed"


def difference(one: pa.Table, other: pa.Table) -> pa.Table:
    """The keys that ``one`` and ``other``, two tables of a state, do not have in common, or that
    have something else: key, change, before, after. When a value was written is not compared,
    where that is a column of its own."""
    changes = list(_changes(one, other))
    before = pa.array([at for _, at, _ in changes], pa.int64())
    after = pa.array([at for _, _, at in changes], pa.int64())
    return pa.table(
        {
            "key": _keys(one, other, before, after),
            "change": pa.array([change for change, _, _ in changes], pa.string()),
            "before": _taken(one, 1, before),
            "after": _taken(other, 1, after),
        }
    )


def _changes(one: pa.Table, other: pa.Table) -> Iterator[tuple[str, int | None, int | None]]:
    """What happened to a key, and its rows in both tables."""
    # what Python writes of values tells a whole number from a float, and finds a NaN equal to one
    mine, theirs = ([list(map(repr, c.to_pylist())) for c in t.columns[:2]] for t in (one, other))
    rows = {key: at for at, key in enumerate(theirs[0])}
    for at, key in enumerate(mine[0]):
        found = rows.pop(key, None)
        if found is None:
            yield REMOVED, at, None
        elif mine[1][at] != theirs[1][found]:
            yield CHANGED, at, found
    for found in rows.values():
        yield ADDED, None, found


def _keys(one: pa.Table, other: pa.Table, before: pa.Array, after: pa.Array) -> pa.Array:
    mine, theirs = _taken(one, 0, before), _taken(other, 0, after)
    if not one.num_rows or not other.num_rows:
        return theirs if not one.num_rows else mine
    if mine.type != theirs.type:
        mine, theirs = (pa.array([_text(k) for k in keys.to_pylist()]) for keys in (mine, theirs))
    # both columns have a place for each change, and the key in one of them at least
    rows = [n if here else len(mine) + n for n, here in enumerate(before.is_valid().to_pylist())]
    return pa.concat_arrays([mine, theirs]).take(pa.array(rows, pa.int64()))


def _text(key: object) -> str | None:
    return None if key is None else str(key)


def _taken(table: pa.Table, column: int, rows: pa.Array) -> pa.Array:
    taken = table.column(column).take(rows)
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
