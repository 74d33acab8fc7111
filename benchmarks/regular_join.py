"""Regular joins of two changelogs: the operator by itself, beside dicts in plain Python.

The operator gets columns and commits its state to disk after each micro-batch, in sorted runs. The
rival is a loop over tuples that keeps the rows of each side in dicts, and nothing on disk. Both
send every change that Flink sends. Times are those of the process, so that others on the machine
do not count.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pyarrow as pa

from scurry.common.types import RowKind
from scurry.runtime.batch import Batch
from scurry.runtime.columns import ElementCodec
from scurry.runtime.parts import Parts
from scurry.runtime.relational.join import JoinOperator
from scurry.runtime.specs import OperatorSpec
from scurry.runtime.task_context import TaskContext, TaskPlace, TaskState
from scurry.state.backends import StateSettings
from scurry.state.journal import MemoryJournal

LEFT = pa.schema([("k", pa.int64()), ("a", pa.int64()), ("s", pa.string())])
RIGHT = pa.schema([("k", pa.int64()), ("b", pa.int64()), ("t", pa.string())])
INSERT, BEFORE, AFTER = (kind.value for kind in list(RowKind)[:3])
DELETE = RowKind.DELETE.value
#: Kind of join, and whether the inputs update their rows.
CASES = {
    "inner, append": ("inner", False),
    "inner, updates": ("inner", True),
    "left, append": ("left", False),
    "left, updates": ("left", True),
    "full, append": ("full", False),
    "semi, append": ("semi", False),
    "anti, append": ("anti", False),
}
_TEXTS = [f"name-{number}" for number in range(100)]


class Input(NamedTuple):
    """Records in order: of which side, of which kind, and their columns."""

    ports: Any
    kinds: Any
    keys: Any
    values: Any


def made(rows: int, keys: int, updates: bool, one_right: bool) -> Input:
    """Records of both sides in turns. With ``keys`` 0 every key is new: it comes once on each side,
    if there are ``updates`` it is updated once, soon after. With ``one_right`` each key comes once
    on the right side."""
    chance = np.random.default_rng(7)
    ports = np.arange(rows) % 2
    if keys and one_right:
        ports = (chance.random(rows) < keys / rows).astype(np.int64)
    drawn = np.empty(rows, dtype=np.int64)
    for port in (0, 1):
        mine = np.flatnonzero(ports == port)
        drawn[mine] = _keys(chance, len(mine), keys, updates, port and one_right)
    if not updates:
        return Input(ports, np.zeros(rows, dtype=np.int8), drawn, np.arange(rows))
    return _updated(ports, drawn, rows)


def _keys(chance: Any, count: int, keys: int, updates: bool, once: int) -> Any:
    if keys:
        return np.arange(count) % keys if once else chance.integers(0, keys, count)
    numbers = np.arange(count) // (2 if updates else 1)
    # near each other, but not in order
    return numbers[np.argsort(np.arange(count) + chance.integers(0, 10_000, count), kind="stable")]


def _updated(ports: Any, drawn: Any, rows: int) -> Input:
    """Each record but the first of its key and side takes the one before it back."""
    both = drawn * 2 + ports
    order = np.argsort(both, kind="stable")
    again = np.zeros(rows, dtype=bool)
    again[order[1:]] = both[order[1:]] == both[order[:-1]]
    before = np.full(rows, -1)
    before[order[1:]] = order[:-1]
    at = np.repeat(np.arange(rows), 1 + again)
    second = np.zeros(len(at), dtype=bool)
    second[1:] = at[1:] == at[:-1]
    first = again[at] & ~second
    kinds = np.where(first, BEFORE, np.where(second, AFTER, INSERT)).astype(np.int8)
    values = np.where(first, before[at], at)
    return Input(ports[at][:rows], kinds[:rows], drawn[at][:rows], values[:rows])


def batches(given: Input, size: int) -> Iterator[tuple[Batch, Any]]:
    """Micro-batches of columns, with their ports."""
    codecs = [ElementCodec.of_relation(schema) for schema in (LEFT, RIGHT)]
    for begin in range(0, len(given.ports), size):
        ports, kinds, keys, values = (column[begin : begin + size] for column in given)
        texts = pa.array(_TEXTS).take(pa.array(values % 100))
        pieces, index = [], np.empty(len(ports), dtype=np.int64)
        for port, schema in enumerate((LEFT, RIGHT)):
            mine = np.flatnonzero(ports == port)
            index[mine] = sum(piece.size for piece in pieces) + np.arange(len(mine))
            arrays = [pa.array(keys[mine]), pa.array(values[mine]), texts.take(pa.array(mine))]
            columns = pa.RecordBatch.from_arrays(arrays, schema=schema)
            pieces.append(Batch(None, columns=columns, codec=codecs[port]))
        whole = Batch(None, parts=Parts(tuple(pieces), index), key_column=keys)
        whole.kind_column = kinds if kinds.any() else None
        yield whole, ports


def seconds_of_operator(given: Input, kind: str, size: int) -> tuple[float, int]:
    """How long the operator takes, with commits, and how many changes it sends."""
    columns = LEFT if kind in ("semi", "anti") else pa.schema([*LEFT, *RIGHT])
    with tempfile.TemporaryDirectory() as place:
        settings, journal = StateSettings("disk"), MemoryJournal()
        store = settings.slot_store(settings.local_store(Path(place)), 128)
        spec = OperatorSpec("join", "join", lambda spec: operator)
        operator = JoinOperator(spec, columns, (LEFT, RIGHT), ((0,), (0,)), 0, kind, None, (False,))
        sent: list[int] = []
        operator.wire([lambda batch: sent.append(batch.size)], {})
        store.begin(journal)
        operator.open(TaskContext(TaskPlace(0, 128), TaskState(store)))
        store.commit(journal, b"")
        spent = 0.0
        for batch, ports in batches(given, size):
            began = time.process_time()
            store.begin(journal)
            operator.begin(0)
            operator.process_ports(batch, ports)
            store.commit(journal, b"")
            spent += time.process_time() - began
        store.close()
    return spent, sum(sent)


def seconds_of_dicts(given: Input, kind: str) -> tuple[float, int]:
    """The same for a loop over tuples."""
    texts = [_TEXTS[value % 100] for value in given.values.tolist()]
    columns = (given.ports.tolist(), given.kinds.tolist(), given.keys.tolist())
    records = list(zip(*columns, given.values.tolist(), texts, strict=True))
    began = time.process_time()
    sent = exist(records, kind == "anti") if kind in ("semi", "anti") else join(records, kind)
    return time.process_time() - began, sent


def join(records: list[Any], kind: str) -> int:
    """Inner and outer joins in plain Python; returns how many changes were sent."""
    padded = kind in ("left", "full"), kind in ("right", "full")
    outer = any(padded)
    held: tuple[dict[Any, dict[Any, int]], ...] = {}, {}
    sent: list[Any] = []
    for port, change, key, *rest in records:
        row, comes = (key, *rest), change in (INSERT, AFTER)
        mine, others = held[port].setdefault(key, {}), held[1 - port].get(key, {})
        if not comes:
            mine[row] -= 1
            if not mine[row]:
                del mine[row]
        if padded[port] and not others:
            sent.append((INSERT if comes else DELETE, row, None))
        turns = padded[1 - port] and not mine
        if turns and comes:
            sent.extend((DELETE, None, other) for other, n in others.items() for _ in range(n))
        shown = (INSERT if comes else DELETE) if outer else change
        sent.extend((shown, row, other) for other, n in others.items() for _ in range(n))
        if comes:
            mine[row] = mine.get(row, 0) + 1
        elif turns:
            sent.extend((INSERT, None, other) for other, n in others.items() for _ in range(n))
    return len(sent)


def exist(records: list[Any], anti: bool) -> int:
    """Semi and anti joins in plain Python, of rows that only come."""
    held: dict[Any, list[Any]] = {}
    seen: set[Any] = set()
    sent: list[Any] = []
    for port, change, key, *rest in records:
        if port == 0:
            held.setdefault(key, []).append((key, *rest))
            if (key not in seen) == anti:
                sent.append((change, key, *rest))
        elif key not in seen:
            seen.add(key)
            sent.extend((DELETE if anti else change, *row) for row in held.get(key, ()))
    return len(sent)


@click.command(help=__doc__.splitlines()[0])
@click.option("--rows", default=1_000_000, show_default=True)
@click.option("--batch", default=100_000, show_default=True, help="records of a micro-batch")
@click.option("--only", default="", help="cases whose names have this in them")
def main(rows: int, batch: int, only: str) -> None:
    """Measure every case with new keys and with 10 000."""
    click.echo(f"{'':24}{'rows/s':>12}{'dicts':>12}{'ratio':>8}{'sent':>12}")
    for name, (kind, updates) in CASES.items():
        for keys in (0, 10_000) if only in name else ():
            one_right = not updates and kind not in ("semi", "anti")
            given = made(rows, keys, updates, one_right)
            mine, sent = seconds_of_operator(given, kind, batch)
            other, expected = seconds_of_dicts(given, kind)
            assert sent == expected, (name, keys, sent, expected)
            title = f"{name}, {'10 k' if keys else 'new'} keys"
            rates = f"{rows / mine:12,.0f}{rows / other:12,.0f}{other / mine:8.2f}"
            click.echo(f"{title:24}{rates}{sent:12,}")


if __name__ == "__main__":
    main()
