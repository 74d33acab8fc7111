"""The states of a job out of the journals of its slots: the part of reading that needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from scurry.common.errors import StateError
from scurry.common.keys import thaw
from scurry.common.windows import TimeWindow, WindowKey
from scurry.runtime.checkpointed import OPERATOR_STATES
from scurry.runtime.timers import EVENT, PROCESSING, timer_of, timer_table
from scurry.runtime.windowing.open_windows import SlotWindows, WindowRow, window_kind
from scurry.state.codecs.encoding import decode_key
from scurry.state.codecs.plain import PlainCodec
from scurry.state.codecs.schema import name_of
from scurry.state.codecs.schemas import SchemaRow, decode_row
from scurry.state.journal import stored_key
from scurry.state.layout import StateLayout
from scurry.state.operator_state import BROADCAST, Encoded, decode_name, decode_state
from scurry.state.rescaling import Place
from scurry.state.stored_tables import StoredJournal
from scurry.state.tables.broadcast_table import BROADCAST_STATES
from scurry.state.tables.table import unpack_record
from scurry.state_reader.columns import Fallback, column
from scurry.state_reader.rows import ROWS_OF, StateRow
from scurry.state_reader.tables import Made, as_table, listed, state_table

#: The journals of the slots that an operator has, by slot.
Journals = Mapping[Place, StoredJournal]
#: The type of a window in a column; one that is not a span of time has its name only.
WINDOW = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("name", pa.string())])


def table_name(uid: str, name: str) -> str:
    """The name of the table of a state."""
    return f"{uid}\x1f{name}"


def states_of(journals: Journals, uid: str) -> dict[str, SchemaRow]:
    """What is written down about the states of an operator, by name; of slots that know different
    versions of one, the most."""
    found: dict[str, SchemaRow] = {}
    beginning = table_name(uid, "")
    for _, journal in sorted(journals.items()):
        for name, record in journal.schemas.items():
            state, row = name.decode().removeprefix(beginning), decode_row(record)
            if not name.decode().startswith(beginning) or row.kind not in ROWS_OF:
                continue
            if state not in found or len(row.versions) > len(found[state].versions):
                found[state] = row
    return found


def type_in_words(row: SchemaRow) -> str:
    """What a state holds, such as ``LONG`` or ``MAP(STRING, LONG)``."""
    return name_of(row.versions[-1])


def read_state(journals: Journals, uid: str, name: str, fallback: Fallback) -> pa.Table | None:
    """All keys of a state, and what it has for them; None if no slot knows the state."""
    known = [
        (journal, row)
        for _, journal in sorted(journals.items())
        if (row := _written_down(journal, uid, name)) is not None
    ]
    if not known:
        return None
    newest = max((row for _, row in known), key=lambda row: len(row.versions))

    def rows() -> Iterator[StateRow]:
        table = table_name(uid, name)
        for journal, row in known:
            with readable(uid, name):
                records = journal.tables([table])[table]
                yield from ROWS_OF[row.kind](records, PlainCodec(table, row), row)

    return state_table(rows, newest, fallback)


def _written_down(journal: StoredJournal, uid: str, name: str) -> SchemaRow | None:
    """What a slot knows of a state of a kind that can be read."""
    known = journal.schemas.get(stored_key(table_name(uid, name).encode()))
    row = None if known is None else decode_row(known)
    return row if row is not None and row.kind in ROWS_OF else None


def read_broadcast(journals: Journals, uid: str, name: str, fallback: Fallback) -> pa.Table:
    """The entries of a broadcast state, which all slots have alike: ``key`` and ``value``."""
    table = table_name(uid, f"{BROADCAST_STATES}\x1f{name}")
    records = journals[min(journals)].tables([table])[table] if journals else {}
    with readable(uid, name):
        entries = [unpack_record(record) for _, record in sorted(records.items())]
    shown = column([thaw(key) for key, _ in entries], fallback=fallback)
    values = column([value for _, value in entries], fallback=fallback)
    return as_table([(shown.values, shown.field("key")), (values.values, values.field("value"))])


def operator_states_of(journals: Journals, uid: str) -> Iterator[tuple[Place, Encoded]]:
    """The operator states of each instance of an operator that runs in a stage, by name."""
    table = table_name(uid, OPERATOR_STATES)
    for place, journal in sorted(journals.items()):
        records = journal.tables([table])[table]
        if records:
            yield place, {decode_name(address): record for address, record in records.items()}


def read_list_state(
    instances: Sequence[tuple[int, bytes]], uid: str, name: str, fallback: Fallback
) -> pa.Table:
    """The elements of an operator state: the number of the instance that has each, and the
    element; of one that is a map, the entries. ``instances`` are numbers and encoded states."""
    subtasks, elements = list[int](), list[Any]()
    entries = False
    for number, data in instances:
        with readable(uid, name):
            mode, content = decode_state(data)
        entries = mode == BROADCAST
        found = list(content.items()) if entries else list(content)
        subtasks += [number] * len(found)
        elements += found
    parts = [("value", elements)]
    if entries:
        parts = [("key", [k for k, _ in elements]), ("value", [v for _, v in elements])]
    columns = [made("subtask", pa.int64(), subtasks)]
    for title, values in parts:
        shown = column(values, fallback=fallback)
        columns.append((shown.values, shown.field(title)))
    return as_table(columns)


def read_timers(journals: Journals, uid: str, fallback: Fallback) -> pa.Table:
    """All timers of an operator in both time domains, in the order of time."""
    found: list[tuple[int, bytes, str, Any]] = []
    for domain in (EVENT, PROCESSING):
        table = table_name(uid, timer_table(domain))
        for journal in journals.values():
            with readable(uid, "timers"):
                found.extend(
                    (*timer_of(row), domain, decode_key(record))
                    for row, record in journal.tables([table])[table].items()
                )
    found.sort(key=lambda timer: timer[:3])
    owners = [parted(key) for *_, key in found]
    shown = column([key for key, _ in owners], fallback=fallback)
    return as_table(
        [
            (shown.values, shown.field("key")),
            made("time", pa.int64(), [time for time, *_ in found]),
            made("domain", pa.string(), [domain for _, _, domain, _ in found]),
            made("namespace", WINDOW, [window_cell(window) for _, window in owners]),
        ]
    )


def read_windows(
    journals: Journals, uid: str, layout: StateLayout | str, groups: int, fallback: Fallback
) -> pa.Table:
    """The windows of an operator that hold something, in the order of keys; ``groups`` is the
    number of key groups of the job."""
    kind = window_kind(uid, layout)
    assert isinstance(layout, StateLayout)
    found: list[tuple[bytes, WindowRow]] = []
    for journal in journals.values():
        with readable(uid, "windows"):
            slot = SlotWindows.stored(uid, layout, journal, groups)
            found.extend((slot.address(row), row) for row in kind.rows(slot))
    rows = [row for _, row in sorted(found, key=lambda pair: pair[0])]
    keys = column([thaw(row.key) for row in rows], fallback=fallback)
    held: list[Any] = [row.held for row in rows]
    columns = [
        (keys.values, keys.field("key")),
        made("window", WINDOW, [window_cell(row.window) for row in rows]),
    ]
    if kind.lists:
        columns.append(listed("elements", held, None, fallback))
    else:
        values = column(held, fallback=fallback)
        columns.append((values.values, values.field("value")))
    return as_table(columns)


def made(name: str, kind: pa.DataType, values: list[Any]) -> Made:
    """A column of a given type."""
    return pa.array(values, kind), pa.field(name, kind)


def parted(key: Any) -> tuple[Any, Any]:
    """The user's key, and the window if the key is that of a window."""
    return (thaw(key[0]), key[1]) if type(key) is WindowKey else (thaw(key), None)


def window_cell(window: Any) -> dict[str, Any] | None:
    """A window as :data:`WINDOW` has it."""
    if window is None:
        return None
    if isinstance(window, TimeWindow):
        return {"start": window.start, "end": window.end, "name": None}
    return {"start": None, "end": None, "name": repr(window)}


@contextmanager
def readable(uid: str, name: str) -> Iterator[None]:
    """Say what helps against keys and values whose classes cannot be found."""
    try:
        yield
    except (AttributeError, ImportError) as failure:
        raise StateError(
            f"{name!r} of operator {uid!r} holds keys or values that cannot be made without their "
            f"class: {failure}. Have the module importable that defines it (PYTHONPATH), and under "
            "the name that it had in the job."
        ) from failure
