"""Holding elements to the type that the user declared for them."""

from __future__ import annotations

from typing import Any

from scurry.common.errors import TypeMismatchError
from scurry.common.type_information import TypeInformation
from scurry.runtime.bulk_conform import conform_all
from scurry.runtime.failures import ElementFailed


def conform(rows: list[Any], declared: TypeInformation | None, own: bool = False) -> list[Any]:
    """``rows`` as elements of the declared type, as in PyFlink: where a Row was declared, tuples
    become Rows and Rows get its field names; where a float was declared, ints become floats. Names
    the first element that does not fit. With ``own``, nobody else has the ``rows``, which may be
    changed for that."""
    if declared is None:
        return rows
    plain = conform_all(rows, declared, own)
    if plain is not None:
        return plain
    check = declared.check
    for row in rows:
        complaint = check(row)
        if complaint is not None:
            wrong = TypeMismatchError(
                f"{complaint}. The type was declared as {declared!r}; return that, or leave "
                "the type out."
            )
            raise ElementFailed(row) from wrong
    return as_elements(rows, declared)


def as_elements(rows: list[Any], declared: TypeInformation) -> list[Any]:
    """``rows``, which conform to the declared type, built as its elements are."""
    exact = declared.exact
    if exact is None:
        return rows
    return [row if row is None else exact(row) for row in rows]
