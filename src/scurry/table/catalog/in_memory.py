"""A catalog that lives as long as its table environment."""

from __future__ import annotations

from typing import Any

from scurry.table.catalog.stored import Key, ObjectStore, StoredCatalog

__all__ = ["GenericInMemoryCatalog"]


class GenericInMemoryCatalog(StoredCatalog):
    """Keeps its objects in memory."""

    def __init__(self, name: str, default_database: str = "default") -> None:
        super().__init__(name, _Memory(), default_database)
        self.open()


class _Memory(ObjectStore):
    def __init__(self) -> None:
        self._objects: dict[Key, Any] = {}

    def get(self, key: Key) -> Any | None:
        return self._objects.get(key)

    def put(self, key: Key, value: Any) -> None:
        self._objects[key] = value

    def delete(self, key: Key) -> None:
        self._objects.pop(key, None)

    def keys(self, kind: str, database: str | None = None, name: str | None = None) -> list[Key]:
        return [
            key
            for key in self._objects
            if key.kind == kind and database in (None, key.database) and name in (None, key.name)
        ]
