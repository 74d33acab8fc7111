"""Rows of a table into the states of keys."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from scurry.common.errors import StateError, shorten
from scurry.runtime.keyed_state import TableAggregatingState
from scurry.state.states import (
    BagState,
    ListState,
    MapState,
    MapStateDescriptor,
    ReducingState,
    SetState,
    State,
    StateDescriptor,
    ValueState,
)
from scurry.state_processor.building import OperatorBuilder, StateBuilder
from scurry.state_processor.rows import dicts, typed
from scurry.state_reader.rows import StateRow

#: A value, or an entry and its value, and when it was written; None for now.
_Dated = tuple[Any, int | None]


def write_table(builder: StateBuilder, uid: str, descriptor: StateDescriptor, data: Any) -> None:
    """Write a state out of a table with a row for each key."""
    operator = builder.operator(uid)
    handle, now = operator.runtime.state_of(descriptor), int(time.time() * 1000)
    for row in dicts(data):
        if "key" not in row:
            raise _unfit(uid, descriptor, row, "there is no column 'key'")
        _write(operator, handle, row["key"], list(_of_row(uid, descriptor, handle, row)), now)
        builder.wrote()


def _of_row(
    uid: str, descriptor: StateDescriptor, handle: State, row: dict[str, Any]
) -> Iterator[_Dated]:
    """What a row of a table has, with the times of writing, if there are any."""
    info = descriptor.value_type
    if isinstance(handle, MapState):
        keys = descriptor.key_type_info if isinstance(descriptor, MapStateDescriptor) else None
        for entry in _column(uid, descriptor, row, "entries"):
            pair = typed(entry["key"], keys), typed(entry["value"], info)
            yield pair, entry.get("written")
    elif isinstance(handle, (ListState, BagState, SetState)):
        found = _column(uid, descriptor, row, "elements")
        times = row.get("written") or [None] * len(found)
        yield from zip((typed(each, info) for each in found), times, strict=True)
    else:
        yield typed(_column(uid, descriptor, row, "value"), info), row.get("written")


def _column(uid: str, descriptor: StateDescriptor, row: dict[str, Any], name: str) -> Any:
    if name not in row:
        raise _unfit(uid, descriptor, row, f"there is no column {name!r}")
    return row[name]


def _unfit(uid: str, descriptor: StateDescriptor, row: dict[str, Any], why: str) -> StateError:
    return StateError(
        f"The data for state {descriptor.name!r} of operator {uid!r} does not fit: {why} in "
        f"{shorten(row)}. It has the form that SavepointReader.read gives for the kind of state."
    )


def _write(
    operator: OperatorBuilder, handle: State, key: Any, held: list[_Dated], now: int
) -> None:
    """Make ``held`` all that a key has."""
    operator.at(key, now)
    for value, written in held:
        operator.at(key, now if written is None else written)
        if isinstance(handle, MapState):
            handle.put(*value)
        elif isinstance(handle, TableAggregatingState):
            handle.restore(value)
        elif isinstance(handle, ValueState):
            handle.update(value)
        else:
            assert isinstance(handle, (ListState, BagState, SetState, ReducingState))
            handle.add(value)


def write_transformed(
    builder: StateBuilder,
    uid: str,
    descriptor: StateDescriptor,
    rows: list[StateRow],
    function: Callable[[Any, Any], Any],
) -> None:
    """Write what ``function`` makes of the rows of a state. A value that is kept, or changed in its
    place, keeps the time of its last write."""
    operator = builder.operator(uid)
    handle, now = operator.runtime.state_of(descriptor), int(time.time() * 1000)
    for row in rows:
        made = function(row.key, _given(handle, row))
        if made is not None:
            _write(operator, handle, row.key, list(_dated(handle, row, made)), now)
            builder.wrote()


def _given(handle: State, row: StateRow) -> Any:
    if isinstance(handle, MapState):
        return dict(zip(row.entries, row.values, strict=True))
    if isinstance(handle, SetState):
        return list(row.entries)
    return list(row.values) if isinstance(handle, (ListState, BagState)) else row.values[0]


def _dated(handle: State, row: StateRow, made: Any) -> Iterator[_Dated]:
    times: list[int | None] = row.times or [None] * len(row.values)
    if isinstance(handle, MapState):
        known = dict(zip(map(repr, row.entries), times, strict=True))
        yield from (((entry, value), known.get(repr(entry))) for entry, value in made.items())
    elif isinstance(handle, SetState):
        known = dict(zip(map(repr, row.entries), times, strict=True))
        yield from ((value, known.get(repr(value))) for value in made)
    elif isinstance(handle, (ListState, BagState)):
        known = dict(zip(map(repr, row.values), times, strict=True))
        yield from ((value, known.get(repr(value))) for value in made)
    else:
        yield made, times[0]
