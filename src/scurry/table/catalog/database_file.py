"""A catalog that is kept in a database file, so that the next program finds its tables.

The file is an SQLite database with one table of objects, each of them JSON. Several programs can
use it at a time: each change is a transaction of its own. What cannot be written down, such as an
expression of the Table API in a schema, is refused; say it in SQL.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

from scurry.common.errors import ProgramError
from scurry.table.catalog.errors import CatalogException
from scurry.table.catalog.json_form import from_json, to_json
from scurry.table.catalog.stored import Key, ObjectStore, StoredCatalog

__all__ = ["DatabaseFileCatalog"]

#: Of the form in which objects are stored.
_VERSION = 1
_WAIT_SECONDS = 30.0


class DatabaseFileCatalog(StoredCatalog):
    """Keeps its objects in a file; in SQL, ``CREATE CATALOG c WITH ('type' = 'database-file',
    'path' = '...')``."""

    def __init__(self, name: str, path: str, default_database: str = "default") -> None:
        if not isinstance(path, str) or not path:
            raise ProgramError(f"A catalog in a file needs the path of the file, got {path!r}.")
        super().__init__(name, _File(Path(path)), default_database)
        self.open()


class _File(ObjectStore):
    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        if self._connection is not None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self._path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS objects (kind TEXT, database TEXT, name TEXT, "
                "part TEXT, content TEXT NOT NULL, PRIMARY KEY (kind, database, name, part))"
            )
            found = connection.execute("PRAGMA user_version").fetchone()[0]
        except (OSError, sqlite3.Error) as failure:
            raise CatalogException(
                f"The catalog's file {str(self._path)!r} cannot be used: {failure}. Name a file "
                "that is a catalog, or one that is not there yet."
            ) from None
        if found not in (0, _VERSION):
            raise CatalogException(
                f"The catalog's file {str(self._path)!r} is of version {found}; this version of "
                f"Scurry reads version {_VERSION}."
            )
        connection.execute(f"PRAGMA user_version = {_VERSION}")
        self._connection = connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _open(self) -> sqlite3.Connection:
        self.open()
        assert self._connection is not None
        return self._connection

    def get(self, key: Key) -> Any | None:
        found = self._open.execute(
            "SELECT content FROM objects WHERE kind = ? AND database = ? AND name = ? AND part = ?",
            key,
        ).fetchone()
        return None if found is None else from_json(key.kind, json.loads(found[0]))

    def put(self, key: Key, value: Any) -> None:
        self._open.execute(
            "INSERT INTO objects VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET content = "
            "excluded.content",
            (*key, json.dumps(to_json(value))),
        )

    def delete(self, key: Key) -> None:
        self._open.execute(
            "DELETE FROM objects WHERE kind = ? AND database = ? AND name = ? AND part = ?", key
        )

    def keys(self, kind: str, database: str | None = None, name: str | None = None) -> list[Key]:
        rows = self._open.execute(
            "SELECT kind, database, name, part FROM objects WHERE kind = ?1 AND "
            "(?2 IS NULL OR database = ?2) AND (?3 IS NULL OR name = ?3) ORDER BY 1, 2, 3, 4",
            (kind, database, name),
        )
        return [Key(*row) for row in rows]
