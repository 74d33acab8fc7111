"""Handles on states with a time to live: what lies below them are values with the time of writing.

They follow Flink: an expired entry is removed when it is met; it is returned that one time if the
configuration says so. Lists, bags, maps and sets expire entry by entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scurry.common.keys import thaw
from scurry.state.codecs.records import Stamped
from scurry.state.tables.key_scope import KeyScope
from scurry.state.tables.list_table import ListTable, TableListState
from scurry.state.tables.map_table import ABSENT, MapTable, TableMapState
from scurry.state.tables.table import StateTable, TableValueState
from scurry.state.tables.ttl import Expiry


class TtlValueState(TableValueState):
    """One value per key, which expires."""

    __slots__ = ("_expiry",)

    def __init__(self, table: StateTable, scope: KeyScope, expiry: Expiry) -> None:
        super().__init__(table, scope)
        self._expiry = expiry

    def value(self) -> Any:
        held: Stamped | None = super().value()
        if held is None:
            return None
        if self._expiry.expired(held.stamp):
            super().update(None)
            return held.value if self._expiry.show_expired else None
        if self._expiry.on_read:
            renewed = self._expiry.renewed(held)
            if renewed is not held:
                super().update(renewed)
        return held.value

    def update(self, value: Any) -> None:
        super().update(None if value is None else self._expiry.wrap(value))

    def clear(self) -> None:
        super().update(None)


class TtlListState(TableListState):
    """A list per key whose elements expire one by one."""

    def __init__(self, table: ListTable, scope: KeyScope, expiry: Expiry) -> None:
        super().__init__(table, scope)
        self._expiry = expiry

    def get(self) -> list[Any]:
        expiry, key = self._expiry, self._scope.key
        held: list[Stamped] = self._table.get(key)
        alive = [element for element in held if not expiry.expired(element.stamp)]
        shown = [element.value for element in (held if expiry.show_expired else alive)]
        kept = [expiry.renewed(element) for element in alive] if expiry.on_read else alive
        if len(kept) < len(held) or any(map(_differ, kept, held)):
            self._table.replace(key, self._dated(kept))
        return shown

    def _dated(self, elements: list[Stamped]) -> list[Stamped]:
        """Elements without a time get the one they count as having."""
        since = self._expiry.since() if any(e.stamp is None for e in elements) else None
        return [e if e.stamp is not None else Stamped(e.value, since) for e in elements]

    def add(self, value: Any) -> None:
        super().add(self._expiry.wrap(value))

    def add_all(self, values: list[Any]) -> None:
        super().add_all([self._expiry.wrap(value) for value in values])

    def update(self, values: list[Any]) -> None:
        super().update([self._expiry.wrap(value) for value in values])


def _differ(one: Stamped, other: Stamped) -> bool:
    return one is not other


class TtlMapState(TableMapState):
    """A map per key whose entries expire one by one."""

    def __init__(self, table: MapTable, scope: KeyScope, expiry: Expiry) -> None:
        super().__init__(table, scope)
        self._expiry = expiry

    def _find(self, key: Any) -> Any:
        return self._met(key, super()._find(key), super().put)

    def get(self, key: Any) -> Any:
        value = self._find(key)
        return None if value is ABSENT else value

    def _met(self, entry: Any, held: Any, put: Callable[[Any, Any], None]) -> Any:
        """What a reader gets to see of an entry that was found."""
        if held is ABSENT:
            return ABSENT
        if self._expiry.expired(held.stamp):
            put(entry, ABSENT)
            return held.value if self._expiry.show_expired else ABSENT
        if self._expiry.on_read:
            renewed = self._expiry.renewed(held)
            if renewed is not held:
                put(entry, renewed)
        return held.value

    def put(self, key: Any, value: Any) -> None:
        super().put(key, self._expiry.wrap(value))

    def remove(self, key: Any) -> None:
        super().put(key, ABSENT)

    def _entries(self) -> list[tuple[Any, Any]]:
        put = super().put
        found = [(entry, self._met(thaw(entry), held, put)) for entry, held in super()._entries()]
        return [(entry, value) for entry, value in found if value is not ABSENT]
