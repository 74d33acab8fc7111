"""Results that are there at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from scurry.common.data_types import DataType, DataTypes
from scurry.common.data_types.atomic import MAX_LENGTH
from scurry.sql import ast
from scurry.table.catalog.resolved_schema import ResolvedSchema
from scurry.table.table_result import TableResult

__all__ = ["declared_type", "filtered", "listing", "literal", "of_text"]


def listing(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    types: Sequence[DataType] | None = None,
    zone: str = "UTC",
) -> TableResult:
    """Rows of texts, or of other types; times are printed as they are in ``zone``."""
    schema = ResolvedSchema.physical(names, types or [DataTypes.STRING()] * len(names))
    return TableResult.of_rows(schema, rows, zone)


def of_text(text: str) -> TableResult:
    """A result that is one text."""
    return listing(["result"], [[text]])


def literal(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def filtered(names: Iterable[str], like: ast.LikeFilter | None) -> list[str]:
    """The names that a LIKE of SHOW lets through."""
    if like is None:
        return list(names)
    pattern = "".join(
        ".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in like.pattern
    )
    flags = re.IGNORECASE if like.operator == "ILIKE" else 0
    matches = re.compile(pattern, flags | re.DOTALL).fullmatch
    return [name for name in names if bool(matches(name)) != like.negated]


#: Names in backticks, and short names of types.
_TYPE_WORDS = re.compile(r"`[^`]*`|\b(STRING|BYTES)\b|\bTIMESTAMP_LTZ\((\d)\)")


def declared_type(kind: DataType | str) -> str:
    """A type by its full name."""

    def full(found: re.Match[str]) -> str:
        if found[1]:
            return f"VAR{'CHAR' if found[1] == 'STRING' else 'BINARY'}({MAX_LENGTH})"
        return f"TIMESTAMP({found[2]}) WITH LOCAL TIME ZONE" if found[2] else found[0]

    return _TYPE_WORDS.sub(full, str(kind))
