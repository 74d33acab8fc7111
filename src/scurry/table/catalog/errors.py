"""What a catalog refuses, by Flink's names for it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from scurry.common.errors import ProgramError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableNotExistException",
    "TableNotPartitionedException",
]


class CatalogException(ProgramError):
    """A catalog cannot do what it was asked to."""


class DatabaseNotExistException(CatalogException):
    """There is no database of that name."""


class DatabaseAlreadyExistException(CatalogException):
    """There is a database of that name already."""


class DatabaseNotEmptyException(CatalogException):
    """The database still holds objects."""


class TableNotExistException(CatalogException):
    """There is no table or view of that name."""


class TableAlreadyExistException(CatalogException):
    """There is a table or view of that name already."""


class TableNotPartitionedException(CatalogException):
    """The table has no partitions."""


class PartitionNotExistException(CatalogException):
    """There is no such partition."""


class PartitionAlreadyExistsException(CatalogException):
    """There is such a partition already."""


class FunctionNotExistException(CatalogException):
    """There is no function of that name."""


class FunctionAlreadyExistException(CatalogException):
    """There is a function of that name already."""


class PartitionSpecInvalidException(CatalogException):
    """The partition is not one of the table's columns of partitions."""


class ModelNotExistException(CatalogException):
    """There is no model of that name."""


class ModelAlreadyExistException(CatalogException):
    """There is a model of that name already."""


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence that names what ``name`` may have been meant to be, or what there is at all."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, 3, 0.6)
    if close:
        return f"Did you mean {' or '.join(repr(one) for one in close)}?"
    if not names:
        return "There is none at all."
    shown = ", ".join(names[:10])
    if len(names) > 10:
        shown += f" and {len(names) - 10} more"
    return f"There is: {shown}."
