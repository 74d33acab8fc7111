"""What a catalog refuses, by Flink's names for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from scurry.common.errors import ProgramError

__all__ = [
    "CatalogError",
    "DatabaseAlreadyExistError",
    "DatabaseNotEmptyError",
    "DatabaseNotExistError",
    "FunctionAlreadyExistError",
    "FunctionNotExistError",
    "PartitionAlreadyExistsError",
    "PartitionNotExistError",
    "TableAlreadyExistError",
    "TableNotExistError",
    "TableNotPartitionedError",
]


class CatalogError(ProgramError):
    """A catalog cannot do what it was asked to."""


class DatabaseNotExistError(CatalogError):
    """There is no database of that name."""


class DatabaseAlreadyExistError(CatalogError):
    """There is a database of that name already."""


class DatabaseNotEmptyError(CatalogError):
    """The database still holds objects."""


class TableNotExistError(CatalogError):
    """There is no table or view of that name."""


class TableAlreadyExistError(CatalogError):
    """There is a table or view of that name already."""


class TableNotPartitionedError(CatalogError):
    """The table has no partitions."""


class PartitionNotExistError(CatalogError):
    """There is no such partition."""


class PartitionAlreadyExistsError(CatalogError):
    """There is such a partition already."""


class FunctionNotExistError(CatalogError):
    """There is no function of that name."""


class FunctionAlreadyExistError(CatalogError):
    """There is a function of that name already."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names what ``name`` may have been meant to be, or what there is at all."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, 3, 0.6)
    if close:
        return f"Did you mean {' or '.join(repr(one) for one in close)}?"
    if not names:
        return "There is none at all."
    shown = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return f"There is: {shown}."
