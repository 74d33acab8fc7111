"""Handles on states of a declared type: what is written is held to the type at that moment.

A wrong value is an error at the user's own call. A value that the type takes but does not hold,
such as a whole number where a float was declared, is converted at once, so that it is the same now
as after a restart. States without a declared type have none of this, and do not pay for it.
"""

from __future__ import annotations

from typing import Any

from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable, TableListState
from scurry.state.tables.map_table import MapTable, TableMapState
from scurry.state.tables.table import StateTable, TableValueState
from scurry.state.tables.ttl_states import TtlListState, TtlMapState, TtlValueState


class TypedValueState(TableValueState):
    """One value per key."""

    __slots__ = ("_codec", "_exact")

    def __init__(self, table: StateTable, scope: KeyScope) -> None:
        super().__init__(table, scope)
        self._codec = table.codec
        self._exact = table.codec.exact

    def update(self, value: Any) -> None:
        key = self._scope.key
        if not self._exact(value):
            value = self._codec.conformed(key, value)
        self._live[key] = value
        self._dirty[key] = None


class TypedTtlValueState(TtlValueState):
    """One value per key, which expires."""

    def update(self, value: Any) -> None:
        super().update(self._table.codec.conformed(self._scope.key, value))


class _HeldElements(TableListState):
    """Holds the elements of a list to their type, before another class adds them."""

    def _conformed(self, value: Any) -> Any:
        codec = self._table.codec
        return value if codec.exact(value) else codec.conformed(self._scope.key, value)

    def add(self, value: Any) -> None:
        super().add(self._conformed(value))

    def add_all(self, values: list[Any]) -> None:
        super().add_all([self._conformed(value) for value in values])

    def update(self, values: list[Any]) -> None:
        super().update([self._conformed(value) for value in values])


class TypedListState(_HeldElements):
    """A list per key."""

    def add(self, value: Any) -> None:
        table, key = self._table, self._scope.key
        table.add(key, value if table.codec.exact(value) else table.codec.conformed(key, value))


class TypedTtlListState(_HeldElements, TtlListState):
    """A list per key whose elements expire one by one."""


class _HeldEntries(TableMapState):
    """Holds the keys and values of a map to their types, before another class puts them."""

    def put(self, key: Any, value: Any) -> None:
        codec, keys = self._table.codec, self._table.entry_codec
        if not keys.exact(key):
            key = keys.conformed(self._scope.key, key)
        if not codec.exact(value):
            value = codec.conformed(self._scope.key, value)
        super().put(key, value)


class TypedMapState(_HeldEntries):
    """A map per key."""

    def __init__(self, table: MapTable, scope: KeyScope) -> None:
        super().__init__(table, scope)
        self._fits = table.entry_codec.exact, table.codec.exact

    def put(self, key: Any, value: Any) -> None:
        fits_key, fits = self._fits
        if fits_key(key) and fits(value):
            TableMapState.put(self, key, value)
        else:
            super().put(key, value)


class TypedTtlMapState(_HeldEntries, TtlMapState):
    """A map per key whose entries expire one by one."""


def value_state(table: StateTable, scope: KeyScope, expiry: Any) -> TableValueState:
    """The handle on a state of one value."""
    typed = table.codec.typed
    if expiry is None:
        return TypedValueState(table, scope) if typed else TableValueState(table, scope)
    return (TypedTtlValueState if typed else TtlValueState)(table, scope, expiry)


def list_state(table: ListTable, scope: KeyScope, expiry: Any) -> TableListState:
    """The handle on a list."""
    typed = table.codec.typed
    if expiry is None:
        return TypedListState(table, scope) if typed else TableListState(table, scope)
    return (TypedTtlListState if typed else TtlListState)(table, scope, expiry)


def map_state(table: MapTable, scope: KeyScope, expiry: Any) -> TableMapState:
    """The handle on a map."""
    typed = table.codec.typed or table.entry_codec.typed
    if expiry is None:
        return TypedMapState(table, scope) if typed else TableMapState(table, scope)
    return (TypedTtlMapState if typed else TtlMapState)(table, scope, expiry)
