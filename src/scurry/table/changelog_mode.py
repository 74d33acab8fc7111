"""Which kinds of changes a table's changelog can hold, as PyFlink names them.

A table that only grows has insertions alone. A table that changes says of an update either both
rows, the old (``-U``) and the new (``+U``), or, where a primary key tells which row is meant, the
new one alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from scurry.common.types import RowKind

__all__ = ["ChangelogMode"]


class ChangelogMode:
    """A set of kinds of rows; made with :meth:`insert_only`, :meth:`upsert` or :meth:`all`."""

    def __init__(self, kinds: Iterable[RowKind]) -> None:
        self._kinds = frozenset(kinds)

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are added and never change."""
        return ChangelogMode([RowKind.INSERT])

    @staticmethod
    def upsert() -> ChangelogMode:
        """An update is the new row alone."""
        return ChangelogMode([RowKind.INSERT, RowKind.UPDATE_AFTER, RowKind.DELETE])

    @staticmethod
    def all() -> ChangelogMode:
        """An update is the old row and the new one."""
        return ChangelogMode(RowKind)

    def contains(self, kind: RowKind) -> bool:
        """Whether the changelog can hold rows of that kind."""
        return kind in self._kinds

    def contains_only(self, kind: RowKind) -> bool:
        """Whether the changelog holds rows of that kind and no others."""
        return self._kinds == {kind}

    def get_contained_kinds(self) -> frozenset[RowKind]:
        """All kinds of rows that the changelog can hold."""
        return self._kinds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangelogMode) and self._kinds == other._kinds

    def __hash__(self) -> int:
        return hash(self._kinds)

    def __repr__(self) -> str:
        kinds = sorted(self._kinds, key=lambda kind: kind.value)
        return f"ChangelogMode[{', '.join(kind.name for kind in kinds)}]"
